import type { StepTrace } from "@/api/types";
import { SourceName } from "@/components/source-name";
import { formatCount, formatPpm, formatShare, UNKNOWN } from "@/lib/format";
import { ppm, share } from "@/lib/units";

import classes from "./trace-page.module.css";

const span = (first: number | null, last: number | null) => {
  if (first === null || last === null) return UNKNOWN;
  return first === last ? formatCount(first) : `${formatCount(first)} – ${formatCount(last)}`;
};

/** What the global batch took from each source. */
export function BatchTable({ trace }: { trace: StepTrace }) {
  return (
    <div
      className={classes.scroll}
      role="region"
      aria-label="The batch by source, as a table"
      // A scrolling region must be reachable by keyboard.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col">Weight</th>
            <th scope="col">Sequences</th>
            <th scope="col">Share</th>
            <th scope="col">Ordinals</th>
            <th scope="col">Epoch</th>
          </tr>
        </thead>
        <tbody>
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
        </tbody>
      </table>
    </div>
  );
}
