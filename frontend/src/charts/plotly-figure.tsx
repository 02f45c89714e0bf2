import { useEffect, useMemo, useRef, useState } from "react";

import type { FigureBody } from "@/api/types";

import { inertFigure } from "./inert-figure";
import { loadPlotly } from "./load-plotly";
import { plotConfig } from "./plot-config";
import classes from "./plotly-figure.module.css";

interface Props {
  figure: FigureBody;
  /** Read out in place of the picture. */
  label: string;
}

/** Draws a figure the server built. Zoom and hidden traces survive new data: the figure's `uirevision` is fixed. */
export function PlotlyFigure({ figure, label }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const inert = useMemo(() => inertFigure(figure), [figure]);

  useEffect(() => {
    let current = true;
    loadPlotly()
      .then(async (plotly) => {
        if (!current || ref.current === null) return;
        await plotly.react(
          ref.current,
          inert.data,
          { ...inert.layout, autosize: true },
          plotConfig(inert.config),
        );
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
      void loadPlotly().then((plotly) => {
        // Before the first drawing there is nothing to resize; a hidden chart has no size to take.
        if (element.classList.contains("js-plotly-plot") && element.offsetWidth > 0)
          plotly.Plots.resize(element);
      });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      void loadPlotly().then((plotly) => plotly.purge(element));
    };
  }, []);

  return (
    <>
      {failed && <p role="alert">The chart could not be drawn; its numbers are in the table.</p>}
      <div ref={ref} className={classes.plot} role="img" aria-label={label} hidden={failed} />
    </>
  );
}
