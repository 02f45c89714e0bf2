import type { Range, XAxis } from "@/api/queries/figure";
import type { Job } from "@/api/types";
import { AxisBar, AxisChoice, ShownRange } from "@/charts/axis-bar";
import { chosenRange } from "@/charts/chart-search";
import { QuietButton } from "@/components/quiet-button";
import { useNow } from "@/lib/use-now";

import {
  AXES,
  axisOf,
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

const NOW_EVERY_MS = 10_000;

/** What all charts run over, which part of it they show and how much is smoothed. Stays in sight while they scroll. */
export function ChartsBar({ job, search, onSearch }: Props) {
  const x = axisOf(search);
  const range = chosenRange(search);
  const nowS = useNow(NOW_EVERY_MS) / 1000;
  const whole = toPlannedEnd(job, x, nowS);
  const showsEnd = range !== null && (x === "time" ? range[1] > nowS : range[1] === whole?.[1]);
  const onRange = (next: Range | null) => onSearch(withRange(search, next));
  return (
    <AxisBar>
      <AxisChoice axes={AXES} x={x} onAxis={(next) => onSearch(withAxis(search, next))} />
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
      <ShownRange x={x} range={range} onRange={onRange}>
        {whole !== null && !showsEnd && (
          <QuietButton
            framed
            title={x === "time" ? "Where the present pace leads" : undefined}
            onClick={() => onRange(whole)}
          >
            To the planned end
          </QuietButton>
        )}
      </ShownRange>
      <ExportMenu jobId={job.id} x={x} />
    </AxisBar>
  );
}

/** From the start to where the run is planned to end; over time where its present pace leads, null without one. */
export function toPlannedEnd(job: Job, x: XAxis, nowS: number): Range | null {
  const { total_steps: steps, step, tokens_per_s: rate } = job;
  if (steps === null || steps < 2) return null;
  const tokensAStep = job.seq_len * job.global_batch_size;
  if (x === "step") return [0, steps - 1];
  if (x === "tokens") return [0, steps * tokensAStep];
  if (step === null || rate === null || rate <= 0 || step >= steps - 1) return null;
  const start = Date.parse(job.created_at) / 1000;
  return [start, Math.ceil(nowS + ((steps - 1 - step) * tokensAStep) / rate)];
}
