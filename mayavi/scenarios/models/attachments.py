"""Files named by a scenario: read and checked once, then embedded in it as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import UsageError
from mayavi.scenarios.registry import LIBRARY

if TYPE_CHECKING:
    from mayavi.markets.series import Series

MOST_BYTES = 64 * 2**20


READING = {"time": "time_column", "price": "price_column"} | {
    key: key for key in ("order", "decimals", "skip_blank", "keep_last")
}
"""Options for reading prices: key in a scenario, and argument of `Series`."""

READING_TYPES = {"time": str, "price": str, "order": str, "decimals": int, "skip_blank": bool, "keep_last": bool}

_ARGUMENT = re.compile(r"\b([a-z]+(?:_[a-z]+)*)=(?:'([^']*)'|([\w.…]+))")


def prices_of_file(name: str, folder: Path | None, reading: Mapping[str, Any]) -> Series:
    """Read prices from a CSV, Parquet or JSON file; errors name the line."""
    from mayavi.markets.series import Series

    chosen = {READING[key]: value for key, value in reading.items() if value is not None}
    return Series.read(_place(name, folder), **chosen)


def in_yaml(hint: str | None) -> str | None:
    """Rewrite Python arguments in a hint, `fill='hold'`, as keys of a scenario: `fill: hold`."""
    names = {argument: key for key, argument in READING.items()}

    def as_key(found: re.Match[str]) -> str:
        value = found[2] or found[3]
        return f"`{names.get(found[1], found[1])}: {value.lower() if value in ('True', 'False') else value}`"

    return hint and _ARGUMENT.sub(as_key, hint)


def as_csv(series: Series) -> str:
    """Write a series as CSV text with the columns time and price."""
    rows = (f"{when!r},{value!r}" for when, value in zip(series.times.tolist(), series.prices.tolist(), strict=True))
    return "\n".join(["time,price", *rows]) + "\n"


def series_of(text: str, symbol: str, reading: Mapping[str, Any]) -> Series:
    """Parse the series embedded in a scenario."""
    from mayavi.markets.series import Series

    chosen = {READING[key]: value for key, value in reading.items() if value is not None}
    return Series.parse(text, name=f"prices.{symbol}.data", **chosen)


def written_out(name: str, folder: Path | None) -> str:
    """Read a text file; `name` is relative to `folder`."""
    path = _place(name, folder)
    if path.stat().st_size > MOST_BYTES:
        raise UsageError(f"'{path}' has {path.stat().st_size:,} bytes, and at most {MOST_BYTES:,} are read")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}': byte {error.start} is not UTF-8", "save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"'{path}' cannot be read: {error.strerror}") from None


def book_text(name: str, folder: Path | None) -> str:
    """Read a table of positions: a CSV file as it is, a Parquet file as CSV."""
    path = _place(name, folder)
    if path.suffix.lower() != ".parquet":
        return written_out(name, folder)
    import csv
    import io

    from mayavi.markets.table_file import read_all

    table, out = read_all(path), io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.names)
    for row in table.rows:
        writer.writerow(["" if cell is None else _exact(cell) for cell in row])
    return out.getvalue()


def _exact(cell: object) -> str:
    return f"{Decimal(repr(cell)):f}" if isinstance(cell, float) else str(cell)


def _place(name: str, folder: Path | None) -> Path:
    path = (folder or Path()) / name
    if not path.exists() and "/" not in name and (LIBRARY / name).is_file():
        return LIBRARY / name  # files of the library can be named from anywhere
    if not path.is_file():
        raise UsageError(f"there is no file '{path}'", "file names are relative to the scenario's own folder")
    return path
