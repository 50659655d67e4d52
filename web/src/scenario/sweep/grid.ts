/** Seeds and grid of a sweep: how they are written, and how many runs they make. */

export interface Axis {
  /** Dotted key of the scenario. */
  key: string;
  /** Values, separated by commas. */
  values: string;
}

/** Split at commas outside brackets and quotes, as `--grid` does. */
export function splitValues(text: string): string[] {
  const parts = [""];
  let depth = 0;
  let quote = "";
  for (const letter of text) {
    if (quote) quote = letter === quote ? "" : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else if ("[{(".includes(letter)) depth += 1;
    else if ("]})".includes(letter)) depth -= 1;
    if (letter === "," && !quote && depth <= 0) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((each) => each.trim()).filter((each) => each !== "");
}

/** Number of seeds that `0:100`, `1,2,5` or both name; undefined if the text names none. */
export function countSeeds(text: string): number | undefined {
  let count = 0;
  for (const part of text.split(",")) {
    const found = /^\s*(\d{1,19})\s*(?::\s*(\d{1,19})\s*)?$/.exec(part);
    if (!found) return undefined;
    const more = found[2] === undefined ? 1 : Number(found[2]) - Number(found[1]);
    if (more < 1) return undefined;
    count += more;
  }
  return count;
}

/** Number of runs; undefined while seeds are wrong. */
export function countRuns(seeds: string, axes: Axis[]): number | undefined {
  const count = countSeeds(seeds);
  if (count === undefined) return undefined;
  return axes
    .filter((axis) => axis.key.trim() !== "")
    .reduce((all, axis) => all * Math.max(1, splitValues(axis.values).length), count);
}

/** The grid as the service takes it; axes without a key or a value are left out. */
export function gridOf(axes: Axis[]): Record<string, string[]> {
  const found = axes.map(({ key, values }) => [key.trim(), splitValues(values)] as const);
  return Object.fromEntries(found.filter(([key, values]) => key !== "" && values.length > 0));
}

/** What is wrong with an axis while it is typed, besides what the service finds. */
export function axisProblem(axis: Axis, axes: Axis[]): string | undefined {
  const values = splitValues(axis.values);
  if (axis.key.trim() === "") return values.length > 0 ? "name the key that takes these values" : undefined;
  if (values.length === 0) return "give its values, separated by commas";
  if (new Set(values).size < values.length) return "a value stands here twice";
  if (axes.filter((each) => each.key.trim() === axis.key.trim()).length > 1)
    return "this key has two rows; give all of its values in one";
  return undefined;
}
