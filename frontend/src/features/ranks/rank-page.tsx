import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { RANK_FIGURES, type XAxis } from "@/api/queries/figure";
import { jobQuery } from "@/api/queries/job";
import { rankQuery } from "@/api/queries/ranks";
import type { Job } from "@/api/types";
import { AxisChoice } from "@/charts/axis-bar";
import { FigureCard } from "@/charts/figure-card";
import { ErrorState, LoadingState } from "@/components/page-states";
import { StateBadge } from "@/components/state-badge";

import { RankCursors } from "./rank-cursors";
import { RankFacts, type RankDetail } from "./rank-facts";
import classes from "./rank-page.module.css";

const AXES = ["step", "tokens", "time"] as const;

interface Props {
  jobId: string;
  rank: number;
  x: XAxis | undefined;
  onX: (x: XAxis | undefined) => void;
}

/** One rank: how it does, what it reads, and its series. */
export function RankPage({ jobId, rank, x, onX }: Props) {
  const detail = useQuery(rankQuery(jobId, rank));
  const job = useQuery(jobQuery(jobId));
  if (detail.isPending || job.data === undefined)
    return <LoadingState label="Loading the rank" rows={4} height={64} />;
  if (detail.data === undefined) {
    return (
      <>
        <Ways jobId={jobId} />
        <ErrorState error={detail.error} onRetry={() => void detail.refetch()} />
      </>
    );
  }
  return (
    <>
      <Ways jobId={jobId} detail={detail.data} />
      <div className={classes.title}>
        <h2>Rank {rank}</h2>
        <StateBadge state={detail.data.state} />
        <span className={classes.where}>
          on {detail.data.host}, local rank {detail.data.local_rank}, data-parallel rank{" "}
          {detail.data.dp_rank}
        </span>
      </div>
      <RankFacts rank={detail.data} />
      <RankCursors rank={detail.data} job={job.data} />
      <Charts job={job.data} rank={rank} x={x} onX={onX} />
    </>
  );
}

/** All ranks, the one before, the one after, and the slowest. */
function Ways({ jobId, detail }: { jobId: string; detail?: RankDetail }) {
  const to = (rank: number, label: string) => (
    <Link
      to="/jobs/$jobId/ranks/$rank"
      params={{ jobId, rank: String(rank) }}
      search={({ x }) => (x === undefined || x === "elapsed" ? {} : { x })}
    >
      {label}
    </Link>
  );
  return (
    <nav aria-label="Ranks" className={classes.ways}>
      <Link to="/jobs/$jobId/ranks" params={{ jobId }}>
        All ranks
      </Link>
      {detail?.previous_rank != null && to(detail.previous_rank, `← Rank ${detail.previous_rank}`)}
      {detail?.next_rank != null && to(detail.next_rank, `Rank ${detail.next_rank} →`)}
      {detail &&
        (detail.slowest_rank === detail.rank ? (
          <span className={classes.where}>the slowest rank</span>
        ) : (
          to(detail.slowest_rank, `Slowest: rank ${detail.slowest_rank}`)
        ))}
    </nav>
  );
}

interface ChartsProps extends Pick<Props, "rank" | "x" | "onX"> {
  job: Job;
}

function Charts({ job, rank, x, onX }: ChartsProps) {
  return (
    <>
      <div className={classes.bar}>
        <h2>Charts</h2>
        <AxisChoice
          axes={AXES}
          x={x ?? "step"}
          onAxis={(next) => onX(next === "step" ? undefined : next)}
        />
      </div>
      <div className={classes.charts}>
        {RANK_FIGURES.map((name) => (
          <FigureCard
            key={`${name} ${rank}`}
            jobId={job.id}
            jobName={job.name}
            name={name}
            x={x ?? "step"}
            rank={rank}
          />
        ))}
      </div>
    </>
  );
}
