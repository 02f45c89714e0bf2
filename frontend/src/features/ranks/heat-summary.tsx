import { Link } from "@tanstack/react-router";
import { Fragment } from "react";

import type { RankState } from "@/api/types";
import { plural } from "@/lib/format";

import { worstRanks, type HeatCells } from "./heat-cells";
import classes from "./heat-map.module.css";
import { metricLabel, NUMBER_METRICS } from "./heat-metrics";
import { countStates, RANK_STATES } from "./rank-states";
import type { HeatMetric } from "./ranks-search";

/** As many as a glance takes in. */
const MOST_NAMED = 3;

interface Props {
  id: string;
  jobId: string;
  ranks: readonly RankState[];
  cells: HeatCells;
}

/** A rank's value of a metric, with its unit. */
export function valueText(rank: RankState, metric: HeatMetric): string {
  if (metric === "state") return rank.state === "stuck" ? "not advancing" : rank.state;
  const value = NUMBER_METRICS[metric].value(rank);
  return value === null ? "not known" : NUMBER_METRICS[metric].format(value);
}

/** What the map shows, in words: least, median and most, and the worst ranks by name. */
export function HeatSummary({ id, jobId, ranks, cells }: Props) {
  const { metric, spread } = cells;
  const worst = worstRanks(ranks, metric, spread, MOST_NAMED);
  return (
    <p id={id} className={classes.summary}>
      {metricLabel(metric)} of {plural(ranks.length, "rank")}: {middle(ranks, cells)}.{" "}
      {worst.length === 0 ? "None stands out." : "Worst: "}
      {worst.map((rank, index) => (
        <Fragment key={rank.rank}>
          {index > 0 && ", "}
          <Link to="/jobs/$jobId/ranks/$rank" params={{ jobId, rank: String(rank.rank) }}>
            rank {rank.rank}
          </Link>{" "}
          ({valueText(rank, metric)})
        </Fragment>
      ))}
      {worst.length > 0 && "."}
    </p>
  );
}

function middle(ranks: readonly RankState[], { metric, spread }: HeatCells): string {
  if (metric === "state") {
    const counts = countStates(ranks);
    return RANK_STATES.filter((state) => counts[state] > 0)
      .map((state) => `${counts[state]} ${state === "stuck" ? "not advancing" : state}`)
      .join(", ");
  }
  if (spread === null) return "not known yet";
  const { format } = NUMBER_METRICS[metric];
  if (spread.min === spread.max) return `all ${format(spread.min)}`;
  return `least ${format(spread.min)}, median ${format(spread.median)}, most ${format(spread.max)}`;
}
