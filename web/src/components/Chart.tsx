import type { PlotElement } from "plotly.js-cartesian-dist-min";
import { createContext, type ReactNode, useContext, useEffect, useId, useMemo, useRef, useState } from "react";
import type { ChartBlock } from "../api/types";
import { csv, download, fileName } from "../lib/download";
import { useShownTheme } from "../lib/theme";
import { listenForSteps } from "./chart-clicks";
import { layoutOf, tracesOf } from "./chart-colours";
import { StaticTable } from "./StaticTable";

type PlotlyModule = typeof import("plotly.js-cartesian-dist-min")["default"];

let loading: Promise<PlotlyModule> | null = null;
function loadPlotly(): Promise<PlotlyModule> {
  loading ??= import("plotly.js-cartesian-dist-min").then((module) => module.default);
  return loading;
}

/** Charts that zoom together: those over time inside one `ChartGroup`. */
const Group = createContext<Set<PlotElement> | null>(null);

export function ChartGroup({ children }: { children: ReactNode }) {
  const plots = useMemo(() => new Set<PlotElement>(), []);
  return <Group.Provider value={plots}>{children}</Group.Provider>;
}

let zooming = false;

function zoomTogether(
  plotly: PlotlyModule,
  group: Set<PlotElement>,
  from: PlotElement,
  change: Record<string, unknown>,
) {
  const first = change["xaxis.range[0]"];
  const range = first === undefined ? change["xaxis.range"] : [first, change["xaxis.range[1]"]];
  const whole = change["xaxis.autorange"];
  if (zooming || (!range && !whole)) return;
  zooming = true;
  const others = [...group].filter((each) => each !== from && each.layout);
  const wanted = whole ? { "xaxis.autorange": true } : { "xaxis.range": range };
  void Promise.all(others.map((each) => plotly.relayout(each, wanted))).finally(() => {
    zooming = false;
  });
}

interface Props {
  chart: ChartBlock;
  /** Called with the step nearest to a click, on charts over time. */
  onStep?: (step: number) => void;
  className?: string;
}

/** A Plotly chart with its finding as title, the table behind it, and downloads. */
export function Chart({ chart, onStep, className = "" }: Props) {
  const name = useId();
  const place = useRef<HTMLDivElement>(null);
  const group = useContext(Group);
  const shown = useShownTheme();
  const [width, setWidth] = useState(0);
  const [failed, setFailed] = useState(false);
  const [opened, setOpened] = useState(false);
  const clicked = useRef(onStep);
  clicked.current = onStep;
  const leads = chart.time && onStep !== undefined;

  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const box = place.current as PlotElement | null;
    if (!box || !width) return;
    let gone = false;
    void shown; // colours are read from the style sheet, so the theme is an input
    loadPlotly().then(
      async (plotly) => {
        if (gone) return;
        const layout = layoutOf(chart, width);
        const axis = box.layout?.xaxis;
        if (chart.time && axis?.autorange === false)
          layout.xaxis = { ...(layout.xaxis as object), range: axis.range, autorange: false };
        await plotly.react(box, tracesOf(chart), layout, {
          displayModeBar: false,
          responsive: false,
          doubleClick: "reset",
        });
        if (box.dataset.listening) return;
        box.dataset.listening = "yes";
        box.dataset.drawn = "yes";
        if (chart.time && group) {
          group.add(box);
          box.on("plotly_relayout", (change: Record<string, unknown>) => zoomTogether(plotly, group, box, change));
        }
      },
      () => setFailed(true),
    );
    return () => {
      gone = true;
    };
  }, [chart, width, shown, group]);

  useEffect(() => {
    const box = place.current as PlotElement | null;
    return box && leads ? listenForSteps(box, (step) => clicked.current?.(step)) : undefined;
  }, [leads]);

  useEffect(() => {
    const box = place.current as PlotElement | null;
    return () => {
      if (!box) return;
      group?.delete(box);
      void loading?.then((plotly) => plotly.purge(box));
    };
  }, [group]);

  function savePicture() {
    const box = place.current;
    if (!box) return;
    const size = { width: box.clientWidth, height: box.clientHeight };
    void loadPlotly().then((plotly) =>
      plotly.downloadImage(box, { format: "png", filename: fileName(chart.title), scale: 2, ...size }),
    );
  }

  function saveTable() {
    const labels = chart.table.columns.map((column) =>
      column.unit ? `${column.label}, ${column.unit}` : column.label,
    );
    download(`${fileName(chart.title)}.csv`, csv(labels, chart.table.data), "text/csv");
  }

  return (
    <figure className={`chart ${chart.wide ? "wide" : ""} ${className}`} aria-labelledby={`${name}-title`}>
      <figcaption>
        <h3 id={`${name}-title`}>{chart.title}</h3>
        <p className="subtitle">{chart.subtitle}</p>
      </figcaption>
      <div
        ref={place}
        className={leads ? "plot leads" : "plot"}
        style={{ height: chart.height }}
        role="img"
        aria-label={`Chart: ${chart.title}. ${chart.subtitle} The table below has its values.`}
      />
      {failed && <p className="box bad">The chart could not be loaded. Its values are below.</p>}
      {chart.source && <p className="source">{chart.source}</p>}
      <details className="behind" onToggle={(event) => setOpened(event.currentTarget.open)}>
        <summary>
          Data<span className="sr"> of the chart «{chart.title}»</span>
        </summary>
        <p className="downloads">
          <button type="button" onClick={saveTable}>
            CSV
          </button>
          <button type="button" onClick={savePicture}>
            PNG
          </button>
        </p>
        {opened && <StaticTable table={chart.table} label={`Values of the chart «${chart.title}»`} />}
      </details>
    </figure>
  );
}
