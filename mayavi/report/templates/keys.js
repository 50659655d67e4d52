// Keys of the page, the help dialog, and the mark in the contents.
(() => {
  const help = document.getElementById("help");
  document.getElementById("help-button").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    if (event.key === "?") help.showModal();
    else if (event.key === "/" && Report.search) Report.search();
    else if (event.key === "j" && Report.moveRow) Report.moveRow(1);
    else if (event.key === "k" && Report.moveRow) Report.moveRow(-1);
    else if (event.key === "t") Report.nextTheme();
    else return;
    event.preventDefault();
  });
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      links.forEach((link) => link.removeAttribute("aria-current"));
      const link = links.get(entry.target.id);
      if (link) link.setAttribute("aria-current", "true");
    });
  }, { rootMargin: "-56px 0px -70% 0px" });
  document.querySelectorAll("main > section").forEach((section) => seen.observe(section));
})();
