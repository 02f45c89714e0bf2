import type { ReactNode } from "react";

import type { components } from "@/api/schema";
import { Age } from "@/components/time";
import {
  formatBytes,
  formatCount,
  formatMetric,
  formatMillis,
  formatRate,
  formatShare,
  plural,
} from "@/lib/format";
import { bytes, millis, share, tokensPerSecond } from "@/lib/units";

import { shortPath } from "./cursor-place";
import classes from "./rank-page.module.css";

/** A rank with the ranks to look at next. */
export type RankDetail = components["schemas"]["RankDetail"];

/** The latest of a rank, as it reported it. */
export function RankFacts({ rank }: { rank: RankDetail }) {
  const { masked_at: at } = rank;
  return (
    <dl className={classes.facts}>
      <Fact label="Step" note={rank.step_lag === 0 ? "with the furthest" : lagText(rank.step_lag)}>
        {formatCount(rank.step)}
      </Fact>
      <Fact label="Speed" note={<>last report {<Age at={rank.last_report_at} />}</>}>
        {formatRate(tokensPerSecond(rank.tokens_per_s))}
      </Fact>
      <Fact
        label="Wait, p50 / p99 / max"
        note={`${formatShare(share(rank.wait_share))} of its time spent waiting`}
      >
        {[rank.wait_p50_ms, rank.wait_p99_ms, rank.wait_max_ms]
          .map((value) => formatMillis(millis(value)))
          .join(" / ")}
      </Fact>
      <Fact label="Queue" note="batches ready">
        {formatMetric(rank.queue_depth)}
      </Fact>
      <Fact label="Memory" note="resident">
        {formatBytes(bytes(rank.rss_bytes))}
      </Fact>
      <Fact label="Mix in force" note={rank.mix_revision}>
        {rank.mix_version === null ? "no version yet" : `v${rank.mix_version}`}
      </Fact>
      <Fact label="Reports dropped" note={`attempt ${rank.attempt}`}>
        {formatCount(rank.dropped)}
      </Fact>
      <Fact
        label="Masked"
        note={
          at === null ? (
            "nothing was unreadable"
          ) : (
            <span title={at.file}>
              last in {at.source}: {shortPath(at.file)}
              {at.row === null ? ", the whole block" : `, row ${formatCount(at.row)}`}
            </span>
          )
        }
      >
        {plural(rank.masked_tokens, "token")}
      </Fact>
    </dl>
  );
}

const lagText = (lag: number) => `${plural(lag, "step")} behind the furthest`;

function Fact({ label, note, children }: { label: string; note: ReactNode; children: ReactNode }) {
  return (
    <div className={classes.fact}>
      <dt>{label}</dt>
      <dd>
        {children}
        <p className={classes.note}>{note}</p>
      </dd>
    </div>
  );
}
