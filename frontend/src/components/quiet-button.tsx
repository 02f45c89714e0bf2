import type { ButtonHTMLAttributes } from "react";

import classes from "./quiet-button.module.css";

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type" | "className"> {
  /** With a border around it, where it stands alone; without, beside what it belongs to. */
  framed?: boolean;
}

/** A small button that leaves the eye to the facts beside it. */
export function QuietButton({ framed = false, ...button }: Props) {
  return <button type="button" className={classes.button} data-framed={framed} {...button} />;
}
