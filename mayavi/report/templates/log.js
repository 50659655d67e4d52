// The action log: a virtual list, of which only the visible rows are elements.
(() => {
  const rowHeight = 32;
  const noDebt = String(2n ** 256n - 1n); // the health factor of an account without debt

  function start(box) {
    const view = box.querySelector(".log-view");
    if (!view) return;
    const { words, columns, total } = Report.data.logs[box.dataset.log];
    const space = box.querySelector(".log-space");
    const detail = box.querySelector(".log-detail");
    const search = box.querySelector(".log-search");
    const status = box.querySelector(".log-status");
    const whole = box.querySelector(".log-step");
    const counted = box.querySelector(".log-count");
    const size = columns.seq.length;
    const text = (name, at) => words[columns[name][at]];
    const haystack = Array.from({ length: size }, (_, at) =>
      [columns.step[at], columns.block[at], text("agent", at), text("account", at), text("action", at), columns.call[at], text("reason", at)].join(" ").toLowerCase());
    let found = [];
    let chosen = -1;
    let step = null;

    function filter() {
      const sought = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      found = [];
      for (let at = 0; at < size; at += 1) {
        if (step !== null && columns.step[at] !== step) continue;
        if (status.value && text("status", at) !== status.value) continue;
        if (sought.every((word) => haystack[at].includes(word))) found.push(at);
      }
      chosen = -1;
      detail.hidden = true;
      whole.hidden = step === null;
      whole.textContent = step === null ? "" : `Step ${step} only: show all steps`;
      const kept = size < total ? `${size.toLocaleString("en-US")} of ${total.toLocaleString("en-US")} embedded` : `${total.toLocaleString("en-US")} in all`;
      counted.textContent = found.length === size ? kept : `${found.length.toLocaleString("en-US")} found · ${kept}`;
      space.style.height = `${found.length * rowHeight}px`;
      view.scrollTop = 0;
      show();
    }

    function show() {
      const first = Math.max(0, Math.floor(view.scrollTop / rowHeight) - 4);
      const last = Math.min(found.length, first + Math.ceil(view.clientHeight / rowHeight) + 8);
      const rows = [];
      for (let place = first; place < last; place += 1) rows.push(row(place));
      space.replaceChildren(...rows);
      if (chosen >= first && chosen < last) view.setAttribute("aria-activedescendant", `${box.id}-row-${chosen}`);
      else view.removeAttribute("aria-activedescendant");
    }

    function row(place) {
      const at = found[place];
      const state = text("status", at);
      const call = state === "success" ? columns.call[at] : `${state}: ${text("reason", at).split("\n")[0]}`;
      const element = Report.make("div", { className: "log-row", id: `${box.id}-row-${place}` },
        Report.make("span", { className: "r" }, String(columns.step[at])),
        Report.make("span", { className: "r" }, columns.block[at].toLocaleString("en-US")),
        Report.make("span", {}, text("account", at) || text("agent", at)),
        Report.make("span", { className: state }, text("action", at)),
        Report.make("span", { className: state, title: call }, call),
        Report.make("span", { className: "r" }, columns.gas[at].toLocaleString("en-US")));
      element.style.top = `${place * rowHeight}px`;
      element.setAttribute("role", "option");
      element.setAttribute("aria-posinset", String(place + 1));
      element.setAttribute("aria-setsize", String(found.length));
      element.setAttribute("aria-selected", String(place === chosen));
      element.addEventListener("click", () => { choose(place); open(); });
      return element;
    }

    function choose(place) {
      if (!found.length) return;
      chosen = Math.max(0, Math.min(found.length - 1, place));
      const top = chosen * rowHeight;
      if (top < view.scrollTop) view.scrollTop = top;
      if (top + rowHeight > view.scrollTop + view.clientHeight) view.scrollTop = top + rowHeight - view.clientHeight;
      show();
      if (!detail.hidden) open();
    }

    function open() {
      if (chosen < 0) return;
      const at = found[chosen];
      const facts = [
        ["step, block, time", `${columns.step[at]}, ${columns.block[at].toLocaleString("en-US")}, ${Report.utc(columns.timestamp[at])}`],
        ["agent", text("agent", at)], ["account", text("account", at)], ["status", text("status", at)],
        ["gas", columns.gas[at].toLocaleString("en-US")], ["number in the run", String(columns.seq[at])],
      ];
      if (text("reason", at)) facts.push(["reason", text("reason", at)]);
      const own = columns.details[at];
      const fields = own && typeof own === "object" ? own : { details: own };
      Object.entries(fields).forEach(([key, value]) => facts.push([key, value === noDebt ? "no debt" : typeof value === "string" ? value : JSON.stringify(value)]));
      const list = Report.make("dl", { className: "facts" });
      facts.forEach(([key, value]) => list.append(Report.make("dt", {}, key), Report.make("dd", { className: "num" }, value)));
      detail.replaceChildren(Report.make("h3", {}, columns.call[at] || text("action", at)), list);
      detail.hidden = false;
    }

    view.addEventListener("scroll", show, { passive: true });
    view.addEventListener("keydown", (event) => {
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -size, End: size };
      if (event.key in moves) choose(chosen + moves[event.key]);
      else if (event.key === "Enter" || event.key === " ") { if (detail.hidden) open(); else detail.hidden = true; } else return;
      event.preventDefault();
    });
    search.addEventListener("input", filter);
    status.addEventListener("change", filter);
    whole.addEventListener("click", () => { step = null; filter(); });
    new ResizeObserver(show).observe(view);
    Report.moveRow = (by) => { view.focus({ preventScroll: false }); choose(chosen + by); };
    Report.search = () => { box.scrollIntoView({ block: "nearest" }); search.focus(); };
    Report.showStep = (wanted) => { step = wanted; filter(); box.scrollIntoView({ block: "start" }); };
    filter();
  }
  document.querySelectorAll("[data-log]").forEach(start);
})();
