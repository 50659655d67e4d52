"""A market of the past by what one writes on a command line: a file, or for each column a file and its column.

    market.csv
    eth_price=eth.csv:close, btc_price=btc.csv:close, fed_rate=fed.csv:Rate@24

`@24` says that a value is known only so many hours after the time in its row.
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
    told: str, *, begin: str | None = None, end: str | None = None, model: RWAModel | None = None
) -> RWAMarket:
    """The market that `told` names; the rest is as `read_rwa` has it."""
    return read_rwa(sources_of(told) if _is_list(told) else told, begin=begin, end=end, model=model)


def sources_of(told: str) -> dict[str, Source]:
    """For each column of the list its file and the file's column."""
    found: dict[str, Source] = {}
    for part in _NEXT.split(told):
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


def files_of(told: str) -> list[str]:
    """The files that `told` names, each once."""
    if not _is_list(told):
        return [told]
    return list(dict.fromkeys(str(path) for path, *_ in sources_of(told).values()))


def moved(told: str, places: Mapping[str, str]) -> str:
    """The same market, its files found where `places` says."""
    if not _is_list(told):
        return places[told]
    columns = []
    for name, (path, column, *delay) in sources_of(told).items():
        columns.append(f"{name}={places[str(path)]}:{column}{''.join(f'@{hours:g}' for hours in delay)}")
    return ", ".join(columns)


def _is_list(told: str) -> bool:
    """Whether it names columns; a file's own name may have an equals sign too, but no column's name before it."""
    match = _COLUMN.match(told)
    return match is not None and (match[1] in COLUMNS or ":" in match[2])
