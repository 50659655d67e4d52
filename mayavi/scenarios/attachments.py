"""Files that a scenario names: read once, and carried inside it as text from then on."""

from __future__ import annotations

from pathlib import Path

from mayavi.errors import UsageError
from mayavi.scenarios.registry import LIBRARY

MOST_BYTES = 64 * 2**20


def written_out(name: str, folder: Path | None) -> str:
    """The content of a file as CSV or JSON text. `name` is relative to `folder`; Parquet comes back as CSV."""
    path = (folder or Path()) / name
    if not path.exists() and (LIBRARY / name).is_file() and "/" not in name:
        path = LIBRARY / name  # what comes with Mayavi can be named from anywhere
    if not path.is_file():
        raise UsageError(f"there is no file '{path}'", "file names are relative to the scenario's own folder")
    if path.stat().st_size > MOST_BYTES:
        raise UsageError(f"'{path}' has {path.stat().st_size:,} bytes, and at most {MOST_BYTES:,} are read")
    if path.suffix.lower() in {".parquet", ".pq"}:
        return _parquet_as_csv(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}': byte {error.start} is not UTF-8", "save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"'{path}' cannot be read: {error.strerror}") from None


def _parquet_as_csv(path: Path) -> str:
    import duckdb

    try:
        with duckdb.connect(":memory:") as connection:
            table = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
            names = [column[0] for column in table.description or []]
            rows = table.fetchall()
    except duckdb.Error as error:
        raise UsageError(f"'{path}' is no Parquet file that can be read", str(error).splitlines()[0]) from None
    lines = [",".join(map(_cell, names)), *(",".join(map(_cell, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    text = "" if value is None else repr(value) if isinstance(value, float) else str(value)
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if any(letter in text for letter in ',"\n') else text
