/** Write values as YAML in one line. */

import type { ScalarValue, Value } from "./values";

const LEADING = /^[\s,[\]{}#&*!|>'"%@`]|^[-?:](\s|$)/;
const INSIDE = /: |:$| #|[\n\t\r]|\s$/;
const IN_FLOW = /[,[\]{}]/;
const NOT_TEXT =
  /^(true|false|null|~|yes|no|on|off|[-+]?[0-9][0-9_]*|[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?)$/i;

/** Whether text without quotes would be read as a number, a boolean or null. */
export function readsAsOther(text: string): boolean {
  return text === "" || NOT_TEXT.test(text);
}

/** A scalar as YAML: in quotes only where it has to be. */
export function scalarText(value: ScalarValue, inFlow = true): string {
  if (value.isNull) return inFlow ? "null" : "";
  const { text, quoted } = value;
  const plain = text !== "" && !LEADING.test(text) && !INSIDE.test(text) && !(inFlow && IN_FLOW.test(text));
  return plain && !(quoted && readsAsOther(text)) ? text : JSON.stringify(text);
}

/** A key as YAML. */
export function keyText(key: string): string {
  return LEADING.test(key) || INSIDE.test(key) || IN_FLOW.test(key) || key === "" ? JSON.stringify(key) : key;
}

/** Any value in flow style: `{process: gbm, volatility: 60%}`. */
export function flowText(value: Value): string {
  if (value.kind === "scalar") return scalarText(value);
  if (value.kind === "list") return `[${value.items.map(flowText).join(", ")}]`;
  return `{${value.entries.map(([key, each]) => `${keyText(key)}: ${flowText(each)}`).join(", ")}}`;
}

/** Any value in block style, indented by `indent`; short values and leaves stay in one line. */
export function blockText(key: string, value: Value, indent: string): string {
  const head = `${indent}${keyText(key)}:`;
  if (value.kind === "scalar" && value.text.includes("\n")) {
    const lines = value.text.replace(/\n$/, "").split("\n");
    const chomp = value.text.endsWith("\n") ? "|" : "|-";
    return `${head} ${chomp}\n${lines.map((line) => (line ? `${indent}  ${line}` : "")).join("\n")}\n`;
  }
  if (value.kind === "scalar") return `${`${head} ${scalarText(value, false)}`.trimEnd()}\n`;
  const flow = flowText(value);
  const leaves = value.kind === "list" || value.entries.every(([, each]) => each.kind !== "map");
  if (value.kind === "list" || value.entries.length === 0 || (leaves && `${head} ${flow}`.length <= 100)) {
    return `${head} ${flow}\n`;
  }
  return `${head}\n${value.entries.map(([name, each]) => blockText(name, each, `${indent}  `)).join("")}`;
}
