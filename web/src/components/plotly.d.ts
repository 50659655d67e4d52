declare module "plotly.js-cartesian-dist-min" {
  export interface PlotElement extends HTMLDivElement {
    layout?: { xaxis?: { autorange?: boolean; range?: unknown[] } };
    on(event: string, listener: (told: never) => void): void;
  }
  interface Plotly {
    react(place: HTMLElement, traces: unknown[], layout: object, options: object): Promise<void>;
    relayout(place: HTMLElement, change: object): Promise<void>;
    purge(place: HTMLElement): void;
    downloadImage(place: HTMLElement, options: object): Promise<string>;
  }
  const plotly: Plotly;
  export default plotly;
}
