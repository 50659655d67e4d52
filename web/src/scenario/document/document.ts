/**
 * A scenario as YAML text that a form can change without losing comments and spacing.
 *
 * A change is first tried as a splice of the text. The result is parsed and compared with the values that were wanted;
 * only if it differs the whole text is written anew by the YAML library, which keeps comments but not their alignment.
 */

import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, parseDocument } from "yaml";
import { blockText, flowText, keyText, scalarText } from "./flow";
import { inWords } from "./syntax";
import { childOf, NOTHING, type Path, sameValue, type Value, valueAt, withValue } from "./values";

export interface SyntaxProblem {
  message: string;
  from: number;
  to: number;
  line: number;
  column: number;
}

export interface Parsed {
  text: string;
  document: Document;
  value: Value;
  problems: SyntaxProblem[];
}

const OPTIONS = { intAsBigInt: true, uniqueKeys: true, prettyErrors: false, keepSourceTokens: false } as const;

export function parse(text: string): Parsed {
  const document = parseDocument(text, OPTIONS);
  const found = document.errors.map((error) => {
    const [from, to] = error.pos;
    const before = text.slice(0, from).split("\n");
    return {
      message: inWords(error.code, error.message),
      from,
      to: Math.max(to, from),
      line: before.length,
      column: (before.at(-1)?.length ?? 0) + 1,
    };
  });
  // What the parser says of the rest of a line that it could not read helps nobody.
  const problems = found.filter(({ line }, at) => found.findIndex((each) => each.line === line) === at);
  const value = problems.length > 0 ? NOTHING : toPlain(document, document.contents as Node | null, 0);
  if (problems.length === 0 && text.trim() !== "" && value.kind !== "map" && !isEmpty(value)) {
    problems.push({
      message: "a scenario is a mapping of keys to values",
      from: 0,
      to: text.length,
      line: 1,
      column: 1,
    });
  }
  return { text, document, value, problems };
}

function isEmpty(value: Value): boolean {
  return value.kind === "scalar" && value.isNull;
}

function toPlain(document: Document, node: Node | null | undefined, depth: number): Value {
  if (node == null || depth > 64) return NOTHING;
  if (isAlias(node)) return toPlain(document, node.resolve(document) ?? null, depth + 1);
  if (isMap(node)) {
    return {
      kind: "map",
      entries: node.items.map((pair) => [keyOf(pair), toPlain(document, pair.value as Node | null, depth + 1)]),
    };
  }
  if (isSeq(node)) return { kind: "list", items: node.items.map((each) => toPlain(document, each as Node, depth + 1)) };
  if (!isScalar(node)) return NOTHING;
  const quoted = node.type !== undefined && node.type !== "PLAIN";
  if (node.value === null && !quoted) return NOTHING;
  const text = quoted || node.source === undefined ? String(node.value) : node.source;
  return { kind: "scalar", text, quoted, isNull: false };
}

function keyOf(pair: Pair): string {
  const key = pair.key;
  return isScalar(key) ? (key.source ?? String(key.value)) : String(key);
}

/** Return the text with the value at `path` set, or removed where `next` is undefined. */
export function change(parsed: Parsed, path: Path, next: Value | undefined): string {
  const wanted = withValue(parsed.value, path, next);
  const tries = [() => splice(parsed, path, next), () => rewrite(parsed, path, next), () => wholeText(wanted)];
  for (const attempt of tries) {
    const text = attempt();
    if (text === undefined) continue;
    const after = parse(text);
    if (after.problems.length === 0 && sameValue(after.value, wanted)) return text;
  }
  return wholeText(wanted);
}

/** Return the text with the key at the end of `path` renamed. */
export function rename(parsed: Parsed, path: Path, name: string): string {
  const pair = pairAt(parsed, path);
  const range = (pair?.key as Node | undefined)?.range;
  if (!range) return parsed.text;
  return parsed.text.slice(0, range[0]) + keyText(name) + parsed.text.slice(range[1]);
}

/** Where the value at `path` stands in the text, or its nearest parent; `found` is how much of the path exists. */
export function place(parsed: Parsed, path: Path): { from: number; to: number; found: number } | undefined {
  for (let length = path.length; length > 0; length--) {
    const pair = pairAt(parsed, path.slice(0, length));
    const key = (pair?.key as Node | undefined)?.range;
    const value = nodeAt(parsed, path.slice(0, length))?.range;
    const range = key && value && isScalar(pair?.value) ? [key[0], Math.max(value[1], key[1])] : (key ?? value);
    if (range) return { from: range[0] as number, to: range[1] as number, found: length };
  }
  return undefined;
}

function nodeAt(parsed: Parsed, path: Path): Node | undefined {
  let at = parsed.document.contents as Node | null | undefined;
  for (const key of path) {
    if (isMap(at)) at = at.items.find((pair) => keyOf(pair) === String(key))?.value as Node | undefined;
    else if (isSeq(at)) at = at.items[Number(key)] as Node | undefined;
    else return undefined;
  }
  return at ?? undefined;
}

function pairAt(parsed: Parsed, path: Path): Pair | undefined {
  const parent = nodeAt(parsed, path.slice(0, -1));
  return isMap(parent) ? parent.items.find((pair) => keyOf(pair) === String(path.at(-1))) : undefined;
}

function splice(parsed: Parsed, path: Path, next: Value | undefined): string | undefined {
  const key = path.at(-1);
  if (key === undefined) return undefined;
  const parentPath = path.slice(0, -1);
  const exists = childOf(valueAt(parsed.value, parentPath), key) !== undefined;
  if (next === undefined) return exists ? removal(parsed, path) : parsed.text;
  if (exists) return replacement(parsed, path, next);
  const above = nearestExisting(parsed, path);
  if (above.length < path.length - 1) {
    // The parents are missing as well: add them with the value inside.
    const missing = withValue(undefined, path.slice(above.length + 1), next);
    return addition(parsed, path.slice(0, above.length + 1), missing);
  }
  return addition(parsed, path, next);
}

function nearestExisting(parsed: Parsed, path: Path): Path {
  let length = path.length - 1;
  while (length > 0 && valueAt(parsed.value, path.slice(0, length)) === undefined) length--;
  return path.slice(0, length);
}

function replacement(parsed: Parsed, path: Path, next: Value): string | undefined {
  const { text } = parsed;
  const node = nodeAt(parsed, path);
  const pair = pairAt(parsed, path);
  if (isAlias(node)) return undefined;
  const inFlow = flowAround(parsed, path.slice(0, -1));
  const multiline = next.kind === "scalar" && next.text.includes("\n");
  const key = (pair?.key as Node | undefined)?.range;
  const range = node?.range;
  if (multiline && inFlow) return undefined;
  const written = next.kind === "scalar" ? scalarText(next, inFlow) : flowText(next);
  const isBlock = (isMap(node) || isSeq(node)) && node.flow !== true;
  const isBlockScalar = isScalar(node) && (node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED");
  if (!multiline && range && !isBlock && !isBlockScalar) {
    const before = text.slice(0, range[0]);
    const gap = before.endsWith(":") ? " " : "";
    return before + gap + written + text.slice(range[1]);
  }
  if (!key) return undefined;
  // A block below its key: write the whole pair anew in its place.
  const from = lineStart(text, key[0]);
  const indent = text.slice(from, key[0]);
  if (indent.trim() !== "") return undefined;
  const end = range ? blockEnd(text, range[1], range[2]) : text.indexOf("\n", key[1]) + 1;
  return text.slice(0, from) + blockText(String(path.at(-1)), next, indent) + text.slice(end);
}

function addition(parsed: Parsed, path: Path, next: Value): string | undefined {
  const { text } = parsed;
  const parent = path.length === 1 ? (parsed.document.contents as Node | null) : nodeAt(parsed, path.slice(0, -1));
  const key = String(path.at(-1));
  if (parent == null) return path.length === 1 ? ensureNewline(text) + blockText(key, next, "") : undefined;
  if (isSeq(parent) && parent.flow && parent.range) {
    const at = parent.range[1] - 1;
    return text.slice(0, at).trimEnd() + (parent.items.length > 0 ? ", " : "") + flowText(next) + text.slice(at);
  }
  if (!isMap(parent) || !parent.range) return undefined;
  if (parent.flow) {
    const at = parent.range[1] - 1;
    const comma = parent.items.length > 0 ? ", " : "";
    return `${text.slice(0, at).trimEnd()}${comma}${keyText(key)}: ${flowText(next)}${text.slice(at)}`;
  }
  const last = parent.items.at(-1);
  const first = (parent.items[0]?.key as Node | undefined)?.range;
  const range = (last?.value as Node | undefined)?.range ?? (last?.key as Node | undefined)?.range;
  if (!range || !first) return undefined;
  const indent = text.slice(lineStart(text, first[0]), first[0]).replace(/[^ ]/g, " ");
  const end = blockEnd(text, range[1], range[2]);
  return ensureNewline(text.slice(0, end)) + blockText(key, next, indent) + text.slice(end);
}

function removal(parsed: Parsed, path: Path): string | undefined {
  const { text } = parsed;
  const parent = nodeAt(parsed, path.slice(0, -1));
  const pair = pairAt(parsed, path);
  const key = (pair?.key as Node | undefined)?.range;
  const range = nodeAt(parsed, path)?.range;
  if (isMap(parent) && key && !parent.flow) {
    if (parent.items.length === 1) return undefined;
    const from = lineStart(text, key[0]);
    if (text.slice(from, key[0]).trim() !== "") return undefined;
    const end = range ? blockEnd(text, range[1], range[2]) : text.indexOf("\n", key[1]) + 1 || text.length;
    return text.slice(0, from) + text.slice(end);
  }
  const start = key?.[0] ?? range?.[0];
  const stop = range?.[1] ?? key?.[1];
  if (!parent || start === undefined || stop === undefined) return undefined;
  const after = /^\s*,\s*/.exec(text.slice(stop));
  if (after) return text.slice(0, start) + text.slice(stop + after[0].length);
  return text.slice(0, start).replace(/,\s*$/, "") + text.slice(stop);
}

function rewrite(parsed: Parsed, path: Path, next: Value | undefined): string | undefined {
  try {
    const copy = parsed.document.clone();
    if (next === undefined) copy.deleteIn([...path]);
    else copy.setIn([...path], parseDocument(flowText(next), OPTIONS).contents);
    return copy.toString({ lineWidth: 0, flowCollectionPadding: false });
  } catch {
    return undefined;
  }
}

function wholeText(value: Value): string {
  return value.kind === "map" ? value.entries.map(([key, each]) => blockText(key, each, "")).join("") : "";
}

function flowAround(parsed: Parsed, path: Path): boolean {
  for (let length = path.length; length > 0; length--) {
    const node = nodeAt(parsed, path.slice(0, length));
    if ((isMap(node) || isSeq(node)) && node.flow) return true;
  }
  return false;
}

/** End of a block value with the comment on its last line; comments and blank lines below stay where they are. */
function blockEnd(text: string, valueEnd: number, nodeEnd: number): number {
  if (text[valueEnd - 1] === "\n") return valueEnd;
  const newline = text.indexOf("\n", valueEnd);
  return newline < 0 ? text.length : Math.max(newline + 1, Math.min(nodeEnd, newline + 1));
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

function ensureNewline(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
