/** The part of plotly.js that is used here; the package brings no types of its own. */
declare module "plotly.js-basic-dist-min" {
  /** What Plotly makes of the element it draws in. */
  export interface PlotElement extends HTMLElement {
    on(event: "plotly_relayout", listener: (change: Record<string, unknown>) => void): void;
    on(event: "plotly_doubleclick", listener: () => void): void;
    on(event: "plotly_click", listener: (at: { points: PlotPoint[] }) => void): void;
    on(event: "plotly_clickannotation", listener: (at: { index: number }) => void): void;
    on(
      event: "plotly_hover" | "plotly_unhover",
      listener: (at: { event?: unknown; xvals?: number[] }) => void,
    ): void;
  }

  /** A point of a trace, by their places in the figure. */
  export interface PlotPoint {
    curveNumber: number;
    pointIndex: number;
  }

  export interface PlotlyModule {
    react(
      element: HTMLElement,
      data: readonly object[],
      layout: object,
      config: object,
    ): Promise<PlotElement>;
    purge(element: HTMLElement): void;
    toImage(
      figure: { data: readonly object[]; layout: object; config: object },
      options: { format: "png"; width: number; height: number; scale: number },
    ): Promise<string>;
    /** Shows what is at `xval`, in the axis's own units, as if pointed at. */
    Fx: {
      hover(element: HTMLElement, at: { xval: number }): void;
      unhover(element: HTMLElement): void;
    };
    Plots: { resize(element: HTMLElement): void };
    version: string;
  }
  const plotly: PlotlyModule;
  // The package has this export only.
  // eslint-disable-next-line import-x/no-default-export
  export default plotly;
}
