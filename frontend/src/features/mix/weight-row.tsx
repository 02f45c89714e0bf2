import type { CSSProperties } from "react";

import { Icon } from "@/components/icons";
import { SourceName } from "@/components/source-name";
import { formatEpochs, formatPpm, formatPpmDelta } from "@/lib/format";
import { sourceColor } from "@/lib/source-colors";
import { ppm, ppmToPercent, WHOLE, type Ppm } from "@/lib/units";

import type { DraftRow } from "./mix-draft";
import classes from "./mix-editor.module.css";
import { WeightInput } from "./weight-input";

interface Props {
  row: DraftRow;
  index: number;
  before: Ppm;
  /** What a press on resume gives back. */
  resumeWeight: Ppm;
  epochs: number | null | undefined;
  onWeight: (weight: Ppm) => void;
  onLock: () => void;
}

/** An arrow key moves a slider by this: 0.1 %. */
const STEP = 1000;

/** The slider's colour and how much of its track is filled, for the stylesheet. */
const sliderStyle = (index: number, weight: Ppm) =>
  ({
    "--slider-color": sourceColor(index),
    "--slider-fill": `${ppmToPercent(weight)}%`,
  }) as CSSProperties;

/** One source of the edit: slider, number, lock, pause, and what the change comes to. */
export function WeightRow({ row, index, before, resumeWeight, epochs, onWeight, onLock }: Props) {
  const { source, weight, locked } = row;
  const paused = weight === 0;
  const delta = weight - before;
  return (
    <tr role="row" className={classes.row}>
      <th role="rowheader" scope="row" className={classes.source}>
        <SourceName name={source} index={index} />
        {paused && <span className={classes.paused}>paused</span>}
      </th>
      <td role="cell" className={classes.sliderCell}>
        <input
          type="range"
          className={classes.slider}
          style={sliderStyle(index, weight)}
          min={0}
          max={WHOLE}
          step={STEP}
          value={weight}
          aria-label={`Weight of ${source}`}
          aria-valuetext={formatPpm(weight)}
          onChange={(event) => onWeight(ppm(event.currentTarget.valueAsNumber))}
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
        <button
          type="button"
          className={classes.tool}
          aria-label={paused ? `Resume ${source}` : `Pause ${source}`}
          disabled={paused && resumeWeight === 0}
          onClick={() => onWeight(paused ? resumeWeight : ppm(0))}
        >
          <Icon name={paused ? "play" : "pause"} />
        </button>
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
