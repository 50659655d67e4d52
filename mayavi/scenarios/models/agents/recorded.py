"""Agents that repeat a record: liquidations of a lending market, balances of a Curve pool.

Times of a record are seconds since the first step, in order. Amounts are in whole tokens.
"""

from __future__ import annotations

import csv
import io
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from mayavi.errors import BadSeries
from mayavi.scenarios.models.agents.shared import AgentSettings, Protocol
from mayavi.scenarios.models.values.quantities import LARGEST, fault

CALL_COLUMNS = ("time", "liquidator", "borrower", "collateral", "debt", "repaid", "seized")


class RecordedCall(NamedTuple):
    """One liquidation of a record."""

    seconds: int
    liquidator: str
    borrower: str
    collateral: str
    debt: str
    repaid: Decimal
    seized: Decimal | None
    """None where the record does not say."""
    line: int


class RecordedBalances(NamedTuple):
    """Balances of a pool from a moment on, by coin."""

    seconds: int
    balances: dict[str, Decimal]
    line: int


def read_calls(text: str, origin: str) -> list[RecordedCall]:
    """Parse a record of liquidations; raise `BadSeries` with the line of the first error."""
    names, rows = _table(text, origin)
    if tuple(sorted(names)) != tuple(sorted(CALL_COLUMNS)):
        raise BadSeries(f"{origin} has the columns {', '.join(names)}", f"it needs {', '.join(CALL_COLUMNS)}")
    found = []
    for line, cells in rows:
        where = f"{origin}, line {line}"
        repaid = _amount(cells["repaid"], f"{where}: repaid")
        seized = _amount(cells["seized"], f"{where}: seized") if cells["seized"] else None
        who = {name: cells[name] for name in ("liquidator", "borrower", "collateral", "debt")}
        if not all(who.values()):
            raise BadSeries(f"{where}: a cell is empty", "a liquidation names liquidator, borrower and both assets")
        seconds = _seconds(cells["time"], where)
        found.append(RecordedCall(seconds=seconds, repaid=repaid, seized=seized, line=line, **who))
    return _ordered(found, origin)


def read_balances(text: str, origin: str) -> list[RecordedBalances]:
    """Parse a record of balances: a column `time` and one for each coin."""
    names, rows = _table(text, origin)
    if names[:1] != ["time"] or len(names) < 3:
        raise BadSeries(f"{origin} has the columns {', '.join(names)}", "it needs time, and one column for each coin")
    found = []
    for line, cells in rows:
        where = f"{origin}, line {line}"
        held = {coin: _amount(cells[coin], f"{where}: {coin}") for coin in names[1:]}
        found.append(RecordedBalances(_seconds(cells["time"], where), held, line))
    return _ordered(found, origin)


def _table(text: str, origin: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] != "#"]
    if len(lines) < 2:
        raise BadSeries(f"{origin} has no rows", "it is CSV text with a header")
    header, *rows = csv.reader(io.StringIO("\n".join(line for _, line in lines)))
    names = [name.strip() for name in header]
    found = []
    for (number, _), row in zip(lines[1:], rows, strict=True):
        if len(row) != len(names):
            raise BadSeries(f"{origin}, line {number}: {len(row)} cells where the header has {len(names)}")
        found.append((number, {name: cell.strip() for name, cell in zip(names, row, strict=True)}))
    return names, found


def _seconds(cell: str, where: str) -> int:
    if not cell.isdecimal():
        raise BadSeries(f"{where}: the time is '{cell}'", "give whole seconds since the first step")
    return int(cell)


def _amount(cell: str, what: str) -> Decimal:
    try:
        amount = Decimal(cell.replace("_", ""))
    except InvalidOperation:
        raise BadSeries(f"{what} is '{cell}', not a number", "write whole tokens, such as 1250.5") from None
    if not 0 < amount < LARGEST:
        raise BadSeries(f"{what} is '{cell}', which is not a valid amount", "give whole tokens above zero")
    return amount


def _ordered(rows: list[Any], origin: str) -> list[Any]:
    for before, after in pairwise(rows):
        if after.seconds < before.seconds:
            raise BadSeries(f"{origin}, line {after.line}: its time is before the one above", "sort the rows by time")
    return rows


class _Record(AgentSettings):
    """Settings of an agent that repeats a record."""

    file: str | None = None
    """The record, a CSV file, relative to the scenario's folder."""
    data: str | None = None
    """The record as CSV text."""

    @model_validator(mode="after")
    def _one_source(self) -> _Record:
        if (self.file is None) == (self.data is None):
            raise fault("needs its record from a 'file' or as 'data': one of the two")
        if self.data is not None:
            try:
                _ = self.rows
            except BadSeries as error:
                raise PydanticCustomError("rule", "{message}", {"message": error.message, "hint": error.hint}) from None
        return self

    @property
    def rows(self) -> list[Any]:
        """Rows of the record."""
        raise NotImplementedError


class RecordedLiquidations(_Record):
    """Liquidators that repeat recorded liquidations, each with the recorded amount of debt, at its time."""

    kind: Literal["recorded_liquidations"]
    protocol: Protocol = "aave_v3"
    """Lending protocol: aave_v3, spark, compound_v3, or aave_v2 and morpho if the scenario creates their markets."""
    market: str = "cUSDCv3"
    """Market of Compound V3, or of Morpho: wstETH/USDC.86."""

    @cached_property
    def rows(self) -> list[RecordedCall]:
        """Recorded liquidations in order: time, liquidator, borrower, collateral, debt, repaid, seized."""
        return read_calls(self.data or "", "the record")


class CurveBalances(_Record):
    """A liquidity provider that moves a Curve pool to recorded balances, at their times."""

    kind: Literal["curve_balances"]
    pool: str
    """Curve pool: Curve.3pool."""

    @cached_property
    def rows(self) -> list[RecordedBalances]:
        """Recorded balances in order."""
        return read_balances(self.data or "", "the record")
