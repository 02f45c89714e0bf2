import type { CSSProperties } from "react";

import { Icon } from "@/components/icons";
import { SourceName } from "@/components/source-name";
import { formatEpochs, formatPpm, formatPpmDelta } from "@/lib/format";
import { sourceColor } from "@/lib/source-colors";
import { ppm, ppmToPercent, WHOLE, type Ppm } from "@/lib/units";

import type { DraftRow } from "./mix-draft";
import classes from "./mix-editor.module.css";
import { WeightInput } from "./weight-input";
import { weightAfterKey } from "./weight-keys";

interface Props {
  row: DraftRow;
  /** The source's place in the job. */
  index: number;
  before: Ppm;
  epochs: number | null | undefined;
  /** What can be done with the source at once: it is paused, or runs; null where neither can be had. */
  flow: "pause" | "resume" | null;
  onWeight: (weight: Ppm) => void;
  onLock: () => void;
  onFlow: () => void;
}

/** Where the pointer lets go of a slider: a whole tenth of a percent. */
const snapped = (value: number) => ppm(Math.round(value / 1000) * 1000);

/** The slider's colour and how much of its track is filled, for the stylesheet. */
const sliderStyle = (index: number, weight: Ppm) =>
  ({
    "--slider-color": sourceColor(index),
    "--slider-fill": `${ppmToPercent(weight)}%`,
  }) as CSSProperties;

/** One source of the edit: slider, number, lock, pause, and what the change comes to. */
export function WeightRow(props: Props) {
  const { row, index, before, epochs, flow, onWeight, onLock, onFlow } = props;
  const { source, weight, locked } = row;
  const delta = weight - before;
  return (
    <tr role="row" className={classes.row}>
      <th role="rowheader" scope="row" className={classes.source}>
        <SourceName name={source} index={index} />
        {weight === 0 && <span className={classes.paused}>paused</span>}
      </th>
      <td role="cell" className={classes.sliderCell}>
        <input
          type="range"
          className={classes.slider}
          style={sliderStyle(index, weight)}
          min={0}
          max={WHOLE}
          step={1}
          value={weight}
          aria-label={`Weight of ${source}`}
          aria-valuetext={formatPpm(weight)}
          onKeyDown={(event) => {
            const next = weightAfterKey(weight, event);
            if (next === null) return;
            event.preventDefault();
            onWeight(ppm(next));
          }}
          onChange={(event) => onWeight(snapped(event.currentTarget.valueAsNumber))}
        />
      </td>
      <td role="cell">
        <WeightInput source={source} weight={weight} onWeight={onWeight} />
      </td>
      <td role="cell" className={classes.buttons}>
        <button
          type="button"
          className={classes.tool}
          aria-pressed={locked}
          aria-label={`Lock ${source}`}
          onClick={onLock}
        >
          <Icon name={locked ? "lock" : "unlock"} />
        </button>
        {flow !== null && (
          <button
            type="button"
            className={classes.tool}
            aria-label={`${flow === "pause" ? "Pause" : "Resume"} ${source} now`}
            title={`${flow === "pause" ? "Pause" : "Resume"} now: asks first`}
            data-flow={source}
            onClick={onFlow}
          >
            <Icon name={flow === "pause" ? "pause" : "play"} />
          </button>
        )}
      </td>
      <td role="cell" className={classes.number} data-label="Before">
        {formatPpm(before)}
      </td>
      <td role="cell" className={classes.number} data-label="Change" data-sign={Math.sign(delta)}>
        {formatPpmDelta(delta)}
      </td>
      <td role="cell" className={classes.number} data-label="Epochs at the end">
        {formatEpochs(epochs ?? null)}
      </td>
    </tr>
  );
}
