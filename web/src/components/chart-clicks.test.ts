import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestStep } from "./chart-clicks";

const traces = [
  { x: [0, 10, 20], customdata: [[-1], [0], [1]] },
  { x: [10, 30], customdata: [[0], [2]] },
  { x: [14], customdata: [[9]], visible: "legendonly" },
  { x: [15] },
];

test("a click chooses the nearest step, however far its point is", () => {
  const number = (value: unknown) => Number(value);
  assert.equal(nearestStep(traces, 14, number), 0);
  assert.equal(nearestStep(traces, 16, number), 1);
  assert.equal(nearestStep(traces, -1000, number), -1);
  assert.equal(nearestStep(traces, 1000, number), 2);
});

test("dates are compared as moments", () => {
  const dates = [{ x: ["2024-01-01", "2024-01-02"], customdata: [[3], [4]] }];
  const moment = (value: unknown) => Date.parse(String(value));
  assert.equal(nearestStep(dates, Date.parse("2024-01-01T13:00:00Z"), moment), 4);
});

test("a chart whose points name no step gives none", () => {
  assert.equal(nearestStep([{ x: [1, 2] }], 1, Number), undefined);
});
