import classes from "./mix-editor.module.css";
import type { MixEditing } from "./use-mix-edit";

interface Props {
  edit: MixEditing;
  /** The project asks for a second person. */
  approval: boolean;
}

/** What is to be known of this edit before it is sent. */
export function EditNotes({ edit, approval }: Props) {
  const { restored, replaces, dropReplaces } = edit;
  if (!restored && replaces === null && !approval) return null;
  return (
    <ul className={classes.notes}>
      {restored && (
        <li>Your unsent edit of v{edit.draft.basis} was kept in this tab and is here again.</li>
      )}
      {replaces !== null && (
        <li>
          Takes the place of the change that needs attention.{" "}
          <button type="button" className={classes.link} onClick={dropReplaces}>
            Leave that one as it is
          </button>
        </li>
      )}
      {approval && (
        <li>
          The project asks for a second person: what you send waits until somebody else approves it.
        </li>
      )}
    </ul>
  );
}
