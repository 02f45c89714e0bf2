import type { ReactNode } from "react";

import type { RankState } from "@/api/types";
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

import type { SortKey } from "./ranks-search";

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

const FIXED: readonly RankColumn[] = [
  { key: "rank", label: "Rank", width: 60, sort: "rank", number: true, cell: ({ rank }) => rank },
  {
    key: "state",
    label: "State",
    width: 118,
    sort: "state",
    cell: ({ state }) => <StateBadge state={state} />,
  },
  { key: "step", label: "Step", width: 80, number: true, cell: ({ step }) => formatCount(step) },
  number("step_lag", "Lag, steps", 88, ({ step_lag }) => formatCount(step_lag)),
  number("tokens_per_s", "Speed", 100, ({ tokens_per_s }) =>
    formatRate(tokensPerSecond(tokens_per_s)),
  ),
  number("wait_p50_ms", "Wait p50", 82, ({ wait_p50_ms }) => formatMillis(millis(wait_p50_ms))),
  number("wait_p99_ms", "Wait p99", 82, ({ wait_p99_ms }) => formatMillis(millis(wait_p99_ms))),
  number("wait_max_ms", "Wait max", 82, ({ wait_max_ms }) => formatMillis(millis(wait_max_ms))),
  number("wait_share", "Waiting", 72, ({ wait_share }) => formatShare(share(wait_share))),
  number("queue_depth", "Queue", 72, ({ queue_depth }) => formatMetric(queue_depth)),
  number("rss_bytes", "Memory", 84, ({ rss_bytes }) => formatBytes(bytes(rss_bytes))),
  number("dropped", "Dropped", 76, ({ dropped }) => formatCount(dropped)),
  number("mix_version", "Mix", 52, ({ mix_version }) =>
    mix_version === null ? UNKNOWN : `v${mix_version}`,
  ),
  {
    key: "host",
    label: "Host",
    width: 130,
    sort: "host",
    cell: ({ host, local_rank }) => `${host} · ${local_rank}`,
  },
  {
    key: "age",
    label: "Last report",
    width: 110,
    cell: ({ last_report_at }) => <Age at={last_report_at} />,
  },
];

function cursorColumn(name: string): RankColumn {
  return {
    key: `source:${name}`,
    label: name,
    width: 280,
    cell: ({ sources }) => {
      const cursor = sources.find((source) => source.name === name);
      if (cursor?.file == null) return UNKNOWN;
      return (
        <span title={cursor.file}>
          {`${shortPath(cursor.file)}:${cursor.row ?? UNKNOWN} · epoch ${cursor.epoch}`}
        </span>
      );
    },
  };
}

/** The last two parts of a path. */
const shortPath = (path: string) => path.split("/").slice(-2).join("/");

/** The columns for a job with these sources: the fixed ones, then one cursor (file:row) a source. */
export const rankColumns = (sources: readonly string[]): RankColumn[] => [
  ...FIXED,
  ...sources.map(cursorColumn),
];
