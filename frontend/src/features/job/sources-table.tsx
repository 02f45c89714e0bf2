import type { Job } from "@/api/types";
import { SourceName } from "@/components/source-name";
import { formatCount, formatMetric, formatPpm, formatPpmDelta, UNKNOWN } from "@/lib/format";
import { useNumberStyle } from "@/lib/number-style";
import { ppm } from "@/lib/units";

import classes from "./job-page.module.css";

/** To 0.01 %: what was delivered is counted, not set, and its further decimals say nothing. */
const hundredths = (value: number) => ppm(Math.round(value / 100) * 100);

/** For each source: the share asked for, the share delivered, and how much there is of it. */
export function SourcesTable({ job }: { job: Job }) {
  useNumberStyle();
  const sizes = new Map(job.sources.map((source) => [source.name, source]));
  return (
    // A region that may scroll sideways must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={classes.scroll} role="region" aria-label="Sources" tabIndex={0}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col">Target</th>
            <th scope="col">Delivered</th>
            <th scope="col">Difference</th>
            <th scope="col">Tokens</th>
            <th scope="col">Documents</th>
            <th scope="col">Shards</th>
          </tr>
        </thead>
        <tbody>
          {job.mix.map((part, index) => (
            <tr key={part.source}>
              <th scope="row">
                <SourceName name={part.source} index={index} />
              </th>
              <td>{part.target_ppm === 0 ? "paused" : formatPpm(ppm(part.target_ppm))}</td>
              <Delivered part={part} />
              <Size source={sizes.get(part.source)} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Delivered({ part }: { part: Job["mix"][number] }) {
  const { target_ppm: target, realised_ppm: realised } = part;
  return (
    <>
      <td>{realised === null ? UNKNOWN : formatPpm(hundredths(realised))}</td>
      <td>{realised === null ? UNKNOWN : formatPpmDelta(hundredths(realised - target))}</td>
    </>
  );
}

function Size({ source }: { source: Job["sources"][number] | undefined }) {
  return (
    <>
      <td>{source ? formatMetric(source.num_tokens) : UNKNOWN}</td>
      <td>{source ? formatCount(source.num_documents) : UNKNOWN}</td>
      <td>{source ? formatCount(source.num_shards) : UNKNOWN}</td>
    </>
  );
}
