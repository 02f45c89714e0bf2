import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Job, RankState } from "@/api/types";
import { StateBadge } from "@/components/state-badge";
import { Age } from "@/components/time";
import {
  formatBytes,
  formatCount,
  formatMetric,
  formatMillis,
  formatRate,
  formatShare,
  UNKNOWN,
} from "@/lib/format";
import { bytes, millis, share, tokensPerSecond } from "@/lib/units";

import { epochShare, shortPath } from "./cursor-place";
import type { SortKey } from "./ranks-search";
import classes from "./ranks-table.module.css";

/** A column of the rank table. */
export interface RankColumn {
  key: string;
  label: string;
  /** Pixels at 100 %; the table scales with the text. */
  width: number;
  sort?: Exclude<SortKey, "slowest">;
  number?: boolean;
  cell: (rank: RankState) => ReactNode;
}

const number = (
  sort: NonNullable<RankColumn["sort"]>,
  label: string,
  width: number,
  cell: RankColumn["cell"],
): RankColumn => ({ key: sort, label, width, sort, number: true, cell });

const MEASURES: readonly RankColumn[] = [
  { key: "step", label: "Step", width: 84, number: true, cell: ({ step }) => formatCount(step) },
  number("step_lag", "Lag, steps", 104, ({ step_lag }) => formatCount(step_lag)),
  number("tokens_per_s", "Speed", 110, ({ tokens_per_s }) =>
    formatRate(tokensPerSecond(tokens_per_s)),
  ),
  number("wait_p50_ms", "Wait p50", 96, ({ wait_p50_ms }) => formatMillis(millis(wait_p50_ms))),
  number("wait_p99_ms", "Wait p99", 96, ({ wait_p99_ms }) => formatMillis(millis(wait_p99_ms))),
  number("wait_max_ms", "Wait max", 96, ({ wait_max_ms }) => formatMillis(millis(wait_max_ms))),
  number("wait_share", "Waiting", 86, ({ wait_share }) => formatShare(share(wait_share))),
  number("queue_depth", "Queue", 76, ({ queue_depth }) => formatMetric(queue_depth)),
  number("rss_bytes", "Memory", 88, ({ rss_bytes }) => formatBytes(bytes(rss_bytes))),
  number("mix_version", "Mix", 58, ({ mix_version }) =>
    mix_version === null ? UNKNOWN : `v${mix_version}`,
  ),
  number("dropped", "Dropped", 94, ({ dropped }) => formatCount(dropped)),
  number("masked_tokens", "Masked tokens", 136, ({ masked_tokens }) => formatCount(masked_tokens)),
  {
    key: "masked_at",
    label: "Last masked at",
    width: 190,
    cell: ({ masked_at: at }) =>
      at === null ? (
        UNKNOWN
      ) : (
        <span title={`${at.source}: ${at.file}`}>
          {shortPath(at.file)}
          {at.row !== null && `:${at.row}`}
        </span>
      ),
  },
  {
    key: "age",
    label: "Last report",
    width: 110,
    cell: ({ last_report_at }) => <Age at={last_report_at} />,
  },
];

/** What the columns need beside the ranks. */
export interface ColumnsOf {
  job: Pick<Job, "id" | "seq_len" | "sources">;
  /** Shows the ranks of one host only. */
  onHost: (host: string) => void;
}

function cursorColumn(name: string, job: ColumnsOf["job"]): RankColumn {
  return {
    key: `source:${name}`,
    label: name,
    width: 290,
    cell: ({ sources }) => {
      const cursor = sources.find((source) => source.name === name);
      if (cursor?.file == null) return UNKNOWN;
      const part = epochShare(cursor, job);
      const epoch = part === null ? "" : `, ${formatShare(share(part))}`;
      return (
        <span title={cursor.file}>
          {`${shortPath(cursor.file)}:${cursor.row ?? UNKNOWN} · epoch ${cursor.epoch}${epoch}`}
        </span>
      );
    },
  };
}

/** The columns for a job: rank, state and host, what it measures, then one cursor (file:row, epoch) a source. */
export const rankColumns = ({ job, onHost }: ColumnsOf): RankColumn[] => [
  {
    key: "rank",
    label: "Rank",
    width: 72,
    sort: "rank",
    number: true,
    cell: ({ rank }) => (
      <Link
        to="/jobs/$jobId/ranks/$rank"
        params={{ jobId: job.id, rank: String(rank) }}
        preload={false}
        className={classes.link}
      >
        {rank}
      </Link>
    ),
  },
  {
    key: "state",
    label: "State",
    width: 122,
    sort: "state",
    cell: ({ state }) => <StateBadge state={state} />,
  },
  {
    key: "host",
    label: "Host",
    width: 130,
    sort: "host",
    cell: ({ host, local_rank }) => (
      <button
        type="button"
        className={classes.host}
        title={`Only ranks on ${host}`}
        onClick={() => onHost(host)}
      >
        {host} · {local_rank}
      </button>
    ),
  },
  ...MEASURES,
  ...job.sources.map(({ name }) => cursorColumn(name, job)),
];
