/** Clicks anywhere in the plot of a chart over time choose the step nearest to them. */
import type { PlotElement } from "plotly.js-cartesian-dist-min";

const STILL_PX = 5;
const SHORT_MS = 600;

interface AxisOnScreen {
  _offset: number;
  _length: number;
  /** Pixels from the axis' beginning as a number: milliseconds on a date axis. */
  p2c: (pixels: number) => number;
  /** A value of the data as a number. */
  d2c: (value: unknown) => number;
}

interface Trace {
  x?: ArrayLike<unknown>;
  customdata?: ArrayLike<unknown>;
  visible?: unknown;
}

type Drawn = PlotElement & {
  _fullLayout?: { xaxis?: AxisOnScreen; yaxis?: AxisOnScreen };
  data?: Trace[];
};

/** Return the step whose x is nearest, of all points that name one; undefined if none does. */
export function nearestStep(traces: Trace[], at: number, d2c: (value: unknown) => number): number | undefined {
  let best: number | undefined;
  let distance = Number.POSITIVE_INFINITY;
  for (const { x, customdata, visible } of traces) {
    if (!x || !customdata || visible === "legendonly") continue;
    for (let point = 0; point < x.length; point += 1) {
      const named = customdata[point];
      const away = Math.abs(d2c(x[point]) - at);
      if (Array.isArray(named) && away < distance) {
        best = Number(named[0]);
        distance = away;
      }
    }
  }
  return best;
}

/** Call `onStep` for every click, but not for the drags with which Plotly zooms. Returns how to stop. */
export function listenForSteps(box: PlotElement, onStep: (step: number) => void): () => void {
  function press(down: PointerEvent) {
    const { xaxis, yaxis } = (box as Drawn)._fullLayout ?? {};
    if (!xaxis || !yaxis || down.button !== 0) return;
    const frame = box.getBoundingClientRect();
    const x = down.clientX - frame.left - xaxis._offset;
    const y = down.clientY - frame.top - yaxis._offset;
    if (x < 0 || x > xaxis._length || y < 0 || y > yaxis._length) return;
    const began = down.timeStamp;
    // Plotly covers the page while the button is down, so that the chart itself hears no click.
    const release = (up: PointerEvent) => {
      window.removeEventListener("pointercancel", release, true);
      const moved = Math.hypot(up.clientX - down.clientX, up.clientY - down.clientY);
      if (up.type !== "pointerup" || moved > STILL_PX || up.timeStamp - began > SHORT_MS) return;
      const step = nearestStep((box as Drawn).data ?? [], xaxis.p2c(x), xaxis.d2c);
      if (step !== undefined) onStep(step);
    };
    window.addEventListener("pointerup", release, { capture: true, once: true });
    window.addEventListener("pointercancel", release, { capture: true, once: true });
  }
  box.addEventListener("pointerdown", press, true);
  return () => box.removeEventListener("pointerdown", press, true);
}
