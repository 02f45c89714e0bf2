import { Alert, Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode, SyntheticEvent } from "react";

import { fieldErrors, type FieldErrors } from "@/api/field-errors";

import classes from "./action-form.module.css";

interface Props<T> {
  /** What the button says; pressing Enter in a field does the same. */
  submit: string;
  onSubmit: () => Promise<T>;
  onDone?: (made: T) => void;
  onCancel?: () => void;
  /** Names of the fields that `children` show errors beside; every other error stands above the button. */
  fields?: readonly string[];
  disabled?: boolean;
  danger?: boolean;
  /** Puts the fields and the button in one line where there is room. */
  inline?: boolean;
  label?: string;
  children?: (errors: FieldErrors) => ReactNode;
}

/** A form that sends once at a time: its buttons wait while it does, and what the server refused stands by its field. */
export function ActionForm<T>(props: Props<T>) {
  const send = useMutation({
    mutationFn: props.onSubmit,
    onSuccess: (made) => props.onDone?.(made),
  });
  const errors = fieldErrors(send.error, props.fields ?? []);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!send.isPending && !props.disabled) send.mutate();
  };
  return (
    <form
      className={props.inline ? classes.inline : classes.form}
      onSubmit={submit}
      aria-label={props.label}
      noValidate
    >
      {props.children?.(errors)}
      {errors.rest !== null && (
        <Alert color="red" role="alert" className={classes.rest}>
          {errors.rest}
        </Alert>
      )}
      <div className={classes.buttons}>
        {props.onCancel && (
          <Button variant="default" onClick={props.onCancel} disabled={send.isPending}>
            Cancel
          </Button>
        )}
        <Button
          type="submit"
          loading={send.isPending}
          disabled={props.disabled}
          color={props.danger ? "red" : undefined}
          data-danger={props.danger}
        >
          {props.submit}
        </Button>
      </div>
    </form>
  );
}
