import { Button } from "@mantine/core";
import { useRef, useState } from "react";

import { Icon } from "./icons";
import classes from "./one-time-secret.module.css";

interface Props {
  /** What it is: "API key". */
  label: string;
  secret: string;
  onDone: () => void;
}

/** A secret that the server shows this once: whole, to be copied, with the warning that it won't be seen again. */
export function OneTimeSecret({ label, secret, onDone }: Props) {
  const shown = useRef<HTMLElement>(null);
  const [outcome, setOutcome] = useState<"idle" | "copied" | "refused">("idle");
  const copy = () => {
    // Without a secure origin the browser gives no clipboard; the secret is selected to be copied by hand then.
    const written =
      (navigator.clipboard as Clipboard | undefined)?.writeText(secret) ??
      Promise.reject(new Error());
    written.then(
      () => setOutcome("copied"),
      () => {
        setOutcome("refused");
        if (shown.current) window.getSelection()?.selectAllChildren(shown.current);
      },
    );
  };
  return (
    <div className={classes.box}>
      <p className={classes.warning}>
        <Icon name="warning" /> Copy it now: this is the only time that the {label} is shown.
      </p>
      <code ref={shown} className={classes.secret} aria-label={label}>
        {secret}
      </code>
      <p role="status" className={classes.status}>
        {outcome === "copied" && "Copied."}
        {outcome === "refused" && "The browser doesn’t allow copying; it is selected for you."}
      </p>
      <div className={classes.buttons}>
        <Button variant="default" onClick={copy}>
          Copy
        </Button>
        <Button onClick={onDone}>I have kept it</Button>
      </div>
    </div>
  );
}
