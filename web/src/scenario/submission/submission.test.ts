import assert from "node:assert/strict";
import { test } from "node:test";
import { submissionOf } from "../document/changes";
import { parse } from "../document/document";
import { axisProblem, countRuns, countSeeds, gridOf, splitValues } from "../sweep/grid";

const BASE = "name: x\nchain: base\nchains: [base]\nsteps: 4\nagents:\n  one: {kind: borrower, capital: {USDC: 1}}\n";

function submitted(text: string) {
  return submissionOf("x", parse(BASE).value, text, parse(text).value);
}

test("changes of a library scenario are sent as overrides, keys with dots in quotes", () => {
  const text = `${BASE.replace("steps: 4", "steps: 9").replace("USDC: 1", "USDC: 1, USDC.e: 2")}seed: 7\n`;
  assert.deepEqual(submitted(text), {
    scenario: "x",
    steps: 9,
    seed: 7,
    overrides: { 'agents.one.capital."USDC.e"': "2" },
  });
  assert.deepEqual(submitted(BASE.replace("steps: 4", "steps: 4   # same")), { scenario: "x" });
});

test("another kind replaces the agent whole", () => {
  const text = BASE.replace("{kind: borrower, capital: {USDC: 1}}", "{kind: liquidator}");
  assert.deepEqual(submitted(text), { scenario: "x", overrides: { "agents.one": "{kind: liquidator}" } });
});

test("a removed key, a new name or a text of one's own is sent as YAML", () => {
  const removed = BASE.replace(", capital: {USDC: 1}", "");
  assert.deepEqual(submitted(removed), { yaml: removed });
  const renamed = BASE.replace("name: x", "name: y");
  assert.deepEqual(submitted(renamed), { yaml: renamed });
  assert.deepEqual(submissionOf(undefined, undefined, BASE, parse(BASE).value), { yaml: BASE });
});

test("seeds and grids count their runs", () => {
  assert.equal(countSeeds("0:10, 50"), 11);
  assert.equal(countSeeds("5:5"), undefined);
  assert.equal(countSeeds("a"), undefined);
  const axes = [{ key: "a", values: "1, {b: [1, 2]}, 'x,y'" }];
  assert.deepEqual(splitValues(axes[0]?.values ?? ""), ["1", "{b: [1, 2]}", "'x,y'"]);
  assert.equal(countRuns("0:10", axes), 30);
  assert.deepEqual(gridOf([...axes, { key: "", values: "" }]), { a: ["1", "{b: [1, 2]}", "'x,y'"] });
  assert.match(axisProblem({ key: "a", values: "1, 1" }, []) ?? "", /twice/);
});
