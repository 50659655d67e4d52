// Set the chosen theme before the first paint. A file of its own, since the content security policy forbids inline scripts.
try {
  const theme = localStorage.getItem("mayavi-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // storage is off: the theme of the system stays
}
