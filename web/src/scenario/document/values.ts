/** Values of a scenario as the form sees them: scalars keep the text that was written. */

export type Path = readonly (string | number)[];

export interface ScalarValue {
  kind: "scalar";
  /** The text as written, without quotes; empty for null. */
  text: string;
  /** Whether it stood in quotes or in a block, so that it is text whatever it looks like. */
  quoted: boolean;
  isNull: boolean;
}
export interface MapValue {
  kind: "map";
  entries: [string, Value][];
}
export interface ListValue {
  kind: "list";
  items: Value[];
}
export type Value = ScalarValue | MapValue | ListValue;

/** What a form writes: plain text is written as YAML would take it, null as an empty value. */
export type Written = string | null | Written[] | { [key: string]: Written };

export const NOTHING: ScalarValue = { kind: "scalar", text: "", quoted: false, isNull: true };

export function scalar(text: string): ScalarValue {
  return { kind: "scalar", text, quoted: false, isNull: false };
}

export function toValue(written: Written): Value {
  if (written === null) return NOTHING;
  if (typeof written === "string") return scalar(written);
  if (Array.isArray(written)) return { kind: "list", items: written.map(toValue) };
  return { kind: "map", entries: Object.entries(written).map(([key, each]) => [key, toValue(each)]) };
}

export function childOf(value: Value | undefined, key: string | number): Value | undefined {
  if (value?.kind === "map") return value.entries.find(([name]) => name === String(key))?.[1];
  if (value?.kind === "list") return value.items[Number(key)];
  return undefined;
}

export function valueAt(root: Value | undefined, path: Path): Value | undefined {
  return path.reduce<Value | undefined>(childOf, root);
}

/** Return `root` with the value at `path` replaced, added, or removed where `next` is undefined. */
export function withValue(root: Value | undefined, path: Path, next: Value | undefined): Value {
  const [key, ...rest] = path;
  if (key === undefined) return next ?? NOTHING;
  if (root?.kind === "list") {
    const index = Number(key);
    const items = [...root.items];
    if (rest.length === 0 && next === undefined) items.splice(index, 1);
    else items[index] = withValue(items[index], rest, next);
    return { kind: "list", items };
  }
  const entries: [string, Value][] = root?.kind === "map" ? [...root.entries] : [];
  const at = entries.findIndex(([name]) => name === String(key));
  if (rest.length === 0 && next === undefined) {
    if (at >= 0) entries.splice(at, 1);
  } else if (at >= 0) {
    entries[at] = [String(key), withValue(entries[at]?.[1], rest, next)];
  } else {
    entries.push([String(key), withValue(undefined, rest, next)]);
  }
  return { kind: "map", entries };
}

/** Whether two values mean the same: key order and underscores in numbers do not count. */
export function sameValue(one: Value | undefined, other: Value | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.kind === "scalar" && other.kind === "scalar") {
    return one.isNull === other.isNull && meaning(one) === meaning(other);
  }
  if (one.kind === "list" && other.kind === "list") {
    return (
      one.items.length === other.items.length && one.items.every((each, index) => sameValue(each, other.items[index]))
    );
  }
  if (one.kind === "map" && other.kind === "map") {
    return (
      one.entries.length === other.entries.length &&
      one.entries.every(([key, each]) => sameValue(each, childOf(other, key)))
    );
  }
  return false;
}

function meaning({ text, quoted }: ScalarValue): string {
  return !quoted && /^[-+]?[0-9._]+( *[%A-Za-z]+)?$/.test(text) ? text.replaceAll("_", "") : text;
}

/** A path as problems and `--set` write it: `agents.borrowers.count`. */
export function dotted(path: Path): string {
  return path.join(".");
}

/** A path in which keys that contain dots stand in quotes, as `--set` reads them. */
export function quotedPath(path: Path): string {
  return path.map((key) => (String(key).includes(".") ? `"${key}"` : String(key))).join(".");
}

/** Every path of `root` that holds a scalar, in order. */
export function scalarPaths(root: Value | undefined, prefix: Path = []): Path[] {
  if (root === undefined) return [];
  if (root.kind === "scalar") return [prefix];
  if (root.kind === "list") return root.items.flatMap((each, index) => scalarPaths(each, [...prefix, index]));
  return root.entries.flatMap(([key, each]) => scalarPaths(each, [...prefix, key]));
}

/** The path in `root` that `text` names, keys with dots included; undefined if there is none. */
export function findPath(root: Value | undefined, text: string): Path | undefined {
  if (text === "") return [];
  if (root === undefined || root.kind === "scalar") return undefined;
  const keys = root.kind === "map" ? root.entries.map(([key]) => key) : root.items.map((_, index) => String(index));
  for (const key of keys.sort((a, b) => b.length - a.length)) {
    for (const shown of [key, `"${key}"`]) {
      if (text !== shown && !text.startsWith(`${shown}.`)) continue;
      const step = root.kind === "list" ? Number(key) : key;
      const rest = findPath(childOf(root, step), text.slice(shown.length + 1));
      if (rest !== undefined) return [step, ...rest];
    }
  }
  return undefined;
}
