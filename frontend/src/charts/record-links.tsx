import { Link } from "@tanstack/react-router";

import type { Figure } from "@/api/types";
import { formatCount } from "@/lib/format";

/** An attempt or an edit of the mix that a chart marks. */
export type Mark = Figure["marks"][number];

/** Where what happened at a mark is written down. */
export const recordOf = ({ kind, number }: Mark) =>
  kind === "mix"
    ? ({ to: "/jobs/$jobId/history", hash: `version-${number}` } as const)
    : ({ to: "/jobs/$jobId", hash: `attempt-${number}` } as const);

/** The way to the record of a mark. */
export function MarkLink({ jobId, mark }: { jobId: string; mark: Mark }) {
  const { to, hash } = recordOf(mark);
  return (
    <Link to={to} params={{ jobId }} hash={hash}>
      {mark.about}
    </Link>
  );
}

/** The way to what a step was made of. */
export function TraceLink({
  jobId,
  step,
  short,
}: {
  jobId: string;
  step: number;
  short?: boolean;
}) {
  const text = formatCount(step);
  return (
    <Link
      to="/jobs/$jobId/trace"
      params={{ jobId }}
      search={{ step }}
      aria-label={`Trace step ${text}`}
    >
      {short ? text : `Trace step ${text}`}
    </Link>
  );
}
