/** What was changed against the scenario one started from, and how to submit it. */

import { flowText } from "./flow";
import { childOf, type Path, quotedPath, sameValue, type Value } from "./values";

export interface Change {
  path: Path;
  /** Undefined if the key was removed. */
  next: Value | undefined;
}

/** The smallest changes that turn `base` into `next`: keys that were set, added or removed. */
export function changes(base: Value | undefined, next: Value | undefined, path: Path = []): Change[] {
  if (sameValue(base, next)) return [];
  if (base?.kind === "map" && next?.kind === "map" && !retagged(base, next)) {
    const removed = base.entries.filter(([key]) => childOf(next, key) === undefined);
    return [
      ...next.entries.flatMap(([key, each]) => changes(childOf(base, key), each, [...path, key])),
      ...removed.map(([key]) => ({ path: [...path, key], next: undefined })),
    ];
  }
  return [{ path, next }];
}

function retagged(base: Value, next: Value): boolean {
  return ["kind", "process"].some((tag) => !sameValue(childOf(base, tag), childOf(next, tag)));
}

export interface Submission {
  scenario?: string;
  yaml?: string;
  chain?: string;
  steps?: number;
  seed?: number;
  overrides?: Record<string, string>;
}

/** Submit a library scenario with overrides where those say it all, else the whole text. */
export function submissionOf(
  scenario: string | undefined,
  base: Value | undefined,
  text: string,
  value: Value,
): Submission {
  if (scenario === undefined || base === undefined) return wholeText(text, value);
  const found = changes(base, value);
  if (found.some((each) => each.next === undefined || each.path.length === 0 || !settable(each.path))) {
    return wholeText(text, value);
  }
  const made: Submission = { scenario };
  const overrides: Record<string, string> = {};
  for (const { path, next } of found) {
    const key = path.length === 1 ? path[0] : undefined;
    const written = next?.kind === "scalar" && !next.isNull && !next.quoted ? next.text : undefined;
    const digits = written?.replaceAll("_", "") ?? "";
    const number = /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
    if (key === "chain" && written !== undefined) made.chain = written;
    else if (key === "steps" && number !== undefined) made.steps = number;
    else if (key === "seed" && number !== undefined) made.seed = number;
    else if (next) overrides[quotedPath(path)] = flowText(next);
  }
  return Object.keys(overrides).length > 0 ? { ...made, overrides } : made;
}

function wholeText(text: string, value: Value): Submission {
  const seed = childOf(value, "seed");
  const digits = seed?.kind === "scalar" ? seed.text.replaceAll("_", "") : "";
  return /^\d{1,15}$/.test(digits) ? { yaml: text, seed: Number(digits) } : { yaml: text };
}

/** Whether `--set` can name the path: `chains` and `name` decide which document it is, and quotes end a key. */
function settable(path: Path): boolean {
  return path[0] !== "name" && path[0] !== "chains" && path.every((key) => !/["=]/.test(String(key)) && key !== "");
}
