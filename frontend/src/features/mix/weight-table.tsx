import { Button, Switch, VisuallyHidden } from "@mantine/core";
import { useState } from "react";

import type { MixPreview } from "@/api/types";
import { formatPpm } from "@/lib/format";
import { ppm, WHOLE } from "@/lib/units";

import { normaliseRest, setWeight, toggleLock, totalOf, type MixDraft } from "./mix-draft";
import classes from "./mix-editor.module.css";
import { WeightRow } from "./weight-row";

interface Props {
  draft: MixDraft;
  preview: MixPreview | undefined;
  onDraft: (draft: MixDraft) => void;
}

/** The weights of all sources, with what they are now and what they would come to. */
export function WeightTable({ draft, preview, onDraft }: Props) {
  const [balance, setBalance] = useState(true);
  const total = totalOf(draft);
  return (
    <>
      <table role="table" className={classes.table}>
        <caption className={classes.caption}>Weights, compared with v{draft.basis}</caption>
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">
              Source
            </th>
            <th role="columnheader" scope="col" colSpan={2}>
              Weight
            </th>
            <th role="columnheader" scope="col">
              <VisuallyHidden>Lock and pause</VisuallyHidden>
            </th>
            <th role="columnheader" scope="col" className={classes.number}>
              v{draft.basis}
            </th>
            <th role="columnheader" scope="col" className={classes.number}>
              Change
            </th>
            <th role="columnheader" scope="col" className={classes.number}>
              Epochs at the end
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {draft.rows.map((row, index) => (
            <WeightRow
              key={row.source}
              row={row}
              index={index}
              before={draft.before[row.source] ?? ppm(0)}
              resumeWeight={draft.before[row.source] ?? ppm(0)}
              epochs={preview?.epochs_at_end[row.source]}
              onWeight={(weight) => onDraft(setWeight(draft, row.source, weight, balance))}
              onLock={() => onDraft(toggleLock(draft, row.source))}
            />
          ))}
        </tbody>
      </table>
      <div className={classes.total}>
        <Switch
          label="Normalise the rest as I edit"
          checked={balance}
          onChange={(event) => setBalance(event.currentTarget.checked)}
        />
        <Button
          variant="default"
          size="xs"
          disabled={total === WHOLE}
          onClick={() => onDraft(normaliseRest(draft))}
        >
          Normalise the rest
        </Button>
        <output className={classes.sum} data-whole={total === WHOLE}>
          Total {formatPpm(total)}
        </output>
      </div>
    </>
  );
}
