import { NativeSelect, useComputedColorScheme } from "@mantine/core";
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from "react";

import type { RankState } from "@/api/types";
import card from "@/components/card.module.css";
import { useWidth } from "@/lib/use-width";

import { drawHeat, heatColors } from "./draw-heat";
import { heatCells } from "./heat-cells";
import { cornerOf, layOut, rankAt, stepTo, type HeatLayout } from "./heat-layout";
import { HeatLegend } from "./heat-legend";
import classes from "./heat-map.module.css";
import { metricLabel } from "./heat-metrics";
import { HeatSummary, valueText } from "./heat-summary";
import { HEAT_METRICS, type HeatMetric } from "./ranks-search";

interface Props {
  jobId: string;
  /** All that have reported, by rank. */
  ranks: readonly RankState[];
  /** How many there should be. */
  numRanks: number;
  /** Those the filter leaves in; null where it is empty. */
  shown: ReadonlySet<number> | null;
  metric: HeatMetric;
  onMetric: (metric: HeatMetric) => void;
  onOpen: (rank: number) => void;
}

/** A cell for every rank, drawn at once: the pattern of ten thousand, and the way to each. */
export function HeatMap({ jobId, ranks, numRanks, shown, metric, onMetric, onOpen }: Props) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const summaryId = useId();
  const cells = useMemo(() => heatCells(ranks, metric, numRanks), [ranks, metric, numRanks]);
  const layout = useMemo(() => layOut(cells.bins.length, width), [cells.bins.length, width]);
  return (
    <section className={`${card.card} ${classes.card}`} aria-label="Heat map of the ranks">
      <div className={classes.head}>
        <h2>Heat map</h2>
        <NativeSelect
          aria-label="Heat map shows"
          value={metric}
          onChange={({ currentTarget: { value } }) =>
            onMetric(HEAT_METRICS.find((known) => known === value) ?? "state")
          }
          data={HEAT_METRICS.map((value) => ({ value, label: metricLabel(value) }))}
        />
      </div>
      <HeatSummary id={summaryId} jobId={jobId} ranks={ranks} cells={cells} />
      <div ref={frame} className={classes.frame}>
        {width > 0 && (
          <Cells
            {...{ ranks, cells, layout, shown, metric, onOpen }}
            label={`${metricLabel(metric)} of each rank`}
            describedBy={summaryId}
          />
        )}
      </div>
      <HeatLegend cells={cells} />
    </section>
  );
}

interface CellsProps extends Pick<Props, "ranks" | "shown" | "metric" | "onOpen"> {
  cells: ReturnType<typeof heatCells>;
  layout: HeatLayout;
  label: string;
  describedBy: string;
}

function Cells(props: CellsProps) {
  const { ranks, cells, layout, shown, metric, onOpen } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme("light");
  const [focused, setFocused] = useState(0);
  const [active, setActive] = useState<number | null>(null);
  const byRank = useMemo(() => new Map(ranks.map((rank) => [rank.rank, rank])), [ranks]);

  useEffect(() => {
    const element = canvas.current;
    if (element) drawHeat(element, cells, layout, heatColors(element), shown);
  }, [cells, layout, shown, scheme]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") onOpen(focused);
    if (event.key === "Escape") setActive(null);
    const to = stepTo(layout, focused, event.key);
    if (to === null) return;
    event.preventDefault();
    setFocused(to);
    setActive(to);
  };
  const under = (event: { nativeEvent: MouseEvent }) =>
    rankAt(layout, event.nativeEvent.offsetX, event.nativeEvent.offsetY);
  const current = Math.min(active ?? focused, layout.count - 1);
  return (
    // The roles of a grid need an element a cell; a slider moves through as many as there are, and is read out.
    <div
      role="slider"
      tabIndex={0}
      className={classes.map}
      aria-label={props.label}
      aria-describedby={props.describedBy}
      aria-valuemin={0}
      aria-valuemax={layout.count - 1}
      aria-valuenow={current}
      aria-valuetext={describe(byRank.get(current), current, metric)}
      style={{ width: layout.columns * layout.cell, height: layout.rows * layout.cell }}
      onKeyDown={onKeyDown}
      onFocus={() => setActive(focused)}
      onBlur={() => setActive(null)}
      onPointerMove={(event) => setActive(under(event))}
      onPointerLeave={() => setActive(null)}
      onClick={(event) => {
        const rank = under(event);
        if (rank !== null) onOpen(rank);
      }}
    >
      <canvas
        ref={canvas}
        style={{ width: layout.columns * layout.cell, height: layout.rows * layout.cell }}
      />
      {active !== null && active < layout.count && (
        <Tip layout={layout} rank={active} state={byRank.get(active)} metric={metric} />
      )}
    </div>
  );
}

const describe = (state: RankState | undefined, rank: number, metric: HeatMetric) =>
  state === undefined
    ? `rank ${rank}, not reported`
    : `rank ${rank}, ${state.host}, ${valueText(state, metric)}`;

interface TipProps {
  layout: HeatLayout;
  rank: number;
  state: RankState | undefined;
  metric: HeatMetric;
}

const TIP_PX = 260;
const TIP_GAP_PX = 8;

/** The cell that is pointed at or focused, and what it says; read out by the map's own value. */
function Tip({ layout, rank, state, metric }: TipProps) {
  const { x, y } = cornerOf(layout, rank);
  const left = Math.max(0, Math.min(x, layout.columns * layout.cell - TIP_PX));
  return (
    <div aria-hidden="true">
      <div
        className={classes.marker}
        style={{ left: x, top: y, width: layout.cell - 1, height: layout.cell - 1 }}
      />
      <div className={classes.tip} style={{ left, top: y + layout.cell + TIP_GAP_PX }}>
        <strong>Rank {rank}</strong>
        {state === undefined ? (
          " has not reported"
        ) : (
          <>
            {" "}
            · {state.host}
            <br />
            {metricLabel(metric)}: {valueText(state, metric)}
          </>
        )}
      </div>
    </div>
  );
}
