import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../document/document";
import { cursorAt } from "../document/locate";
import { chosenVariant, type JsonSchema, SchemaReader, starter } from "../document/schema";
import { valueAt } from "../document/values";
import { helpAt, suggestionsAt } from "./suggestions";

const SCHEMA: JsonSchema = {
  type: "object",
  additionalProperties: false,
  required: ["prices"],
  properties: {
    ordering: { enum: ["fifo", "shuffle"], default: "shuffle", description: "Order of transactions." },
    prices: {
      type: "object",
      additionalProperties: {
        discriminator: {
          propertyName: "process",
          mapping: { gbm: "#/$defs/Gbm", jump: "#/$defs/Step", step: "#/$defs/Step" },
        },
        oneOf: [{ $ref: "#/$defs/Gbm" }, { $ref: "#/$defs/Step" }],
      },
    },
  },
  $defs: {
    Gbm: {
      type: "object",
      additionalProperties: false,
      required: ["process", "volatility"],
      properties: { process: { const: "gbm" }, start: { type: "number" }, volatility: { type: "number", minimum: 0 } },
    },
    Step: {
      type: "object",
      additionalProperties: false,
      required: ["process", "at"],
      properties: { process: { enum: ["step", "jump"] }, start: { type: "number" }, at: { type: "integer" } },
    },
  },
};
const TEXT = "prices:\n  WETH: {process: gbm, volatility: 60%}\n";
const reader = new SchemaReader(SCHEMA);

function offeredAfter(before: string, after = ""): string[] {
  const cursor = cursorAt(before + after, before.length);
  return cursor ? suggestionsAt(reader, parse(TEXT).value, cursor).map(({ label }) => label) : [];
}

test("keys and values are offered where they fit, in blocks and in braces", () => {
  assert.deepEqual(offeredAfter(`${TEXT}or`), ["ordering"]);
  assert.deepEqual(offeredAfter(`${TEXT}ordering: `), ["fifo", "shuffle"]);
  assert.deepEqual(offeredAfter("prices:\n  WETH: {process: gbm, ", "volatility: 60%}\n"), ["start"]);
  assert.deepEqual(offeredAfter("prices:\n  WETH: {process: g", "}\n"), ["gbm", "jump", "step"]);
  assert.deepEqual(offeredAfter(`${TEXT}# or`), []);
});

test("of two names for one kind the second is offered", () => {
  assert.deepEqual(offeredAfter("prices:\n  USDC: "), ["gbm", "step"]);
});

test("another kind keeps what both have in common, and asks for what it requires", () => {
  const { value } = parse("prices:\n  WETH: {process: gbm, volatility: 60%, start: 5}\n");
  const schema = reader.at(value, ["prices", "WETH"]);
  assert.ok(schema);
  const { variants } = reader.field(schema);
  const old = valueAt(value, ["prices", "WETH"]);
  assert.equal(variants[chosenVariant(variants, old)]?.label, "gbm");
  const step = variants.find(({ label }) => label === "step");
  assert.ok(step);
  assert.deepEqual(starter(reader, step.shape, old), { process: "step", at: null, start: "5" });
});

test("help has the description, the choices and the default", () => {
  const help = helpAt(reader, parse(TEXT).value, ["ordering"]);
  assert.equal(help?.description, "Order of transactions.");
  assert.deepEqual(help?.facts, ["one of fifo, shuffle", "default shuffle"]);
});
