"""Replay quotes recorded on chain against pools rebuilt offline; answers must match to the last unit.

A folder holds JSON files of two kinds. A pool: its state at a block (`tick_data` makes it Uniswap V3, `a_coefficient`
Curve). Quotes: `entries` maps `pool|function|SOLD->BOUGHT|amount` to `{"value": answer}`, a null value if the chain
reverted. They are matched by pool address and block.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import ExecutionError, MayaviError, UsageError
from mayavi.evm.address import checksum
from mayavi.evm.rpc.answers import BadValue, fields
from mayavi.protocols.curve.pool import CurveStableSwap
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.replay.case import CaseError
from mayavi.replay.recorded_pool import Recorded, rebuild_curve_pool, rebuild_uniswap_pool

LOWEST_ROOT, HIGHEST_ROOT = 4295128740, 1461446703485210103287273052203988822378723970341
"""Widest price limits of a swap: with them a pool fills a too large order partially instead of reverting."""

Ask = Callable[[str, str, str, int], int]
"""Function that asks a pool for (function, sold, bought, amount)."""


@dataclass(frozen=True, slots=True)
class QuoteDifference:
    """Quote that differs; None stands for a revert."""

    quote: str
    expected: int | None
    got: int | None

    def __str__(self) -> str:
        expected, got = ("a revert" if value is None else value for value in (self.expected, self.got))
        return f"{self.quote}: expected {expected}, got {got}"


@dataclass(frozen=True, slots=True)
class PoolReport:
    """Report of one pool at one block. `problem` says why its quotes could not be asked."""

    pool: str
    name: str
    protocol: str
    block: int
    quotes: int
    exact_quotes: int
    first_difference: QuoteDifference | None
    problem: str | None = None

    @property
    def exact(self) -> bool:
        """Whether every quote matches the chain."""
        return self.problem is None and self.quotes == self.exact_quotes


@dataclass(frozen=True, slots=True)
class QuotesReport:
    """Reports of all pools of a folder."""

    pools: tuple[PoolReport, ...]

    @property
    def exact(self) -> bool:
        """Whether every quote of every pool matches the chain."""
        return all(pool.exact for pool in self.pools)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data; amounts are text."""
        return {
            "pools": len(self.pools),
            "exact_pools": sum(pool.exact for pool in self.pools),
            "quotes": sum(pool.quotes for pool in self.pools),
            "exact_quotes": sum(pool.exact_quotes for pool in self.pools),
            "details": [_object(pool) for pool in self.pools],
        }


def validate_quotes(folder: Path, progress: Callable[[int, int], None] | None = None) -> QuotesReport:
    """Ask every recorded quote of `folder` again; `progress(done, total)` counts pools."""
    pools, quotes = _read(folder)
    reports = []
    for done, (key, entries) in enumerate(sorted(quotes.items())):
        if progress:
            progress(done, len(quotes))
        if key not in pools:
            address, block = key
            raise CaseError(f"'{folder}' has quotes of {address} at block {block} and no file of that pool")
        reports.append(_report(pools[key], *key, entries))
    if progress:
        progress(len(quotes), len(quotes))
    return QuotesReport(tuple(reports))


def _report(recorded: Recorded, address: str, block: int, entries: dict[str, int | None]) -> PoolReport:
    protocol = "Uniswap V3" if "tick_data" in recorded else "Curve"
    name = str(recorded.get("name", address))
    try:
        ask = _uniswap_quoter(recorded) if "tick_data" in recorded else _curve_quoter(recorded)
    except (BadValue, MayaviError, KeyError, TypeError, ValueError) as error:
        problem = f"the pool cannot be rebuilt: {f'{error.args[0]!r} is missing' if type(error) is KeyError else error}"
        return PoolReport(address, name, protocol, block, len(entries), 0, None, problem)
    differences = []
    for quote, expected in entries.items():
        function, direction, amount = quote.split("|")
        sold, bought = direction.split("->")
        try:
            got: int | None = ask(function, sold, bought, int(amount))
        except ExecutionError:
            got = None
        except BadValue as error:
            return PoolReport(address, name, protocol, block, len(entries), 0, None, str(error))
        if got != expected:
            differences.append(QuoteDifference(quote, expected, got))
    first = differences[0] if differences else None
    return PoolReport(address, name, protocol, block, len(entries), len(entries) - len(differences), first)


def _uniswap_quoter(recorded: Recorded) -> Ask:
    uniswap: UniswapV3 = rebuild_uniswap_pool(recorded)
    fee, token0 = recorded["scalars"]["fee"], recorded["token0"]["symbol"]

    def ask(function: str, sold: str, bought: str, amount: int) -> int:
        route = (sold, bought, fee)
        if function == "quoteExactInputSingle":
            return uniswap.quote_exact_input(route, amount).amount_out if amount else 0
        if function == "quoteExactOutputSingle":
            limit = LOWEST_ROOT if sold == token0 else HIGHEST_ROOT
            return uniswap.quote_exact_output(route, amount, sqrt_price_limit_x96=limit).amount_in
        raise BadValue(f"'{function}' is not a quote of Uniswap V3 known here")

    return ask


def _curve_quoter(recorded: Recorded) -> Ask:
    pool: CurveStableSwap = rebuild_curve_pool(recorded)

    def ask(function: str, sold: str, bought: str, amount: int) -> int:
        if function == "get_dy":
            return pool.quote(sold, bought, amount)
        raise BadValue(f"'{function}' is not a quote of Curve known here")

    return ask


_Key = tuple[str, int]


def _read(folder: Path) -> tuple[dict[_Key, Recorded], dict[_Key, dict[str, int | None]]]:
    if not folder.is_dir():
        raise UsageError(f"'{folder}' is not a folder", "give the folder that holds the recorded pools and quotes")
    pools: dict[_Key, Recorded] = {}
    quotes: dict[_Key, dict[str, int | None]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            content = fields(json.loads(path.read_bytes()))
            if "entries" in content:
                for quote, answer in fields(content["entries"]).items():
                    address, _, rest = quote.partition("|")
                    key = (checksum(address), _integer(content["block_number"]))
                    quotes.setdefault(key, {})[_well_formed(rest)] = _answer(fields(answer)["value"])
            elif "tick_data" in content or "a_coefficient" in content:
                address = str(content["pool" if "tick_data" in content else "address"])
                pools[checksum(address), _integer(content["block"])] = content
        except (OSError, ValueError, KeyError, UsageError) as error:
            what = f"{error.args[0]!r} is missing" if type(error) is KeyError else str(error)
            raise CaseError(f"'{path}': {what}") from error
    if not quotes:
        near = next((each for each in (folder / "quotes", folder / "mainnet" / "quotes") if each.is_dir()), None)
        hint = f"did you mean '{near}'?" if near else "docs/concepts/validation.md shows what such files hold"
        raise UsageError(f"'{folder}' holds no recorded quotes", hint)
    return pools, quotes


def _well_formed(quote: str) -> str:
    parts = quote.split("|")
    if len(parts) != 3 or parts[1].count("->") != 1 or not parts[2].isdecimal():
        raise BadValue(f"'{quote}' is not a quote of the form function|SOLD->BOUGHT|amount")
    return quote


def _integer(value: object) -> int:
    if type(value) is not int:
        raise BadValue(f"{value!r} is not an integer")
    return value


def _answer(value: object) -> int | None:
    return None if value is None else _integer(value)


def _object(pool: PoolReport) -> dict[str, Any]:
    first = pool.first_difference
    shown = first and {name: value if value is None else str(value) for name, value in asdict(first).items()}
    return {**asdict(pool), "exact": pool.exact, "first_difference": shown}
