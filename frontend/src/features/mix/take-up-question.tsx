import { Button } from "@mantine/core";
import { useEffect, useRef } from "react";

import type { MixChange } from "@/api/types";

import classes from "./flow-panel.module.css";

interface Props {
  change: MixChange;
  onTakeUp: () => void;
  onKeep: () => void;
}

/** Asks before a change that is taken up overwrites an edit that has not been sent. */
export function TakeUpQuestion({ change, onTakeUp, onKeep }: Props) {
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <section className={classes.panel} role="alertdialog" aria-labelledby="take-up-title">
      <h2 id="take-up-title" className={classes.title}>
        You have an edit that is not sent
      </h2>
      <p className={classes.note}>
        Taking up “{change.reason}” puts its weights, reason and schedule in place of yours.
      </p>
      <div className={classes.send}>
        <Button ref={keep} variant="default" onClick={onKeep}>
          Keep my edit
        </Button>
        <Button variant="default" onClick={onTakeUp}>
          Drop mine, take it up
        </Button>
      </div>
    </section>
  );
}
