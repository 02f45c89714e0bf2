import type { PlotlyModule } from "plotly.js-basic-dist-min";

let loading: Promise<PlotlyModule> | null = null;

/** Plotly's basic bundle, fetched when the first chart is shown; a failed fetch is tried again next time. */
export function loadPlotly(): Promise<PlotlyModule> {
  loading ??= import("plotly.js-basic-dist-min").then(
    (module) => module.default,
    (error: unknown) => {
      loading = null;
      throw error;
    },
  );
  return loading;
}

/** Runs `task` with Plotly, and not at all where it could not be fetched: then nothing was drawn either. */
export function whenLoaded(task: (plotly: PlotlyModule) => void): void {
  loadPlotly().then(task, () => undefined);
}
