"use strict";
// Theme: that of the system, light or dark; and the values of colour tokens for charts.
const Report = { data: JSON.parse(document.getElementById("data").textContent), onTheme: [], onStep: [] };
// Long lists stand in `lists` once; `{ $: n }` is the n-th.
Report.resolve = (value) => {
  if (Array.isArray(value)) return value.map(Report.resolve);
  if (!value || typeof value !== "object") return value;
  if (value.$ !== undefined) return Report.data.lists[value.$];
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, Report.resolve(each)]));
};

(() => {
  const root = document.documentElement;
  const names = ["system", "light", "dark"];
  const button = document.getElementById("theme-button");
  const label = document.getElementById("theme-name");
  const printed = location.hash === "#pdf";
  if (printed) root.dataset.pdf = "yes"; // as wide as the paper from the start
  let theme = "system";
  try { theme = localStorage.getItem("mayavi-theme") || "system"; } catch (error) { /* storage is off */ }

  function apply(next) {
    theme = printed ? "light" : names.includes(next) ? next : "system";
    if (theme === "system") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", theme);
    label.textContent = `Theme: ${theme}`;
    Report.onTheme.forEach((each) => each());
  }
  Report.nextTheme = () => {
    apply(names[(names.indexOf(theme) + 1) % names.length]);
    try { localStorage.setItem("mayavi-theme", theme); } catch (error) { /* storage is off */ }
  };
  button.addEventListener("click", Report.nextTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(theme));
  apply(theme);

  // `$1` is the first colour, `$1/20` the same with 20 % opacity, `$ink` the colour of text.
  Report.colours = (printing) => {
    const style = getComputedStyle(root);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    const light = { c1: "#0072b2", c2: "#c44e00", c3: "#00785a", c4: "#a9467f", c5: "#8f6200", paper: "#ffffff", ink: "#16191d", muted: "#545b64", grid: "#e7e9ec", axis: "#b6bcc4", h0: "#f3f6f9", h1: "#0072b2", neg: "#c44e00" };
    const colour = (name) => (printing ? light[name] : read(name)) || read(name);
    return (token) => {
      if (token === "$scale") return [[0, colour("h0")], [1, colour("h1")]];
      if (token === "$diverging") return [[0, colour("neg")], [0.5, colour("h0")], [1, colour("h1")]];
      const [name, opacity] = token.slice(1).split("/");
      const found = colour(/^[0-9]$/.test(name) ? `c${name}` : name);
      return opacity === undefined ? found : found + Math.round(Number(opacity) * 2.55).toString(16).padStart(2, "0");
    };
  };
  Report.say = (text) => { document.getElementById("announce").textContent = text; };
})();

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) { // pages opened from a file have no clipboard in some browsers
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  Report.say(`Copied: ${text}`);
});
