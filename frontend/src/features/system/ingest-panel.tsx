import type { System } from "@/api/types";
import { Fact, Facts, Panel } from "@/components/panel";
import { formatCount, formatMetric, UNKNOWN } from "@/lib/format";

import { ReportsByMinute } from "./reports-by-minute";
import classes from "./system.module.css";

const seconds = (value: number | null) => (value === null ? UNKNOWN : `${value.toFixed(1)} s`);

/** What ranks report, over all jobs and all processes. */
export function IngestPanel({ ingest }: { ingest: System["ingest"] }) {
  const stretched = ingest.stretch > 1.005;
  return (
    <Panel title="Ingest">
      <Facts>
        <Fact name="Reports" about={`of ${formatCount(ingest.num_ranks)} live ranks`}>
          {formatMetric(Number(ingest.reports_per_s.toFixed(2)))} /s
        </Fact>
        <Fact name="Lag, mean" about="from a rank’s report to its being stored">
          {seconds(ingest.lag_mean_s)}
        </Fact>
        <Fact name="Lag, largest" about="of each rank’s last report">
          {seconds(ingest.lag_max_s)}
        </Fact>
        <Fact
          name="Spacing"
          about={
            stretched ? "ranks are told to report less often" : "ranks report as often as asked"
          }
        >
          {stretched ? `× ${ingest.stretch.toFixed(2)}` : "as set"}
        </Fact>
      </Facts>
      {ingest.per_minute.length > 0 ? (
        <ReportsByMinute minutes={ingest.per_minute} />
      ) : (
        <p className={classes.dim}>
          No report in the last hour that is rolled up yet. A minute is rolled up some ten seconds
          after it ended.
        </p>
      )}
    </Panel>
  );
}
