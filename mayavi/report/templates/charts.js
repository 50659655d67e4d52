// Charts: drawn by Plotly in the colours of the theme; zoomed together where x is time; table and downloads behind each.
(() => {
  const charts = Report.resolve(Report.data.charts);
  const narrow = 640;
  const printed = location.hash === "#pdf";
  let zooming = false;

  // Only values of colours are tokens: the text "$5" is five dollars.
  function coloured(value, colour, key = "") {
    if (typeof value === "string") return /color/.test(key) && /^\$[a-z0-9]+(\/\d+)?$/.test(value) ? colour(value) : value;
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map((each) => coloured(each, colour, key));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, coloured(each, colour, name)]));
    return value;
  }

  function layoutOf(chart, width, colour) {
    const layout = coloured(chart.layout, colour);
    const labels = (layout.annotations || []).filter((each) => each.name === "end-label");
    if (labels.length && layout.margin.r > width * 0.32) { // no room beside the lines: a legend above instead
      layout.annotations = layout.annotations.filter((each) => each.name !== "end-label");
      layout.showlegend = true;
      layout.margin = { ...layout.margin, r: 16 };
    }
    if (width < narrow) layout.font = { ...layout.font, size: 12 };
    return { ...layout, width, autosize: false };
  }

  function draw(figure, printing) {
    const chart = charts[figure.dataset.chart];
    const plot = figure.querySelector(".plot");
    const colour = Report.colours(printing);
    const width = printing && !printed ? 680 : Math.floor(plot.clientWidth);
    if (!width) return;
    const height = plot.clientHeight;
    const wanted = [width, height, printing, colour("$ink"), colour("$paper")].join();
    if (plot.dataset.drawn === wanted) return;
    const layout = layoutOf(chart, width, colour);
    const shown = plot.layout && plot.layout.xaxis;
    if (shown && shown.autorange === false && chart.time) layout.xaxis = { ...layout.xaxis, range: shown.range, autorange: false };
    layout.height = height;
    const options = { displayModeBar: false, responsive: false, staticPlot: printed, doubleClick: "reset" };
    Plotly.react(plot, chart.traces.map((trace) => coloured(trace, colour)), layout, options);
    plot.dataset.drawn = wanted;
    if (plot.dataset.listening) return;
    plot.dataset.listening = "yes";
    if (!chart.time) return;
    Report.listenForSteps(plot);
    plot.on("plotly_relayout", (change) => zoom(plot, change));
  }

  function zoom(from, change) {
    const range = change["xaxis.range[0]"] === undefined ? change["xaxis.range"] : [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    const whole = change["xaxis.autorange"];
    if (zooming || (!range && !whole)) return;
    zooming = true;
    const others = figures.filter((each) => charts[each.dataset.chart].time).map((each) => each.querySelector(".plot")).filter((each) => each !== from && each.layout);
    Promise.all(others.map((each) => Plotly.relayout(each, whole ? { "xaxis.autorange": true } : { "xaxis.range": range }))).finally(() => { zooming = false; });
  }

  function rowsOf(name) {
    const { data } = charts[name].table;
    return data.length ? data[0].map((_, at) => data.map((column) => column[at])) : [];
  }

  function table(name) {
    const { columns } = charts[name].table;
    const rows = rowsOf(name);
    const side = (format) => (format === "" || format === "code" || format === "address" ? "left" : "right num");
    const head = Report.make("tr", {}, ...columns.map(([label, format, unit]) => Report.make("th", { scope: "col", className: side(format) }, unit ? `${label}, ${unit}` : label)));
    const body = rows.map((row) => Report.make("tr", {}, ...row.map((value, at) => Report.make("td", { className: side(columns[at][1]) }, Report.format(value, columns[at][1])))));
    return Report.make("table", {}, Report.make("thead", {}, head), Report.make("tbody", {}, ...body));
  }

  function csv(name) {
    const { columns } = charts[name].table;
    const rows = rowsOf(name);
    const quoted = (value) => {
      const text = value === null ? "" : String(value);
      const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // no formulas in spreadsheets
      return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    return [columns.map(([label]) => label), ...rows].map((row) => row.map(quoted).join(",")).join("\r\n");
  }

  const figures = [...document.querySelectorAll("[data-chart]")];
  const all = (printing) => figures.forEach((figure) => draw(figure, printing));
  figures.forEach((figure) => {
    const name = figure.dataset.chart;
    const details = figure.querySelector("details");
    details.addEventListener("toggle", () => {
      const place = details.querySelector(".scroll");
      if (details.open && !place.firstChild) place.append(table(name));
    });
    details.querySelector("[data-csv]").addEventListener("click", () => Report.download(`${name}.csv`, csv(name), "text/csv"));
    details.querySelector("[data-png]").addEventListener("click", () => {
      const plot = figure.querySelector(".plot");
      Plotly.downloadImage(plot, { format: "png", filename: name, width: plot.clientWidth, height: plot.clientHeight, scale: 2 });
    });
  });
  if (window.Plotly) {
    all(printed);
    document.documentElement.dataset.drawn = "yes";
    Report.onTheme.push(() => all(printed));
    let waiting = 0;
    let last = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth === last) return;
      last = window.innerWidth;
      clearTimeout(waiting);
      waiting = setTimeout(() => all(printed), 120);
    });
    window.addEventListener("beforeprint", () => all(true));
    window.addEventListener("afterprint", () => all(printed));
  } else {
    document.documentElement.dataset.drawn = "yes";
  }
})();
