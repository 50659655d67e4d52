"""Complete record of the USDC depeg: liquidations of Aave V3 Ethereum and prices of 9 to 14 March 2023."""

from __future__ import annotations

import csv
import gzip
import json
from bisect import bisect_right
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from mayavi.errors import BadSeries

FILE = "aave/aave_v3_liquidations_2023-03-09_14_excerpt.csv"
_BARS = {
    "WETH": "prices/2023-03_ETHUSDT_perp_30m.csv.gz",
    "WBTC": "prices/2023-03_BTCUSDT_perp_30m.csv.gz",
}
_INDEX = "market/usdc_depeg_15m_2023-03-09_19.json"
_BEGIN = int(datetime(2023, 3, 9, 18, 15, tzinfo=UTC).timestamp())
_STEP, _STEPS = 900, 429
_TOKENS = {
    "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599": ("WBTC", 8),
    "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2": ("WETH", 18),
    "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": ("USDC", 6),
    "0xdac17f958d2ee523a2206206994597c13d831ec7": ("USDT", 6),
    "0x6b175474e89094c44da98b954eedeac495271d0f": ("DAI", 18),
}
"""Tokens whose prices are recorded. Those of wstETH and rETH are not, and their three calls are left out."""
_THRESHOLDS = {"WETH": Decimal("0.83"), "WBTC": Decimal("0.78"), "USDC": Decimal("0.80")}
"""Liquidation thresholds of the replica."""
_HEALTH_FACTOR = Decimal("0.98")

Series = list[tuple[int, Decimal]]


def march_overrides(path: Path) -> tuple[list[str], str]:
    """Return the overrides that put the record at `path` into the scenario, and a description of it."""
    cases = path.parents[1]
    series = {symbol: _bars(cases / file) for symbol, file in _BARS.items()} | {"USDC": _index(cases / _INDEX)}
    positions, calls, names, left_out = ["account,asset,collateral,debt"], [], Counter[str](), 0
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["collateral_asset"] not in _TOKENS or row["debt_asset"] not in _TOKENS:
            left_out += 1
            continue
        (collateral, seized), (debt, repaid) = (
            (_TOKENS[row[f"{side}_asset"]][0], _whole(row[column], _TOKENS[row[f"{side}_asset"]][1]))
            for side, column in (("collateral", "collateral_amount"), ("debt", "debt_repaid"))
        )
        moment = int(datetime.fromisoformat(row["block_time"].removesuffix(" UTC") + "+00:00").timestamp())
        own = row["user"][2:8]
        names[own] += 1
        name = own if names[own] == 1 else f"{own}-{names[own]}"
        price = {each: _price(series, each, moment) for each in (collateral, debt)}
        backing = _HEALTH_FACTOR * 2 * repaid * price[debt] / (_THRESHOLDS[collateral] * price[collateral])
        positions += [f"{name},{collateral},{backing:.6f},", f"{name},{debt},,{2 * repaid:f}"]
        calls.append(
            f"{moment - _BEGIN},{row['liquidator'][2:8]},positions-{name},{collateral},{debt},{repaid:f},{seized:f}"
        )
    header = "time,liquidator,borrower,collateral,debt,repaid,seized"
    overrides = [f"steps={_STEPS}"]
    overrides += [f"prices.{symbol}.data={_text(_path(each))}" for symbol, each in series.items()]
    overrides += [f"prices.{symbol}.begin={_BEGIN}" for symbol in series]
    overrides.append(f"agents.positions.data={_text(positions)}")
    overrides.append(f"agents.liquidators.data={_text([header, *calls])}")
    return overrides, f"{len(calls)} of {len(rows)} recorded calls of '{path.name}'; {left_out} lack a price"


def _whole(text: str, decimals: int) -> Decimal:
    """Return an amount in whole tokens; the file counts every token with 18 decimals."""
    return (Decimal(text) * Decimal(10) ** (18 - decimals)).quantize(Decimal(1).scaleb(-decimals))


def _bars(path: Path) -> Series:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [(int(float(row["unix_time"])), Decimal(row["close"])) for row in csv.DictReader(file)]


def _index(path: Path) -> Series:
    found = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)["data"]
    return [(int(datetime.fromisoformat(row["dt"]).timestamp()), Decimal(row["c"])) for row in found]


def _price(series: dict[str, Series], symbol: str, moment: int) -> Decimal:
    """Return the price of the step in which `moment` lies; stablecoins other than USDC are worth a dollar."""
    if symbol not in series:
        return Decimal(1)
    step = _BEGIN + (moment - _BEGIN) // _STEP * _STEP
    at = bisect_right(series[symbol], step, key=lambda each: each[0]) - 1
    if at < 0:
        raise BadSeries(f"the price series of {symbol} begins after {moment}", "it must cover the liquidations")
    return series[symbol][at][1]


def _path(series: Series) -> list[str]:
    end = _BEGIN + (_STEPS + 4) * _STEP
    return ["time,price", *(f"{moment},{price:.8f}" for moment, price in series if _BEGIN - 7200 <= moment <= end)]


def _text(lines: list[str]) -> str:
    return json.dumps("\n".join(lines) + "\n")
