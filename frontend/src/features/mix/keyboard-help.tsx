import classes from "./mix-editor.module.css";

const KEYS = [
  ["← → ↑ ↓", "on a slider, ↑ ↓ in a number: 0.1 %; with Shift 1 %"],
  ["Page up, Page down", "on a slider: 5 %"],
  ["Home, End", "on a slider: 0 and 100 %"],
  ["Tab", "slider → number → lock → pause → next source"],
  ["Ctrl or ⌘ + Enter", "anywhere in the form: send the change"],
  ["Escape", "leaves a question without doing anything"],
] as const;

/** What the keys do in the editor. */
export function KeyboardHelp() {
  return (
    <details className={classes.keys}>
      <summary>Keys</summary>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
