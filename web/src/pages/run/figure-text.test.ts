import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, type Figure, shown } from "./figure-text";

function figure(number: number, unit = "usd_e8", metric = "bad_debt"): Figure {
  return { subject: "borrowers", metric, value: String(number), number, unit };
}

test("a change from zero is marked as such", () => {
  assert.equal(changed(figure(15_100), 0), "from $0");
  assert.equal(changed(figure(0.031, "ray", "utilisation"), 0), "from 0\u00a0%");
});

test("other changes are shares, those of counts differences, and nothing is marked where nothing changed", () => {
  assert.equal(changed(figure(110), 100), "+10\u00a0%");
  assert.equal(changed(figure(3, "count"), 5), "−2");
  assert.equal(changed(figure(0), 0), "");
  assert.equal(changed(figure(5), undefined), "");
});

test("a health factor below one is never shown as one", () => {
  assert.equal(shown(figure(0.99996, "wad", "health_factor")), "0.9999");
  assert.equal(shown(figure(1.1277, "wad", "health_factor_lowest")), "1.1277");
  assert.equal(shown(figure(1e59, "wad", "health_factor")), "no debt");
  assert.equal(shown(figure(19, "count", "health_factor_below_1_10")), "19");
});

test("prices are written in full", () => {
  assert.equal(shown(figure(1734.84, "usd_e8", "market_price")), "$1,734.84");
  assert.equal(shown(figure(988_319)), "$988\u00a0k");
});

test("amounts of a reserve name their token", () => {
  const reserve = {
    subject: "AaveV3.USDC",
    metric: "supplied",
    value: "880053221573842",
    number: 880_053_221,
    unit: "e6",
  };
  assert.equal(shown(reserve), "880\u00a0M\u00a0USDC");
  assert.equal(shown({ ...reserve, subject: "UniswapV3.WETH/USDC.500", metric: "balance_USDC" }), "880\u00a0M");
  assert.equal(shown({ ...reserve, metric: "supply_rate", unit: "ray", number: 0.023 }), "2.3\u00a0%");
});
