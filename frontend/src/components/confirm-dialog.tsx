import { TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { ActionForm } from "./action-form";
import { Dialog } from "./dialog";

interface Props {
  title: string;
  /** What will happen, and whether it can be taken back. */
  children: ReactNode;
  confirm: string;
  onConfirm: () => Promise<unknown>;
  /** Called when it is done, and when the reader thinks better of it. */
  onClose: () => void;
  /** What the reader has to type first, where a slip would be costly. */
  typed?: string;
  danger?: boolean;
}

/** Asks before something that can't be undone, or is seen by others; the safe answer has the focus. */
export function ConfirmDialog(props: Props) {
  const { typed, danger = true } = props;
  const [text, setText] = useState("");
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <ActionForm
        submit={props.confirm}
        onSubmit={props.onConfirm}
        onDone={props.onClose}
        onCancel={props.onClose}
        disabled={typed !== undefined && text !== typed}
        danger={danger}
      >
        {() => (
          <>
            <div>{props.children}</div>
            {typed !== undefined && (
              <TextInput
                label={`Type “${typed}” to go on`}
                value={text}
                onChange={(event) => setText(event.currentTarget.value)}
                autoComplete="off"
                spellCheck={false}
              />
            )}
          </>
        )}
      </ActionForm>
    </Dialog>
  );
}
