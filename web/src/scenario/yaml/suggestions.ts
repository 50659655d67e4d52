/** What the schema allows at the cursor, and what it says about a key. */

import { flowText } from "../document/flow";
import type { Cursor } from "../document/locate";
import { chosenVariant, offered, type SchemaReader, shownDefault, starter, type Variant } from "../document/schema";
import { type Path, toValue, type Value, valueAt } from "../document/values";

export interface Suggestion {
  label: string;
  insert: string;
  detail: string;
  info: string;
  kind: "key" | "value";
}

export function suggestionsAt(reader: SchemaReader, root: Value, cursor: Cursor): Suggestion[] {
  return cursor.kind === "key" ? keysAt(reader, root, cursor) : valuesAt(reader, root, cursor);
}

function variantsAt(reader: SchemaReader, root: Value, path: Path): Variant[] {
  const schema = reader.at(root, path);
  return schema ? reader.field(schema).variants : [];
}

function keysAt(reader: SchemaReader, root: Value, { path }: Cursor): Suggestion[] {
  const value = valueAt(root, path);
  const present = new Set(value?.kind === "map" ? value.entries.map(([key]) => key) : []);
  const variants = variantsAt(reader, root, path);
  const chosen = variants[chosenVariant(variants, value)];
  const found: Suggestion[] = [];
  for (const variant of chosen ? [chosen] : variants) {
    const { shape } = variant;
    if (shape.kind === "map") {
      for (const name of shape.names ?? [])
        found.push({ label: name, insert: `${name}: `, detail: "", info: "", kind: "key" });
    }
    if (shape.kind !== "object") continue;
    for (const [key, schema] of Object.entries(shape.properties)) {
      const field = reader.field(schema);
      const detail = shape.required.includes(key) ? "required" : defaultWords(field.default);
      found.push({ label: key, insert: `${key}: `, detail, info: field.description, kind: "key" });
    }
  }
  return found.filter((each) => !present.has(each.label));
}

function valuesAt(reader: SchemaReader, root: Value, { path }: Cursor): Suggestion[] {
  const tags = variantsAt(reader, root, path.slice(0, -1)).filter(
    ({ shape }) => shape.kind === "object" && shape.tag === path.at(-1),
  );
  if (tags.length > 0) return tags.map(({ label, description }) => value(label, label, "", description));
  const variants = variantsAt(reader, root, path);
  const field = reader.at(root, path);
  const standard = shownDefault(field && reader.field(field).default);
  return offered(variants, -1).flatMap((index) => {
    const { label, description, shape } = variants[index] as Variant;
    if (shape.kind === "choice")
      return shape.options.map((each) => value(each, each, each === standard ? "default" : "", ""));
    if (shape.kind === "boolean")
      return ["true", "false"].map((each) => value(each, each, each === standard ? "default" : "", ""));
    if (shape.kind === "scalar") return standard ? [value(standard, standard, "default", description)] : [];
    if (shape.kind !== "object") return [];
    const text = flowText(toValue(starter(reader, shape))).replaceAll("null", "");
    return [value(label, text, shape.tag ?? "", description)];
  });
}

function value(label: string, insert: string, detail: string, info: string): Suggestion {
  return { label, insert, detail, info, kind: "value" };
}

function defaultWords(standard: unknown): string {
  const shown = shownDefault(standard);
  return shown ? `default ${shown}` : "";
}

export interface Help {
  key: string;
  description: string;
  facts: string[];
}

/** What the schema says about the key at `path`. */
export function helpAt(reader: SchemaReader, root: Value, path: Path): Help | undefined {
  const schema = reader.at(root, path);
  if (!schema) return undefined;
  const field = reader.field(schema);
  const chosen = field.variants[chosenVariant(field.variants, valueAt(root, path))];
  const facts: string[] = [];
  if (chosen?.shape.kind === "choice") facts.push(`one of ${chosen.shape.options.join(", ")}`);
  if (chosen?.shape.kind === "scalar" && chosen.shape.minimum !== undefined) {
    const { minimum, maximum } = chosen.shape;
    facts.push(maximum === undefined ? `at least ${minimum}` : `${minimum} to ${maximum.toLocaleString("en")}`);
  }
  const standard = defaultWords(field.default);
  if (standard) facts.push(standard);
  if (field.variants.length > 1) {
    facts.push(
      `forms: ${offered(field.variants, -1)
        .map((index) => field.variants[index]?.label)
        .join(", ")}`,
    );
  }
  return { key: String(path.at(-1) ?? ""), description: field.description || (chosen?.description ?? ""), facts };
}
