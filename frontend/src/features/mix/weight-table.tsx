import { Button, Switch, TextInput, VisuallyHidden } from "@mantine/core";
import { useState } from "react";

import type { MixPreview, MixVersion } from "@/api/types";
import { formatCount, formatPpm } from "@/lib/format";
import { ppm, WHOLE } from "@/lib/units";

import { flowOf, type Flow } from "./flow";
import { normaliseRest, setWeight, toggleLock, totalOf, type MixDraft } from "./mix-draft";
import classes from "./mix-editor.module.css";
import { WeightRow } from "./weight-row";

interface Props {
  draft: MixDraft;
  newest: MixVersion;
  preview: MixPreview | undefined;
  onDraft: (draft: MixDraft) => void;
  onFlow: (source: string, flow: Flow) => void;
}

/** From this many sources on, they can be filtered. */
const MANY = 9;

/** The weights of all sources, with what they are now and what they would come to. */
export function WeightTable({ draft, newest, preview, onDraft, onFlow }: Props) {
  const [balance, setBalance] = useState(true);
  const [filter, setFilter] = useState("");
  const [onlyChanged, setOnlyChanged] = useState(false);
  const total = totalOf(draft);
  const before = (source: string) => draft.before[source] ?? ppm(0);
  const shown = draft.rows
    .map((row, index) => ({ row, index }))
    .filter(({ row: { source } }) => source.toLowerCase().includes(filter.trim().toLowerCase()))
    .filter(({ row }) => !onlyChanged || row.weight !== before(row.source));
  return (
    <>
      {draft.rows.length >= MANY && (
        <div className={classes.filter}>
          <TextInput
            type="search"
            size="xs"
            aria-label="Filter the sources"
            placeholder="Filter the sources"
            value={filter}
            onChange={(event) => setFilter(event.currentTarget.value)}
          />
          <Switch
            label="Changed only"
            checked={onlyChanged}
            onChange={(event) => setOnlyChanged(event.currentTarget.checked)}
          />
          <span role="status" className={classes.note}>
            {formatCount(shown.length)} of {formatCount(draft.rows.length)} sources
          </span>
        </div>
      )}
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
          {shown.map(({ row, index }) => {
            const flow = flowOf(newest, row.source);
            return (
              <WeightRow
                key={row.source}
                row={row}
                index={index}
                before={before(row.source)}
                epochs={preview?.epochs_at_end[row.source]}
                flow={flow}
                onWeight={(weight) => onDraft(setWeight(draft, row.source, weight, balance))}
                onLock={() => onDraft(toggleLock(draft, row.source))}
                onFlow={() => flow && onFlow(row.source, flow)}
              />
            );
          })}
        </tbody>
      </table>
      <div className={classes.total} data-many={draft.rows.length >= MANY}>
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
