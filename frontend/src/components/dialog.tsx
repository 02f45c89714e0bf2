import { useEffect, useId, useRef, type ReactNode } from "react";
import { createPortal } from "react-dom";

import classes from "./dialog.module.css";

interface Props {
  title: string;
  /** Called when the reader leaves by Escape; the dialog is shown for as long as it is rendered. */
  onClose: () => void;
  children: ReactNode;
}

/** A modal dialog: the page behind it is inert, the first control in it has the focus, which goes back at the end. */
export function Dialog({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    return () => {
      shown?.close();
      // What opened it may be gone: a row that was deleted.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  // Outside of what opened it: a row of a table can't hold a dialog.
  return createPortal(
    <dialog
      ref={dialog}
      className={classes.dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={titleId} className={classes.title}>
        {title}
      </h2>
      {children}
    </dialog>,
    document.body,
  );
}
