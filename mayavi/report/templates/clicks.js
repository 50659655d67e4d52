// A click anywhere in the plot of a chart over time chooses the step nearest to it.
(() => {
  const stillPx = 5;
  const shortMs = 600;

  function nearestStep(traces, at, axis) {
    let best;
    let distance = Infinity;
    for (const { x, customdata, visible } of traces) {
      if (!x || !customdata || visible === "legendonly") continue;
      for (let point = 0; point < x.length; point += 1) {
        const away = Math.abs(axis.d2c(x[point]) - at);
        if (Array.isArray(customdata[point]) && away < distance) [best, distance] = [customdata[point][0], away];
      }
    }
    return best;
  }

  Report.listenForSteps = (plot) => plot.addEventListener("pointerdown", (down) => {
    const { xaxis, yaxis } = plot._fullLayout || {};
    if (!xaxis || !yaxis || down.button !== 0) return;
    const frame = plot.getBoundingClientRect();
    const x = down.clientX - frame.left - xaxis._offset;
    const y = down.clientY - frame.top - yaxis._offset;
    if (x < 0 || x > xaxis._length || y < 0 || y > yaxis._length) return;
    // Plotly covers the page while the button is down, and a drag zooms.
    const release = (up) => {
      window.removeEventListener("pointerup", release, true);
      window.removeEventListener("pointercancel", release, true);
      const moved = Math.hypot(up.clientX - down.clientX, up.clientY - down.clientY);
      if (up.type !== "pointerup" || moved > stillPx || up.timeStamp - down.timeStamp > shortMs) return;
      const step = nearestStep(plot.data, xaxis.p2c(x), xaxis);
      if (step !== undefined) Report.onStep.forEach((each) => each(step, "chart"));
    };
    window.addEventListener("pointerup", release, true);
    window.addEventListener("pointercancel", release, true);
  }, true);
})();
