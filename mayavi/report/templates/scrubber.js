// The block slider: figures of the chosen step, and a way to its actions.
(() => {
  document.querySelectorAll("[data-scrubber]").forEach((box) => {
    const data = Report.data.scrubbers[box.dataset.scrubber];
    const range = box.querySelector(".scrub-range");
    const where = box.querySelector(".scrub-where");
    const figures = box.querySelector(".scrub-figures");
    const filter = box.querySelector(".scrub-filter");
    const cells = data.figures.map(([label, format]) => {
      const value = Report.make("dd", {});
      figures.append(Report.make("div", {}, Report.make("dt", {}, label), value));
      return [value, format];
    });
    filter.hidden = !Report.showStep;

    function show() {
      const at = Number(range.value);
      const step = data.steps[at];
      const label = step < 0 ? "Before the first step" : `Step ${step}`;
      const actions = data.actions.length ? ` · ${data.actions[at].toLocaleString("en-US")} actions, ${data.failed[at].toLocaleString("en-US")} failed` : "";
      where.textContent = `${label} · block ${data.blocks[at].toLocaleString("en-US")} · ${Report.utc(data.timestamps[at])}${actions}`;
      range.setAttribute("aria-valuetext", where.textContent);
      cells.forEach(([cell, format], index) => { cell.textContent = Report.format(data.figures[index][2][at], format); });
    }
    function move(by) { range.value = String(Number(range.value) + by); show(); }

    range.addEventListener("input", show);
    box.querySelector(".scrub-back").addEventListener("click", () => move(-1));
    box.querySelector(".scrub-on").addEventListener("click", () => move(1));
    filter.addEventListener("click", () => Report.showStep(data.steps[Number(range.value)]));
    Report.onStep.push((step) => {
      const at = data.steps.findLastIndex((each) => each <= step);
      range.value = String(Math.max(0, at));
      show();
      box.scrollIntoView({ block: "nearest" });
    });
    show();
  });
})();
