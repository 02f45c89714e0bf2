import type { StepTrace } from "@/api/types";
import { NumberTable } from "@/components/number-table";
import { SourceName } from "@/components/source-name";
import { formatCount, formatPpm, formatShare, UNKNOWN } from "@/lib/format";
import { ppm, share } from "@/lib/units";

const span = (first: number | null, last: number | null) => {
  if (first === null || last === null) return UNKNOWN;
  return first === last ? formatCount(first) : `${formatCount(first)} – ${formatCount(last)}`;
};

/** What the global batch took from each source. */
export function BatchTable({ trace }: { trace: StepTrace }) {
  return (
    <NumberTable
      bare
      label="The batch by source, as a table"
      columns={["Source", "Weight", "Sequences", "Share", "Ordinals", "Epoch"]}
    >
      {trace.sources.map((part, index) => (
        <tr key={part.source}>
          <th scope="row">
            <SourceName name={part.source} index={index} />
          </th>
          <td>{formatPpm(part.weight_ppm === null ? null : ppm(part.weight_ppm))}</td>
          <td>{part.num_sequences === null ? UNKNOWN : formatCount(part.num_sequences)}</td>
          <td>
            {part.num_sequences === null || !trace.num_sequences
              ? UNKNOWN
              : formatShare(share(part.num_sequences / trace.num_sequences))}
          </td>
          <td>{span(part.first_ordinal, part.last_ordinal)}</td>
          <td>{span(part.first_epoch, part.last_epoch)}</td>
        </tr>
      ))}
    </NumberTable>
  );
}
