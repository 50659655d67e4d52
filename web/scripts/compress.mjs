// Write a gzip and a Brotli variant beside every file of the build, which the service sends to browsers that take them.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const folder = new URL("../../mayavi/api/dashboard/", import.meta.url);
for (const name of readdirSync(folder, { recursive: true })) {
  if (!/\.(js|css|html|svg)$/.test(name)) continue;
  const body = readFileSync(new URL(name, folder));
  if (body.length < 1000) continue;
  const size = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
  writeFileSync(new URL(`${name}.gz`, folder), gzipSync(body, { level: 9 }));
  writeFileSync(new URL(`${name}.br`, folder), brotliCompressSync(body, { params: size }));
}
