import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";

import type { FigureBody } from "@/api/types";

import { inertFigure } from "./inert-figure";
import { loadPlotly, whenLoaded } from "./load-plotly";
import { plotConfig } from "./plot-config";
import classes from "./plotly-figure.module.css";

interface Props {
  figure: FigureBody;
  /** Read out in place of the picture. */
  label: string;
  /** Called when the reader zooms in or, by a double click, back out. */
  onZoom: (zoomed: boolean) => void;
}

/** Whether a change of the layout shows a part of an axis or all of it; undefined where it does neither. */
export function zoomOf(change: Record<string, unknown>): boolean | undefined {
  const keys = Object.keys(change);
  if (keys.some((key) => key.endsWith(".autorange"))) return false;
  return keys.some((key) => /axis\d*\.range/.test(key)) || undefined;
}

/** Draws a figure the server built. Zoom and hidden traces survive new data: the figure's `uirevision` is fixed. */
export function PlotlyFigure({ figure, label, onZoom }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const inert = useMemo(() => inertFigure(figure), [figure]);

  const zoomed = useEffectEvent((change: Record<string, unknown>) => {
    const zoom = zoomOf(change);
    if (zoom !== undefined) onZoom(zoom);
  });

  useEffect(() => {
    let current = true;
    loadPlotly()
      .then(async (plotly) => {
        if (!current || ref.current === null) return;
        const first = !ref.current.classList.contains("js-plotly-plot");
        const plot = await plotly.react(
          ref.current,
          inert.data,
          { ...inert.layout, autosize: true },
          plotConfig(inert.config),
        );
        if (first) plot.on("plotly_relayout", (change) => zoomed(change));
        setFailed(false);
      })
      .catch(() => current && setFailed(true));
    return () => {
      current = false;
    };
  }, [inert]);

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
      whenLoaded((plotly) => plotly.purge(element));
    };
  }, []);

  return (
    <>
      {failed && <p role="alert">The chart could not be drawn; its numbers are in the table.</p>}
      <div ref={ref} className={classes.plot} role="img" aria-label={label} hidden={failed} />
    </>
  );
}
