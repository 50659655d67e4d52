/** Charts in the colours of the theme and in the width there is. */
import type { ChartBlock } from "../api/types";
import { colours } from "../lib/theme";

const NARROW = 640;
const TOKEN = /^\$[a-z0-9]+(\/\d+)?$/;
type Fields = Record<string, unknown>;

/** Resolve colour tokens. Only values of colour keys are tokens: the text "$5" is five dollars. */
function coloured(value: unknown, colour: (token: string) => unknown, key = ""): unknown {
  if (typeof value === "string") return /color/.test(key) && TOKEN.test(value) ? colour(value) : value;
  if (Array.isArray(value))
    return typeof value[0] === "number" ? value : value.map((each) => coloured(each, colour, key));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, coloured(each, colour, name)]));
  return value;
}

export function tracesOf(chart: ChartBlock): unknown[] {
  const colour = colours();
  return chart.traces.map((trace) => coloured(trace, colour));
}

export function layoutOf(chart: ChartBlock, width: number): Fields {
  const layout = coloured(chart.layout, colours()) as Fields;
  const margin = (layout.margin ?? {}) as { r?: number };
  const notes = (layout.annotations ?? []) as { name?: string }[];
  if (notes.some((each) => each.name === "end-label") && (margin.r ?? 0) > width * 0.32) {
    // no room beside the lines: a legend above instead
    layout.annotations = notes.filter((each) => each.name !== "end-label");
    layout.showlegend = true;
    layout.margin = { ...margin, r: 16 };
  }
  if (width < NARROW) layout.font = { ...(layout.font as Fields), size: 12 };
  return { ...layout, width, height: chart.height, autosize: false };
}
