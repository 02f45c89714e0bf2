import { useEffect, useState } from "react";

import classes from "./copyable-id.module.css";
import { Icon } from "./icons";

const SHOWN_MS = 1500;

/** An id, shortened to its first eight characters, that a press copies whole. */
export function CopyableId({ id, label }: { id: string; label: string }) {
  const [outcome, setOutcome] = useState<"idle" | "copied" | "refused">("idle");
  useEffect(() => {
    if (outcome === "idle") return;
    const timer = setTimeout(() => setOutcome("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);

  const copy = () => {
    // Without a secure origin the browser gives no clipboard; the whole id is in the title then.
    const written =
      (navigator.clipboard as Clipboard | undefined)?.writeText(id) ?? Promise.reject(new Error());
    written.then(
      () => setOutcome("copied"),
      () => setOutcome("refused"),
    );
  };
  return (
    <button
      type="button"
      className={classes.id}
      onClick={copy}
      title={id}
      aria-label={`Copy ${label} ${id}`}
    >
      <code>{outcome === "refused" ? id : id.slice(0, 8)}</code>
      <Icon name={outcome === "copied" ? "check" : "copy"} />
      <span role="status" className={classes.status}>
        {outcome === "copied" ? "copied" : ""}
      </span>
    </button>
  );
}
