import type { Job } from "@/api/types";
import { NumberTable } from "@/components/number-table";
import { SourceName } from "@/components/source-name";
import { formatCount, formatMetric, formatPpm, formatPpmDelta, UNKNOWN } from "@/lib/format";
import { useNumberStyle } from "@/lib/number-style";
import { ppm } from "@/lib/units";

/** To 0.01 %: what was delivered is counted, not set, and its further decimals say nothing. */
const hundredths = (value: number) => ppm(Math.round(value / 100) * 100);

/** For each source: the share asked for, the share delivered, and how much there is of it. */
export function SourcesTable({ job }: { job: Job }) {
  useNumberStyle();
  const sizes = new Map(job.sources.map((source) => [source.name, source]));
  return (
    <NumberTable
      label="Sources"
      columns={["Source", "Target", "Delivered", "Difference", "Tokens", "Documents", "Shards"]}
    >
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
    </NumberTable>
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
