"""Historical markets named by a string: one file, or a file and its column for each market column.

    market.csv
    eth_price=eth.csv:close, btc_price=btc.csv:close, fed_rate=fed.csv:Rate@24

`@24` delays a column: its values are known only 24 hours after the time in their row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mayavi.errors import BadArgument, UnknownKey
from mayavi.portfolio.market.data import COLUMNS, RWAMarket
from mayavi.portfolio.market.history import Source, read_rwa
from mayavi.portfolio.market.model import RWAModel

_COLUMN = re.compile(r"^\s*([A-Za-z_0-9]+)\s*=(.*)$", re.DOTALL)
_NEXT = re.compile(rf",\s*(?=(?:{'|'.join(COLUMNS)})\s*=)")
_DELAY = re.compile(r"^(.*)@(\d+(?:\.\d+)?)$", re.DOTALL)


def open_rwa(
    spec: str, *, begin: str | None = None, end: str | None = None, model: RWAModel | None = None
) -> RWAMarket:
    """Read the market that `spec` names; the other arguments are those of `read_rwa`."""
    return read_rwa(parse_columns(spec) if _lists_columns(spec) else spec, begin=begin, end=end, model=model)


def parse_columns(spec: str) -> dict[str, Source]:
    """Parse `eth_price=FILE:COLUMN@HOURS, …` into a file, its column and the delay for each market column."""
    found: dict[str, Source] = {}
    for part in _NEXT.split(spec):
        match = _COLUMN.match(part)
        name, rest = (match[1], match[2].strip()) if match else ("", "")
        path, colon, column = rest.rpartition(":")
        if not colon or not path or not column:
            raise BadArgument(f"'{part.strip()}' names no column of a file", "write eth_price=FILE:COLUMN")
        if name not in COLUMNS:
            raise UnknownKey.of("column", name, COLUMNS, f"there are {', '.join(COLUMNS)}")
        if name in found:
            raise BadArgument(f"the column '{name}' is named twice", "name each once")
        delayed = _DELAY.match(column)
        found[name] = (path, delayed[1], float(delayed[2])) if delayed else (path, column)
    return found


def data_files(spec: str) -> list[str]:
    """Files that `spec` names, each once."""
    if not _lists_columns(spec):
        return [spec]
    return list(dict.fromkeys(str(path) for path, *_ in parse_columns(spec).values()))


def relocate(spec: str, places: Mapping[str, str]) -> str:
    """Replace each file in `spec` by `places[file]`."""
    if not _lists_columns(spec):
        return places[spec]
    columns = []
    for name, (path, column, *delay) in parse_columns(spec).items():
        columns.append(f"{name}={places[str(path)]}:{column}{''.join(f'@{hours:g}' for hours in delay)}")
    return ", ".join(columns)


def _lists_columns(spec: str) -> bool:
    """Whether `spec` lists columns; a file name may contain "=" too, but not after the name of a column."""
    match = _COLUMN.match(spec)
    return match is not None and (match[1] in COLUMNS or ":" in match[2])
