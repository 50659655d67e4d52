"""Files that a scenario names: read and checked once, and carried inside it as text from then on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.errors import UsageError
from mayavi.scenarios.registry import LIBRARY

if TYPE_CHECKING:
    from mayavi.markets.series import Series

MOST_BYTES = 64 * 2**20


def prices_written_out(name: str, folder: Path | None, time: str | None, price: str | None) -> str:
    """The prices in a CSV, Parquet or JSON file as CSV text of two columns; whatever is wrong with it is an error."""
    from mayavi.markets.series import Series

    series = Series.read(_place(name, folder), time_column=time, price_column=price)
    rows = (f"{when!r},{value!r}" for when, value in zip(series.times.tolist(), series.prices.tolist(), strict=True))
    return "\n".join(["time,price", *rows]) + "\n"


def series_of(text: str, symbol: str) -> Series:
    """The series that such text holds."""
    from mayavi.markets.series import Series

    return Series.parse(text, name=f"prices.{symbol}.data")


def written_out(name: str, folder: Path | None) -> str:
    """The content of a text file. `name` is relative to `folder`."""
    path = _place(name, folder)
    if path.stat().st_size > MOST_BYTES:
        raise UsageError(f"'{path}' has {path.stat().st_size:,} bytes, and at most {MOST_BYTES:,} are read")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}': byte {error.start} is not UTF-8", "save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"'{path}' cannot be read: {error.strerror}") from None


def _place(name: str, folder: Path | None) -> Path:
    path = (folder or Path()) / name
    if not path.exists() and "/" not in name and (LIBRARY / name).is_file():
        return LIBRARY / name  # what comes with Mayavi can be named from anywhere
    if not path.is_file():
        raise UsageError(f"there is no file '{path}'", "file names are relative to the scenario's own folder")
    return path
