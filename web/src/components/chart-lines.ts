/** Line charts of figures that the service gives without a chart; laid out like those of the reports. */
import type { ChartBlock, TableBlock } from "../api/types";
import { formatCell } from "../lib/format";

interface Line {
  label: string;
  xs: number[];
  ys: (number | null)[];
  /** Hold a value until the next. */
  step?: boolean;
}

interface Axis {
  label: string;
  format: string;
}

interface Wanted {
  title: string;
  subtitle: string;
  x: Axis;
  y: Axis & { range?: [number, number] };
  line: Line;
  /** Horizontal lines with labels. */
  marks?: [number, string][];
  height?: number;
}

/** Make a chart of one line. A click gives the nearest x value as step. */
export function lineChart({ title, subtitle, x, y, line, marks = [], height = 280 }: Wanted): ChartBlock {
  const axis = { gridcolor: "$grid", linecolor: "$axis", zeroline: false, automargin: true };
  const named = (text: string) => ({ title: { text, standoff: 8, font: { size: 13 } } });
  const dots = line.xs.length <= 60;
  return {
    kind: "chart",
    title,
    subtitle,
    height,
    source: "",
    time: true,
    wide: true,
    traces: [
      {
        type: "scatter",
        mode: dots ? "lines+markers" : "lines",
        name: line.label,
        x: line.xs,
        y: line.ys,
        customdata: line.xs.map((each) => [each]),
        line: { color: "$1", width: 2, ...(line.step ? { shape: "hv" } : {}) },
        marker: { color: "$1", size: 6 },
        hovertemplate: `${x.label} %{x}: %{y:.4~f}<extra></extra>`,
      },
    ],
    layout: {
      font: { family: "system-ui, sans-serif", size: 13, color: "$muted" },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 8, r: 16, t: 8, b: 8 },
      showlegend: false,
      hovermode: "closest",
      dragmode: "zoom",
      hoverlabel: { bgcolor: "$paper", bordercolor: "$axis", font: { color: "$ink" } },
      xaxis: { ...axis, ...named(x.label), showgrid: false, tickformat: "d", ...wholeTicks(line.xs) },
      yaxis: { ...axis, ...named(y.label), ...(y.range ? { range: y.range } : {}) },
      shapes: marks.map(([value]) => ({
        type: "line",
        xref: "paper",
        x0: 0,
        x1: 1,
        y0: value,
        y1: value,
        line: { color: "$2", width: 1.5, dash: "dash" },
      })),
      annotations: marks.map(([value, text]) => ({
        text,
        xref: "paper",
        x: 1,
        xanchor: "right",
        y: value,
        yanchor: "bottom",
        showarrow: false,
        font: { color: "$2", size: 13 },
      })),
    },
    table: seriesTable(x, y, line),
  };
}

function wholeTicks(xs: number[]): { dtick?: number } {
  return Math.max(...xs) - Math.min(...xs) <= 12 ? { dtick: 1 } : {};
}

function seriesTable(x: Axis, y: Axis, line: Line): TableBlock {
  const data = line.xs.map((each, at) => [each, line.ys[at] ?? null]);
  const column = (axis: Axis) => ({ label: axis.label, format: axis.format, unit: "", align: "right" as const });
  return {
    kind: "table",
    title: "",
    columns: [column(x), column(y)],
    data,
    rows: data.map((row) => [formatCell(row[0], x.format), formatCell(row[1], y.format)]),
    note: "",
    command: "",
    empty: "No values.",
  };
}
