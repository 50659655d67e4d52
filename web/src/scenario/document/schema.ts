/** JSON Schema of scenarios, read as fields that a form can draw. */

import { childOf, type Path, type Value, type Written } from "./values";

export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  title?: string;
  description?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  discriminator?: { propertyName: string; mapping?: Record<string, string> };
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  patternProperties?: Record<string, JsonSchema>;
  propertyNames?: { enum?: string[] };
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMaximum?: number;
  pattern?: string;
}

/** One way in which a value can be written. */
export type Shape =
  | { kind: "scalar"; input: "integer" | "number" | "text"; options?: string[]; minimum?: number; maximum?: number }
  | { kind: "choice"; options: string[] }
  | { kind: "boolean" }
  | { kind: "object"; properties: Record<string, JsonSchema>; required: string[]; tag?: string; tagValue?: string }
  | { kind: "map"; value: JsonSchema; names?: string[] }
  | { kind: "list"; item: JsonSchema; length?: number }
  | { kind: "any" };

export interface Variant {
  label: string;
  description: string;
  shape: Shape;
  /** Model behind a tag: two tags of one model mean the same. */
  model?: string;
}

export interface Field {
  variants: Variant[];
  /** Whether the value may be null. */
  nullable: boolean;
  description: string;
  default: unknown;
}

export class SchemaReader {
  private readonly known = new WeakMap<JsonSchema, Field>();

  constructor(readonly root: JsonSchema) {}

  resolve(schema: JsonSchema): JsonSchema {
    const name = schema.$ref?.replace("#/$defs/", "");
    const target = name === undefined ? undefined : this.root.$defs?.[name];
    if (!target) return schema;
    const { $ref: _, ...own } = schema;
    return { ...this.resolve(target), ...own };
  }

  /** The ways in which a value of `schema` can be written. */
  field(schema: JsonSchema): Field {
    const found = this.known.get(schema);
    if (found) return found;
    const resolved = this.resolve(schema);
    const { variants, nullable } = this.variants(resolved);
    const field: Field = {
      variants: simplestFirst(joined(variants)),
      nullable,
      description: resolved.description ?? "",
      default: resolved.default,
    };
    this.known.set(schema, field);
    return field;
  }

  /** The schema of the value at `path`, given the values around it. */
  at(root: Value | undefined, path: Path): JsonSchema | undefined {
    let schema: JsonSchema | undefined = this.root;
    let value = root;
    for (const key of path) {
      schema = schema && this.child(schema, value, key);
      value = childOf(value, key);
    }
    return schema;
  }

  private child(schema: JsonSchema, value: Value | undefined, key: string | number): JsonSchema | undefined {
    const { variants } = this.field(schema);
    const chosen = variants[chosenVariant(variants, value)];
    const candidates = chosen ? [chosen, ...variants.filter((each) => each !== chosen)] : variants;
    for (const { shape } of candidates) {
      const found = childSchema(shape, key);
      if (found) return found;
    }
    return undefined;
  }

  private variants(schema: JsonSchema): { variants: Variant[]; nullable: boolean } {
    const { discriminator } = schema;
    if (discriminator?.mapping) {
      const tag = discriminator.propertyName;
      const variants = Object.entries(discriminator.mapping).map(([label, $ref]) => {
        const model = this.resolve({ $ref });
        return { label, description: model.description ?? "", shape: objectShape(model, tag, label), model: $ref };
      });
      return { variants, nullable: false };
    }
    const options = schema.anyOf ?? schema.oneOf;
    if (options) {
      const all = options.map((option) => this.variants(this.resolve(option)));
      return {
        variants: all.flatMap((each) => each.variants),
        nullable: all.some((each) => each.nullable),
      };
    }
    if (schema.type === "null") return { variants: [], nullable: true };
    return { variants: [this.variant(schema)], nullable: Array.isArray(schema.type) && schema.type.includes("null") };
  }

  private variant(schema: JsonSchema): Variant {
    const description = schema.description ?? "";
    if (schema.enum)
      return { label: "choice", description, shape: { kind: "choice", options: schema.enum.map(String) } };
    if (schema.const !== undefined) {
      return { label: "value", description, shape: { kind: "scalar", input: "text", options: [String(schema.const)] } };
    }
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    if (schema.properties && schema.additionalProperties === false) {
      const only = schema.required?.length === 1 ? schema.required[0] : undefined;
      const label = only && Object.keys(schema.properties).length === 1 ? only : (schema.title ?? "mapping");
      return { label, description, shape: objectShape(schema) };
    }
    const value = mapValue(schema);
    if (value)
      return { label: "by name", description, shape: { kind: "map", value, names: schema.propertyNames?.enum } };
    if (types.includes("array") && schema.items) {
      const length = schema.minItems !== undefined && schema.minItems === schema.maxItems ? schema.minItems : undefined;
      return { label: "list", description, shape: { kind: "list", item: schema.items, length } };
    }
    if (types.includes("boolean")) return { label: "boolean", description, shape: { kind: "boolean" } };
    const input = types.includes("integer") ? "integer" : types.includes("number") ? "number" : "text";
    if (input === "text" && !types.includes("string")) return { label: "YAML", description, shape: { kind: "any" } };
    const maximum = schema.maximum ?? (schema.exclusiveMaximum === undefined ? undefined : schema.exclusiveMaximum - 1);
    return { label: "value", description, shape: { kind: "scalar", input, minimum: schema.minimum, maximum } };
  }
}

function objectShape(schema: JsonSchema, tag?: string, tagValue?: string): Shape {
  return { kind: "object", properties: schema.properties ?? {}, required: schema.required ?? [], tag, tagValue };
}

function mapValue(schema: JsonSchema): JsonSchema | undefined {
  if (schema.patternProperties) return Object.values(schema.patternProperties)[0];
  if (typeof schema.additionalProperties === "object") return schema.additionalProperties;
  return undefined;
}

/** Merge numbers and texts into one scalar: the text of an input holds either. */
function joined(variants: Variant[]): Variant[] {
  const scalars = variants.filter((each) => each.shape.kind === "scalar");
  if (scalars.length < 2) return variants;
  const inputs = scalars.map((each) => (each.shape.kind === "scalar" ? each.shape.input : "text"));
  const options = scalars.flatMap((each) => (each.shape.kind === "scalar" ? (each.shape.options ?? []) : []));
  const input = inputs.includes("number") || inputs.includes("integer") ? "number" : "text";
  const whole: Variant = { label: "value", description: "", shape: { kind: "scalar", input, options } };
  const first = variants.findIndex((each) => each.shape.kind === "scalar");
  return variants.flatMap((each, index) => (index === first ? [whole] : each.shape.kind === "scalar" ? [] : [each]));
}

function simplestFirst(variants: Variant[]): Variant[] {
  const simple = (each: Variant) => ["scalar", "choice", "boolean"].includes(each.shape.kind);
  return [...variants.filter(simple), ...variants.filter((each) => !simple(each))];
}

/**
 * The schema without the values of a scenario.
 *
 * The service gives the schema of a scenario with its values as defaults. The form shows the values of the text instead,
 * and of the schema what holds where the text says nothing.
 */
export function withoutValues(schema: JsonSchema, values: Value | undefined): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  for (const [key, part] of Object.entries(schema.properties ?? {})) {
    if (childOf(values, key) === undefined) {
      properties[key] = part;
      continue;
    }
    const { default: _, properties: filled, ...rest } = part;
    const model = filled && part.title !== undefined && schema.$defs?.[part.title] !== undefined;
    if (model) properties[key] = { $ref: `#/$defs/${part.title}`, description: part.description };
    else
      properties[key] = mapValue(rest) || rest.anyOf || rest.oneOf || !filled ? rest : { ...rest, properties: filled };
  }
  return { ...schema, properties };
}

export function childSchema(shape: Shape, key: string | number): JsonSchema | undefined {
  if (shape.kind === "object") return shape.properties[String(key)];
  if (shape.kind === "map") return shape.value;
  if (shape.kind === "list") return shape.item;
  return undefined;
}

/** Index of the variant that `value` is written in; the first if there is no value. */
export function chosenVariant(variants: Variant[], value: Value | undefined): number {
  if (!value || (value.kind === "scalar" && value.isNull)) return 0;
  const fits = variants.map(({ shape }) => fit(shape, value));
  const best = Math.max(...fits);
  return best > 0 ? fits.indexOf(best) : -1;
}

function fit(shape: Shape, value: Value): number {
  if (value.kind === "scalar") {
    if (shape.kind === "choice") return shape.options.includes(value.text) ? 3 : 1;
    return shape.kind === "scalar" || shape.kind === "boolean" ? 2 : shape.kind === "any" ? 1 : 0;
  }
  if (value.kind === "list") return shape.kind === "list" ? 2 : shape.kind === "any" ? 1 : 0;
  if (shape.kind === "map") return 1;
  if (shape.kind !== "object") return shape.kind === "any" ? 1 : 0;
  if (shape.tag) {
    const tag = childOf(value, shape.tag);
    return tag?.kind === "scalar" && tag.text === shape.tagValue ? 3 : 0;
  }
  const keys = value.entries.map(([key]) => key);
  return shape.required.every((key) => keys.includes(key)) ? 2 : 0.5;
}

/** The variants to offer: of two names for one model only the second, unless the first is in use. */
export function offered(variants: Variant[], chosen: number): number[] {
  const all = variants.map((_, index) => index);
  return all.filter((index) => {
    const { model } = variants[index] as Variant;
    if (index === chosen || model === undefined) return true;
    const others = all.filter((each) => each !== index && variants[each]?.model === model);
    return !others.some((each) => each === chosen || each > index);
  });
}

/** A value to begin with: required keys, and what `old` has in common with it. */
export function starter(reader: SchemaReader, shape: Shape, old?: Value): Written {
  if (shape.kind === "choice") return shape.options[0] ?? null;
  if (shape.kind === "boolean") return "false";
  if (shape.kind === "scalar") return shape.options?.[0] ?? null;
  if (shape.kind === "list") return Array.from({ length: shape.length ?? 0 }, () => null);
  if (shape.kind !== "object") return {};
  const made: Record<string, Written> = {};
  for (const key of [...(shape.tag ? [shape.tag] : []), ...shape.required]) {
    const schema = shape.properties[key];
    if (key === shape.tag) made[key] = shape.tagValue ?? null;
    else if (schema) {
      const first = reader.field(schema).variants[0];
      const kept = childOf(old, key);
      made[key] = kept ? toWritten(kept) : first ? starter(reader, first.shape) : null;
    }
  }
  if (old?.kind === "map") {
    for (const [key, value] of old.entries) if (key in shape.properties && !(key in made)) made[key] = toWritten(value);
  }
  return made;
}

function toWritten(value: Value): Written {
  if (value.kind === "scalar") return value.isNull ? null : value.text;
  if (value.kind === "list") return value.items.map(toWritten);
  return Object.fromEntries(value.entries.map(([key, each]) => [key, toWritten(each)]));
}

/** A default of the schema as an input would show it; empty for none. */
export function shownDefault(value: unknown): string {
  if (value === undefined || value === null || value === "") return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
