import { useEffect, useState } from "react";

import classes from "./copyable-id.module.css";
import { Icon } from "./icons";

const SHOWN_MS = 1500;

/** A command or another text, shown whole, that a press copies. */
export function CopyableText({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    // Without a secure origin the browser gives no clipboard; the text can be selected all the same.
    const written =
      (navigator.clipboard as Clipboard | undefined)?.writeText(text) ??
      Promise.reject(new Error());
    written.then(
      () => setCopied(true),
      () => undefined,
    );
  };
  return (
    <button
      type="button"
      className={classes.id}
      onClick={copy}
      aria-label={`Copy ${label} ${text}`}
    >
      <code>{text}</code>
      <Icon name={copied ? "check" : "copy"} />
      <span role="status" className={classes.status}>
        {copied ? "copied" : ""}
      </span>
    </button>
  );
}
