"""Record of a token launch as CSV or JSON: creation of the pool, liquidity, purchases and sales.

    time,event,account,token,quote,low,high
    0,create,deployer,,0.05,,            a pool at 0.05 QUOTE for a TOKEN
    0,add,deployer,8000000,400000,,      liquidity: most of both tokens, optional price range
    12,buy,ann,,2500,,                   spend 2,500 QUOTE; `token` may hold the recorded amount received
    36,sell,ann,20000,,,                 sell 20,000 TOKEN; `quote` may hold the recorded amount received

Times are seconds since 1970 or since the launch, or text such as 2024-04-02T08:00:00Z. JSON is a list of such rows as
objects. Rows are in order of time; the first is the only `create`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, NamedTuple, cast

from mayavi.errors import BadSeries, did_you_mean

Event = Literal["create", "add", "buy", "sell", "hold"]
EVENTS = ("create", "add", "buy", "sell", "hold")
COLUMNS = ("time", "event", "account", "token", "quote", "low", "high")
_NEEDED = ("time", "event", "account")


class Entry(NamedTuple):
    """One row; `seconds` count from the creation of the pool."""

    seconds: int
    event: Event
    account: str
    token: Decimal | None
    quote: Decimal | None
    low: Decimal | None
    high: Decimal | None
    line: int


class LaunchRecord(NamedTuple):
    """A launch: initial price, liquidity, initial holdings and trades."""

    price: Decimal
    creator: str
    liquidity: tuple[Entry, ...]
    holdings: dict[str, Decimal]
    trades: tuple[Entry, ...]

    @property
    def seconds(self) -> int:
        """Seconds from the creation of the pool to the last trade."""
        return self.trades[-1].seconds


def read_launch(text: str, origin: str = "the launch record") -> LaunchRecord:
    """Parse a record; raise `BadSeries` with the line of the first error."""
    rows = _json_rows(text, origin) if text.lstrip()[:1] in {"[", "{"} else _csv_rows(text, origin)
    entries = _entries(rows, origin)
    if not entries or entries[0].event != "create":
        raise BadSeries(f"{origin} does not begin with the creation of the pool", "first row: 0,create,NAME,,PRICE")
    first, liquidity, trades = entries[0], [], []
    holdings: dict[str, Decimal] = {}
    for entry in entries[1:]:
        where = f"{origin}, line {entry.line}"
        if entry.event == "create":
            raise BadSeries(f"{where}: the pool is created a second time", "a record describes one launch")
        if entry.event == "hold":
            holdings[entry.account] = holdings.get(entry.account, Decimal(0)) + cast(Decimal, entry.token)
        elif entry.event == "add":
            if entry.seconds:
                raise BadSeries(f"{where}: liquidity is added later", "only liquidity added at time 0 is replayed")
            liquidity.append(entry)
        else:
            trades.append(entry)
    if not liquidity:
        raise BadSeries(f"{origin} puts no liquidity into the pool", "a row such as 0,add,NAME,8000000,400000")
    if not trades:
        raise BadSeries(f"{origin} has no buys and no sells", "rows such as 12,buy,ann,,2500")
    return LaunchRecord(cast(Decimal, first.quote), first.account, tuple(liquidity), holdings, tuple(trades))


def _csv_rows(text: str, origin: str) -> list[tuple[int, Mapping[str, Any]]]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] != "#"]
    if not lines:
        raise BadSeries(f"{origin} is empty", f"its columns are {', '.join(COLUMNS)}")
    reader = csv.reader(io.StringIO("\n".join(line for _, line in lines)))
    try:
        header, *rows = list(reader)
    except csv.Error as error:
        raise BadSeries(f"{origin} is not CSV: {error}") from None
    header = [name.strip().lower() for name in header]
    _check_columns(header, origin)
    found: list[tuple[int, Mapping[str, Any]]] = []
    for (number, _), row in zip(lines[1:], rows, strict=False):
        if len(row) > len(header):
            raise BadSeries(f"{origin}, line {number}: {len(row)} values for {len(header)} columns")
        found.append((number, dict(zip(header, row, strict=False))))
    return found


def _json_rows(text: str, origin: str) -> list[tuple[int, Mapping[str, Any]]]:
    try:
        document = json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise BadSeries(f"{origin} is not JSON: {error}") from None
    rows = document.get("events") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadSeries(f"{origin} is not a list of rows", '[{"time": 0, "event": "create", …}, …]')
    _check_columns({key for row in rows for key in row} | set(_NEEDED), origin)
    return list(enumerate(rows, 1))


def _check_columns(names: Iterable[str], origin: str) -> None:
    given = list(names)
    for name in given:
        if name not in COLUMNS:
            raise BadSeries(
                f"{origin} has a column '{name}'", did_you_mean(name, COLUMNS) or f"known: {', '.join(COLUMNS)}"
            )
    for name in _NEEDED:
        if name not in given:
            raise BadSeries(f"{origin} has no column '{name}'", f"its columns are {', '.join(COLUMNS)}")


def _entries(rows: Iterable[tuple[int, Mapping[str, Any]]], origin: str) -> list[Entry]:
    entries: list[Entry] = []
    began = last = 0
    for line, row in rows:
        where = f"{origin}, line {line}"
        event = str(row.get("event", "")).strip().lower()
        if event not in EVENTS:
            hint = did_you_mean(event, EVENTS) or f"known: {', '.join(EVENTS)}"
            raise BadSeries(f"{where}: unknown event '{event}'", hint)
        moment = _moment(row.get("time"), where)
        if not entries:
            began = last = moment
        if moment < last:
            raise BadSeries(f"{where}: its time is before the one above", "sort the rows by time")
        last = moment
        account = str(row.get("account") or "").strip()
        if not account:
            raise BadSeries(f"{where}: the account is missing")
        numbers = {name: _number(row.get(name), f"{where}: {name}") for name in ("token", "quote", "low", "high")}
        _check_amounts(event, numbers, where)
        entries.append(Entry(moment - began, cast(Event, event), account, line=line, **numbers))
    return entries


def _check_amounts(event: str, numbers: Mapping[str, Decimal | None], where: str) -> None:
    needed = {"create": ("quote",), "add": (), "buy": ("quote",), "sell": ("token",), "hold": ("token",)}[event]
    for name in needed:
        if not numbers[name]:
            raise BadSeries(f"{where}: '{event}' needs an amount above zero in the column '{name}'")
    if event == "add" and not (numbers["token"] or numbers["quote"]):
        raise BadSeries(f"{where}: 'add' puts nothing in", "give `token`, `quote` or both")
    if (numbers["low"] is None) != (numbers["high"] is None):
        raise BadSeries(f"{where}: one of 'low' and 'high' is missing", "give both, or none for all prices")
    if numbers["low"] is not None and numbers["high"] is not None and not 0 < numbers["low"] < numbers["high"]:
        raise BadSeries(f"{where}: 'low' is not below 'high'")


def _moment(value: Any, where: str) -> int:
    text = str("" if value is None else value).strip()
    try:
        seconds = Decimal(text)
        if seconds == int(seconds) and seconds >= 0:
            return int(seconds)
    except (InvalidOperation, ValueError, OverflowError):
        try:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            pass
        else:
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    raise BadSeries(f"{where}: '{text}' is not a time", "whole seconds, or 2024-04-02T08:00:00Z")


def _number(value: Any, what: str) -> Decimal | None:
    text = str("" if value is None else value).strip().replace("_", "")
    if not text:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise BadSeries(f"{what} is '{text}', not a number") from None
    if not number.is_finite() or number < 0 or number > Decimal(10) ** 30:
        raise BadSeries(f"{what} is {text}, which is not an amount from 0 to 10^30")
    return number
