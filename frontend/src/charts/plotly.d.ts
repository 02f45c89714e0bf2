/** The part of plotly.js that is used here; the package brings no types of its own. */
declare module "plotly.js-basic-dist-min" {
  /** What Plotly makes of the element it draws in. */
  export interface PlotElement extends HTMLElement {
    on(event: "plotly_relayout", listener: (change: Record<string, unknown>) => void): void;
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
    Plots: { resize(element: HTMLElement): void };
    version: string;
  }
  const plotly: PlotlyModule;
  // The package has this export only.
  // eslint-disable-next-line import-x/no-default-export
  export default plotly;
}
