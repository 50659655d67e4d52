/** Where the cursor is in a YAML text, also while the text is not complete. */

import { isMap, isScalar, isSeq, type Node, type Pair } from "yaml";
import type { Parsed } from "./document";
import type { Path } from "./values";

export interface Cursor {
  /** Path of the mapping that a key would join, or of the value that is being written. */
  path: Path;
  kind: "key" | "value";
  /** Beginning of the word that is being written. */
  from: number;
  inFlow: boolean;
  /** Keys that stand in the mapping already, as far as they can be seen. */
  indent: string;
}

const KEY = /^(\s*)(?:"([^"]+)"|'([^']+)'|([^\s#'"[\]{},][^#[\]{},]*?))\s*:(?:\s|$)/;

/** What could be written at `position`; undefined inside comments and lists of texts. */
export function cursorAt(text: string, position: number): Cursor | undefined {
  const before = text.slice(0, position);
  const openers = openFlows(before);
  if (openers === undefined) return undefined;
  const [outer] = openers;
  if (outer === undefined) return blockCursor(before);
  const start = blockCursor(before.slice(0, outer));
  if (start?.kind !== "value") return undefined;
  const path: (string | number)[] = [...start.path];
  for (const [index, opener] of openers.entries()) {
    const next = openers[index + 1];
    const inside = lastItem(before.slice(opener + 1, next ?? position));
    const offset = (next ?? position) - inside.text.length;
    const pair = /^(\s*)(?:"([^"]+)"|([^\s:,"'{}[\]][^:]*?))\s*:\s*/.exec(inside.text);
    const isList = before[opener] === "[";
    if (next !== undefined) {
      if (isList) path.push(inside.index);
      else if (pair) path.push(pair[2] ?? pair[3] ?? "");
      continue;
    }
    if (isList)
      return {
        path: [...path, inside.index],
        kind: "value",
        from: offset + leading(inside.text),
        inFlow: true,
        indent: "",
      };
    if (pair) {
      const key = pair[2] ?? pair[3] ?? "";
      return { path: [...path, key], kind: "value", from: offset + pair[0].length, inFlow: true, indent: "" };
    }
    return { path, kind: "key", from: offset + leading(inside.text), inFlow: true, indent: "" };
  }
  return undefined;
}

/** Positions of brackets that are open at the end of `text`; undefined if it ends in a comment or in quotes. */
function openFlows(text: string): number[] | undefined {
  const open: number[] = [];
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] as string;
    const fresh = at === 0 || /[\s,[{:]/.test(text[at - 1] as string);
    if (quote) {
      if (letter === quote) quote = "";
      else if (letter === "\n" && open.length === 0) quote = "";
    } else if ((letter === '"' || letter === "'") && fresh) quote = letter;
    else if (letter === "#" && (at === 0 || /\s/.test(text[at - 1] as string))) {
      const end = text.indexOf("\n", at);
      if (end < 0) return undefined;
      at = end;
    } else if ((letter === "{" || letter === "[") && (open.length > 0 || fresh)) open.push(at);
    else if (letter === "}" || letter === "]") open.pop();
  }
  return quote ? undefined : open;
}

function lastItem(text: string): { text: string; index: number } {
  let depth = 0;
  let start = 0;
  let index = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === "{" || letter === "[") depth++;
    else if (letter === "}" || letter === "]") depth--;
    else if (letter === "," && depth === 0) {
      start = at + 1;
      index++;
    }
  }
  return { text: text.slice(start), index };
}

function blockCursor(before: string): Cursor | undefined {
  const lines = before.split("\n");
  const line = lines.pop() ?? "";
  const pair = KEY.exec(`${line} `);
  if (pair) {
    const indent = pair[1] ?? "";
    const key = pair[2] ?? pair[3] ?? pair[4] ?? "";
    const start = Math.min(pair[0].length, line.length);
    const after = /^\s*/.exec(line.slice(start))?.[0].length ?? 0;
    const from = before.length - line.length + start + after;
    return { path: [...parents(lines, indent.length), key], kind: "value", from, inFlow: false, indent };
  }
  if (!/^\s*[^\s:#[\]{},-]*$/.test(line)) return undefined;
  const indent = /^\s*/.exec(line)?.[0] ?? "";
  return {
    path: parents(lines, indent.length),
    kind: "key",
    from: before.length - line.length + indent.length,
    inFlow: false,
    indent,
  };
}

function parents(lines: string[], indent: number): string[] {
  const path: string[] = [];
  let limit = indent;
  for (let at = lines.length - 1; at >= 0 && limit > 0; at--) {
    const found = KEY.exec(`${lines[at]} `);
    const width = found?.[1]?.length ?? 0;
    if (!found || width >= limit || (lines[at] as string).trim().startsWith("#")) continue;
    path.unshift(found[2] ?? found[3] ?? found[4] ?? "");
    limit = width;
  }
  return path;
}

function leading(text: string): number {
  return /^\s*/.exec(text)?.[0].length ?? 0;
}

/** The path of the key or value at `position` in a text without errors, and the range of its key. */
export function pathAt(parsed: Parsed, position: number): { path: Path; from: number; to: number } | undefined {
  return search(parsed.document.contents as Node | null, position, []);
}

function search(
  node: Node | null | undefined,
  position: number,
  path: Path,
): { path: Path; from: number; to: number } | undefined {
  if (isMap(node)) {
    for (const pair of node.items as Pair[]) {
      const key = pair.key as Node | undefined;
      const name = isScalar(key) ? (key.source ?? String(key.value)) : "";
      const here = [...path, name];
      if (inside(key, position)) return { path: here, from: key?.range?.[0] ?? 0, to: key?.range?.[1] ?? 0 };
      const found = search(pair.value as Node | null, position, here);
      if (found) return found;
    }
  } else if (isSeq(node)) {
    for (const [index, each] of node.items.entries()) {
      const found = search(each as Node, position, [...path, index]);
      if (found) return found;
    }
  } else if (isScalar(node) && inside(node, position)) {
    return { path, from: node.range?.[0] ?? 0, to: node.range?.[1] ?? 0 };
  }
  return undefined;
}

function inside(node: Node | undefined, position: number): boolean {
  const range = node?.range;
  return range != null && position >= range[0] && position <= range[1];
}
