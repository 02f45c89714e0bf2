import type { PlotElement, PlotlyModule } from "plotly.js-basic-dist-min";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";

import type { ChartAxis, Range } from "@/api/queries/figure";
import type { FigureBody } from "@/api/types";
import { useNumberStyle } from "@/lib/number-style";

import { cutForecasts } from "./cut-forecasts";
import { drawInTurn, forgetDrawing } from "./draw-queue";
import type { HoverLink } from "./hover-link";
import { inertFigure } from "./inert-figure";
import { loadPlotly, whenLoaded } from "./load-plotly";
import { inReadersZone } from "./local-times";
import { withNumberStyle } from "./number-texts";
import { plotConfig } from "./plot-config";
import classes from "./plotly-figure.module.css";
import { rangeOf, toPlotly, unitOf } from "./x-range";

interface Props {
  figure: FigureBody;
  /** Read out in place of the picture. */
  label: string;
  x: ChartAxis;
  /** What of the x axis is shown; null for what there is. */
  range: Range | null;
  /** The reader dragged over a part, or by a double click wants all: null. */
  onRange: (range: Range | null) => void;
  /** The reader clicked on a point: its trace and its place in it. */
  onPoint: (curve: number, point: number) => void;
  /** The reader clicked on the label of a mark: its place among the annotations. */
  onMark: (label: number) => void;
  hoverLink?: HoverLink | undefined;
}

/** Where a finger scrolls the page, a drag over a chart can't zoom too. */
const isTouch = () => window.matchMedia("(pointer: coarse)").matches;

/** The plot has one height in every chart; what a legend of many rows needs comes on top. */
const PLOT_PX = 204;
const heightOf = ({ layout }: FigureBody) =>
  PLOT_PX + ((layout.margin as { b?: number } | undefined)?.b ?? 76);

function layoutOf(figure: FigureBody, x: ChartAxis, range: Range | null) {
  const axis = figure.layout.xaxis as object;
  const shown =
    range === null
      ? { autorange: true }
      : { range: toPlotly(range, x, unitOf(figure)), autorange: false };
  return {
    ...figure.layout,
    autosize: true,
    ...(isTouch() && { dragmode: false }),
    // What the page says of the range holds, whatever was dragged; hidden lines stay hidden by the figure's own.
    xaxis: { ...axis, ...shown, uirevision: JSON.stringify(range) },
  };
}

/** Draws a figure the server built, in its turn. Hidden lines stay hidden through new data. */
export function PlotlyFigure({ figure, label, x, range, ...on }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const style = useNumberStyle();
  const inert = useMemo(
    () => inertFigure(withNumberStyle(inReadersZone(figure), style)),
    [figure, style],
  );

  const relaid = useEffectEvent((change: Record<string, unknown>) => {
    const chosen = rangeOf(change, unitOf(figure));
    if (chosen !== undefined) on.onRange(chosen);
  });
  const doubleClicked = useEffectEvent(() => on.onRange(null));
  const clicked = useEffectEvent(
    (points: readonly { curveNumber: number; pointIndex: number }[]) => {
      const [first] = points;
      if (first !== undefined) on.onPoint(first.curveNumber, first.pointIndex);
    },
  );
  const clickedMark = useEffectEvent((index: number) => on.onMark(index));
  const hovered = useEffectEvent((event: unknown, at: number | null) => {
    // Only what the reader's own pointer does is passed on, not what another chart did here.
    if (event instanceof MouseEvent && ref.current) on.hoverLink?.point(ref.current, at);
  });
  const listen = useEffectEvent((plot: PlotElement) => {
    plot.on("plotly_relayout", (change) => relaid(change));
    plot.on("plotly_doubleclick", () => doubleClicked());
    plot.on("plotly_click", ({ points }) => clicked(points));
    plot.on("plotly_clickannotation", ({ index }) => clickedMark(index));
    plot.on("plotly_hover", ({ event, xvals }) => hovered(event, xvals?.[0] ?? null));
    plot.on("plotly_unhover", ({ event }) => hovered(event, null));
  });

  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    let current = true;
    const draw = async (plotly: PlotlyModule) => {
      const isFirst = !element.classList.contains("js-plotly-plot");
      const layout = layoutOf(inert, x, range);
      const plot = await plotly.react(
        element,
        cutForecasts(inert, range, x).data,
        layout,
        plotConfig(inert.config),
      );
      if (isFirst) listen(plot);
      setFailed(false);
    };
    const fail = () => setFailed(true);
    loadPlotly().then((plotly) => {
      if (current) drawInTurn(element, () => draw(plotly).catch(fail));
    }, fail);
    return () => {
      current = false;
    };
  }, [inert, x, range]);

  const { hoverLink } = on;
  useEffect(() => (ref.current ? hoverLink?.add(ref.current) : undefined), [hoverLink]);

  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      whenLoaded((plotly) => {
        // Before the first drawing there is nothing to resize; a hidden chart has no size to take.
        const drawn = element.classList.contains("js-plotly-plot");
        if (drawn && element.offsetWidth > 0) plotly.Plots.resize(element);
      });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      forgetDrawing(element);
      whenLoaded((plotly) => {
        // What hovering has put off must not come to a chart that is gone.
        if (element.classList.contains("js-plotly-plot")) plotly.Fx.unhover(element);
        plotly.purge(element);
      });
    };
  }, []);

  return (
    <>
      {failed && <p role="alert">The chart could not be drawn; its numbers are in the table.</p>}
      <div
        ref={ref}
        className={classes.plot}
        style={{ height: heightOf(figure) }}
        role="img"
        aria-label={label}
        hidden={failed}
      />
    </>
  );
}
