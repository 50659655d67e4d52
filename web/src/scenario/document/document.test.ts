import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { change, parse, place, rename } from "./document";
import { sameValue, scalar, scalarPaths, toValue, type Value, withValue } from "./values";

const LIBRARY = "../mayavi/scenarios/library/";
const texts = readdirSync(LIBRARY)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => readFileSync(LIBRARY + name, "utf8"));

function comments(text: string): number {
  return text.split("#").length;
}

test("every value of every library scenario can be set, replaced by a mapping and removed", () => {
  const mapping = toValue({ a: ["1", null], b: { c: "x y" } });
  for (const text of texts) {
    const parsed = parse(text);
    for (const path of scalarPaths(parsed.value)) {
      for (const next of [scalar("-12.5%"), mapping, undefined] as (Value | undefined)[]) {
        const changed = change(parsed, path, next);
        assert.ok(
          sameValue(parse(changed).value, withValue(parsed.value, path, next)),
          `${path.join(".")}\n${changed}`,
        );
        if (next) assert.equal(comments(changed), comments(text), `comments at ${path.join(".")}`);
      }
    }
  }
});

test("setting one value leaves every other character alone", () => {
  const text = "a: 1          # one\nb: {c: 2, d: [3, 4]}   # two\n";
  assert.equal(change(parse(text), ["b", "d", 1], scalar("5")), text.replace("4", "5"));
  assert.equal(change(parse(text), ["a"], scalar("7 gwei")), text.replace("a: 1 ", "a: 7 gwei "));
});

test("missing parents are added with the value", () => {
  const changed = change(parse("a: 1\n"), ["parameters", "aave_v3.WETH", "ltv"], scalar("70%"));
  assert.equal(changed, "a: 1\nparameters:\n  aave_v3.WETH: {ltv: 70%}\n");
});

test("numbers keep every digit and underscores mean nothing", () => {
  assert.equal(
    change(parse("seed: 9223372036854775807\na: 1\n"), ["a"], scalar("2")),
    "seed: 9223372036854775807\na: 2\n",
  );
  assert.ok(sameValue(parse("a: 20_000").value, parse("a: 20000").value));
  assert.ok(!sameValue(parse("a: '20_000'").value, parse("a: 20000").value));
});

test("text that YAML would read otherwise is quoted", () => {
  assert.equal(change(parse("title: x\n"), ["title"], scalar("a: b # c")), 'title: "a: b # c"\n');
});

test("a key is renamed in place, and found with its line", () => {
  const text = "agents:\n  one: {kind: borrower}   # first\n";
  assert.equal(rename(parse(text), ["agents", "one"], "two"), text.replace("one", "two"));
  assert.equal(place(parse(text), ["agents", "one", "kind"])?.from, text.indexOf("kind"));
});

test("a text that is no YAML, or no mapping, has a problem with its line", () => {
  assert.equal(parse("a: 1\nb: [1, 2\n").problems[0]?.line, 3);
  assert.equal(parse("a: 1\na: 2\n").problems[0]?.line, 2);
  assert.match(parse("- a\n").problems[0]?.message ?? "", /mapping/);
});

test("a text that is no YAML is explained once a line, in words without the parser's", () => {
  const said: [string, string, number][] = [
    ["a: [1, 2\nb: 3\n", "a list that begins with [ before has no ] at its end", 2],
    ["a: {b: 1\nc: 2\n", "a mapping that begins with { before has no } at its end", 2],
    ["a: 1\na: 2\n", "the key is given twice", 2],
    ["a: 'x\n", "a text in quotes has no quote at its end", 2],
    ["a 1\nb: 2\n", "a colon is missing after the key", 1],
    ["a:\n\t- 1\n", "lines are indented with spaces, not with tabs", 2],
    ["a: 1\n---\nb: 2\n", "a second document begins here: remove the line ---", 2],
    ["  a: 1\n b: 2\n", "this does not belong here: check the indentation, and the line before", 2],
  ];
  for (const [text, message, line] of said)
    assert.deepEqual(
      parse(text).problems.map((each) => [each.message, each.line]),
      [[message, line]],
    );
});
