/** Bundle `src/**\/*.test.ts` and run them with Node's own test runner: `node scripts/test.mjs`. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { build } from "vite";

function testsIn(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return testsIn(path);
    return name.endsWith(".test.ts") ? [path] : [];
  });
}

const input = Object.fromEntries(testsIn("src").map((path) => [relative("src", path).replaceAll("/", "-"), path]));
const outDir = mkdtempSync(join(tmpdir(), "mayavi-web-"));
try {
  await build({
    configFile: false,
    logLevel: "error",
    build: { ssr: true, outDir, minify: false, rollupOptions: { input } },
    ssr: { noExternal: true },
  });
  const files = readdirSync(outDir).filter((name) => name.includes(".test"));
  const { status } = spawnSync(process.execPath, ["--test", ...files.map((name) => join(outDir, name))], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(outDir, { recursive: true, force: true });
}
