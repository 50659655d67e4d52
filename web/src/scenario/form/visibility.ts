/** Which fields the search and the filter leave. */

import { chosenVariant, type JsonSchema } from "../document/schema";
import { dotted, type Path, valueAt } from "../document/values";
import { type Editor, isChanged } from "./editor-context";

const DEEPEST = 6;

/** Whether the field at `path`, or one inside it, is to be shown. */
export function isVisible(editor: Editor, path: Path, schema: JsonSchema, found = false): boolean {
  if (editor.onlyChanged && !isChanged(editor, path)) return false;
  return editor.search === "" || found || matches(editor, path, schema) || matchesInside(editor, path, schema, 0);
}

/** Whether the field itself is what was searched for; then all its parts are shown. */
export function matches(editor: Editor, path: Path, schema: JsonSchema): boolean {
  if (editor.search === "") return false;
  const value = valueAt(editor.value, path);
  const text = `${dotted(path)} ${editor.reader.field(schema).description} ${value?.kind === "scalar" ? value.text : ""}`;
  const low = text.toLowerCase();
  return editor.search.split(/\s+/).every((word) => low.includes(word));
}

function matchesInside(editor: Editor, path: Path, schema: JsonSchema, depth: number): boolean {
  if (depth > DEEPEST) return false;
  const value = valueAt(editor.value, path);
  const { variants } = editor.reader.field(schema);
  const shape = variants[chosenVariant(variants, value)]?.shape;
  if (shape?.kind === "object" && (value?.kind === "map" || depth === 0)) {
    return Object.entries(shape.properties).some(([key, part]) => inside(editor, [...path, key], part, depth));
  }
  if (shape?.kind === "map" && value?.kind === "map") {
    return value.entries.some(([key]) => inside(editor, [...path, key], shape.value, depth));
  }
  return false;
}

function inside(editor: Editor, path: Path, schema: JsonSchema, depth: number): boolean {
  return matches(editor, path, schema) || matchesInside(editor, path, schema, depth + 1);
}
