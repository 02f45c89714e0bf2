import { loadPlotly } from "./load-plotly";

/** Hovering over one chart shows the same x in all that are linked and in view. */
export class HoverLink {
  readonly #plots = new Set<HTMLElement>();
  #x: number | null = null;
  #from: HTMLElement | null = null;
  #isPending = false;

  /** Links a drawn chart; returns the way out. */
  add(plot: HTMLElement): () => void {
    this.#plots.add(plot);
    return () => void this.#plots.delete(plot);
  }

  /** The reader points at `x` in `from`, in Plotly's own units; null: at nothing. */
  point(from: HTMLElement, x: number | null): void {
    this.#x = x;
    this.#from = from;
    if (this.#isPending) return;
    this.#isPending = true;
    requestAnimationFrame(() => void this.#show());
  }

  async #show(): Promise<void> {
    const plotly = await loadPlotly();
    this.#isPending = false;
    for (const plot of this.#plots) {
      if (plot === this.#from || !isDrawn(plot) || !isInView(plot)) continue;
      if (this.#x === null) plotly.Fx.unhover(plot);
      else plotly.Fx.hover(plot, { xval: this.#x });
    }
  }
}

const isDrawn = (element: HTMLElement) => element.classList.contains("js-plotly-plot");

function isInView(element: HTMLElement): boolean {
  const { top, bottom, width } = element.getBoundingClientRect();
  return width > 0 && bottom > 0 && top < window.innerHeight;
}
