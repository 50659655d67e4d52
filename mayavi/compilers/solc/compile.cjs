// Compile Solidity: read {solc, input, root} as JSON from standard input, print {output, read, version}.
// `input` is solc's standard JSON, `root` the project's folder, in which imported names are looked up. `read` maps each
// imported name to the file that was read for it. `version` is the lowest version of the compiler that all sources
// allow, where they do not allow this one.
"use strict";
const fs = require("fs");
const path = require("path");

const { solc, input, root } = JSON.parse(fs.readFileSync(0, "utf8"));
const compiler = require(solc);
const read = {};

// A library may keep its sources below src/ or contracts/, as Foundry's do.
function candidates(name) {
  const [first, ...rest] = name.split("/");
  const below = rest.join("/");
  const places = [name, path.join("node_modules", name), path.join("lib", name)];
  for (const folder of ["src", "contracts"]) places.push(path.join("lib", first, folder, below));
  const found = places.map((place) => path.resolve(root, place));
  for (let folder = path.dirname(root); ; folder = path.dirname(folder)) {
    found.push(path.join(folder, "node_modules", name));
    if (folder === path.dirname(folder)) break;
  }
  return found;
}

function find(name) {
  if (path.isAbsolute(name) || name.split("/").includes("..")) {
    return { error: `'${name}' is outside of the project` };
  }
  for (const file of candidates(name)) {
    if (fs.existsSync(file) && fs.statSync(file).isFile()) {
      read[name] = file;
      return { contents: fs.readFileSync(file, "utf8") };
    }
  }
  return { error: `'${name}' is neither in the project nor in its node_modules or lib` };
}

const output = JSON.parse(compiler.compile(JSON.stringify(input), { import: find }));

// Every version of the compiler that may exist, lowest first.
function* versions() {
  for (const minor of [5, 6, 7, 8]) for (let patch = 0; patch < 60; patch++) yield `0.${minor}.${patch}`;
}

function lowest() {
  const semver = require(require.resolve("semver", { paths: [solc] }));
  const texts = Object.values(input.sources).map((source) => source.content);
  texts.push(...Object.values(read).map((file) => fs.readFileSync(file, "utf8")));
  const ranges = texts.flatMap((text) => [...text.matchAll(/pragma\s+solidity\s+([^;]+);/g)].map((match) => match[1]));
  for (const version of versions()) {
    if (ranges.every((range) => semver.satisfies(version, range))) return version;
  }
  return null;
}

const refused = (output.errors || []).some((error) => error.errorCode === "5333");
process.stdout.write(JSON.stringify({ output, read, version: refused ? lowest() : undefined }));
