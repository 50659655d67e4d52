// Print the gzipped size of what the first page loads: the entry, its static imports, their style sheets, and the page
// of runs. Fails above the limit.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 600_000;
const folder = new URL("../../mayavi/api/dashboard/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("manifest.json", folder), "utf8"));
const files = new Set(["index.html", "theme.js", "favicon.svg"]);
const seen = new Set();

function add(name) {
  if (seen.has(name)) return;
  seen.add(name);
  const chunk = manifest[name];
  files.add(chunk.file);
  for (const style of chunk.css ?? []) files.add(style);
  for (const imported of chunk.imports ?? []) add(imported);
}

add("index.html");
add("src/pages/runs/index.tsx");
let total = 0;
for (const name of files) {
  const size = gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length;
  total += size;
  console.log(`${(size / 1000).toFixed(1).padStart(7)} kB  ${name}`);
}
console.log(`${(total / 1000).toFixed(1).padStart(7)} kB  first load, gzipped; the limit is ${LIMIT / 1000} kB`);
process.exitCode = total > LIMIT ? 1 : 0;
