import { SegmentedControl } from "@mantine/core";

import type { Range, XAxis } from "@/api/queries/figure";
import type { Job } from "@/api/types";
import { formatCount, formatMetric } from "@/lib/format";
import { formatLocal } from "@/lib/time";

import {
  axisOf,
  chosenRange,
  SMOOTHINGS,
  withAxis,
  withRange,
  withSmoothing,
  type ChartsSearch,
} from "./charts-search";
import { ExportMenu } from "./export-menu";
import classes from "./job-page.module.css";

interface Props {
  job: Job;
  search: ChartsSearch;
  onSearch: (search: ChartsSearch) => void;
}

const AXES: readonly { value: XAxis; label: string }[] = [
  { value: "step", label: "Step" },
  { value: "tokens", label: "Tokens" },
  { value: "time", label: "Time" },
];

/** What all charts run over, which part of it they show and how much is smoothed. Stays in sight while they scroll. */
export function ChartsBar({ job, search, onSearch }: Props) {
  const x = axisOf(search);
  const range = chosenRange(search);
  const end = plannedEnd(job, x);
  return (
    <div className={classes.bar} role="group" aria-label="Charts">
      <SegmentedControl
        aria-label="Charts run over"
        value={x}
        onChange={(next) => onSearch(withAxis(search, next))}
        data={[...AXES]}
      />
      <label className={classes.choice}>
        Smoothing
        <select
          value={search.smooth ?? 0}
          onChange={(event) => onSearch(withSmoothing(search, Number(event.target.value)))}
          title="The mean of all values in a window, at its middle; the raw line stays, faint"
        >
          {SMOOTHINGS.map((percent) => (
            <option key={percent} value={percent}>
              {percent === 0 ? "none" : `window of ${percent} %`}
            </option>
          ))}
        </select>
      </label>
      <span className={classes.shown}>
        {range === null ? "All so far" : rangeText(range, x)}
        {range !== null && (
          <button
            type="button"
            className={classes.small}
            onClick={() => onSearch(withRange(search, null))}
          >
            Show all
          </button>
        )}
        {end !== null && range?.[1] !== end && (
          <button
            type="button"
            className={classes.small}
            onClick={() => onSearch(withRange(search, [0, end]))}
          >
            To the planned end
          </button>
        )}
      </span>
      <ExportMenu jobId={job.id} x={x} />
    </div>
  );
}

/** Where the run is planned to end, on an axis on which that can be said. */
function plannedEnd(
  { total_steps: steps, seq_len, global_batch_size }: Job,
  x: XAxis,
): number | null {
  if (steps === null || steps < 2 || x === "time") return null;
  return x === "step" ? steps - 1 : steps * seq_len * global_batch_size;
}

function rangeText([low, high]: Range, x: XAxis): string {
  if (x === "step") return `Steps ${formatCount(low)} to ${formatCount(high)}`;
  if (x === "tokens") return `${formatMetric(low)} to ${formatMetric(high)} tokens`;
  const [from, to] = [low, high].map((seconds) => new Date(seconds * 1000).toISOString());
  const now = new Date();
  return `${formatLocal(from ?? "", now)} to ${formatLocal(to ?? "", now)}`;
}
