"""Two columns of a file of rows, found by name: CSV, Parquet or JSON. What the values mean is not decided here."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mayavi.errors import BadSeries, did_you_mean

TIME_NAMES = ("time", "timestamp", "datetime", "date", "dt", "open_time", "update", "updated_at", "updatedat")
PRICE_NAMES = ("close", "c", "price", "answer", "value")

Row = tuple[int, object, object]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of place, time and price as the file holds them; a place is a `line`, a `row` or a `record`, from 1 on."""

    file: str
    place: str
    time_column: str
    price_column: str
    rows: list[Row]


def read_table(path: Path, time_column: str | None, price_column: str | None) -> Table:
    """Time and price of every row of `path`."""
    reader = {".csv": _read_csv, ".parquet": _read_parquet, ".json": _read_json}.get(path.suffix.lower())
    if reader is None:
        raise BadSeries(f"'{path}' is no file of prices that can be read", "give a .csv, .parquet or .json file")
    if path.is_dir():
        raise BadSeries(f"'{path}' is a folder", "give the file of prices in it")
    try:
        return reader(path, time_column, price_column)
    except FileNotFoundError:
        near = did_you_mean(path.name, [each.name for each in path.parent.glob("*")]) if path.parent.is_dir() else None
        raise BadSeries(f"there is no file '{path}'", near or "a path is relative to where the command runs") from None
    except OSError as error:
        raise BadSeries(f"'{path}' cannot be read: {error.strerror or error}", "check its permissions") from None


def _read_csv(path: Path, time_column: str | None, price_column: str | None) -> Table:
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            separator = max(",;\t", key=file.readline().count)
            file.seek(0)
            lines = csv.reader(file, delimiter=separator, strict=True)
            names = next(lines, [])
            at_time, at_price = _columns(path, names, time_column, price_column)
            rows = list(_csv_rows(path, lines, len(names), at_time, at_price))
        except csv.Error as error:
            raise BadSeries(f"'{path}', line {lines.line_num}: {error}", "mend or remove the line") from None
        except UnicodeDecodeError:
            raise BadSeries(f"'{path}' is not UTF-8 text", "save it as CSV with the encoding UTF-8") from None
    return Table(str(path), "line", names[at_time], names[at_price], rows)


def _csv_rows(path: Path, lines: Iterator[list[str]], width: int, at_time: int, at_price: int) -> Iterator[Row]:
    for fields in lines:
        if not fields:
            continue  # an empty line
        if len(fields) != width:
            raise BadSeries(
                f"'{path}', line {lines.line_num}: {len(fields)} fields where the header has {width}",  # type: ignore[attr-defined]
                "the line is cut or has a separator too many: mend or remove it",
            )
        yield lines.line_num, fields[at_time], fields[at_price]  # type: ignore[attr-defined]


def _read_parquet(path: Path, time_column: str | None, price_column: str | None) -> Table:
    import duckdb  # only Parquet pays for it

    path.open("rb").close()  # what is missing is told as it is for other files
    with duckdb.connect() as database:
        try:
            described = database.execute("describe select * from read_parquet(?)", [str(path)]).fetchall()
            names, types = [str(each[0]) for each in described], [str(each[1]) for each in described]
            at_time, at_price = _columns(path, names, time_column, price_column)
            time, price = (f'"{names[at].replace(chr(34), chr(34) * 2)}"' for at in (at_time, at_price))
            if types[at_time].startswith(("TIMESTAMP", "DATE")):
                time = f"epoch({time})"
            query = f"select {time}, {price} from read_parquet(?, file_row_number = true) order by file_row_number"
            found = database.execute(query, [str(path)]).fetchall()
        except duckdb.Error as error:
            said = str(error).splitlines()[0].rstrip(".")
            raise BadSeries(f"'{path}' cannot be read as Parquet: {said}", "write or fetch the file again") from None
    rows: list[Row] = [(row, time, price) for row, (time, price) in enumerate(found, start=1)]
    return Table(str(path), "row", names[at_time], names[at_price], rows)


def _read_json(path: Path, time_column: str | None, price_column: str | None) -> Table:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:  # of JSON as of UTF-8
        raise BadSeries(f"'{path}' is not JSON: {error}", "write or fetch the file again") from None
    records = content.get("data") if isinstance(content, dict) else content
    if not isinstance(records, list):
        raise BadSeries(
            f"'{path}' holds no list of records", 'as in [{"time": …, "close": …}, …], or the same under "data"'
        )
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise BadSeries(f"'{path}', record {number}: '{record}' is no record", 'as in {"time": …, "close": …}')
    names = [str(name) for name in records[0]] if records else []
    at_time, at_price = _columns(path, names, time_column, price_column)
    time, price = names[at_time], names[at_price]
    rows: list[Row] = [(number, each.get(time), each.get(price)) for number, each in enumerate(records, start=1)]
    return Table(str(path), "record", time, price, rows)


def _columns(path: Path, names: Sequence[str], time_column: str | None, price_column: str | None) -> tuple[int, int]:
    if not names:
        raise BadSeries(f"'{path}' is empty", "it needs a time and a price for every moment, under names of columns")
    return (
        _column(path, names, "time", time_column, TIME_NAMES),
        _column(path, names, "price", price_column, PRICE_NAMES),
    )


def _column(path: Path, names: Sequence[str], kind: str, asked: str | None, usual: Sequence[str]) -> int:
    wanted = usual if asked is None else (asked.strip().casefold(),)
    found = [at for at, name in enumerate(names) if name.strip().casefold() in wanted]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"'{name}'" for name in names)
    if found:
        several = " and ".join(f"'{names[at]}'" for at in found)
        raise BadSeries(f"'{path}': columns {several} could both be the {kind}", f"say which: {kind}_column=…")
    if asked is not None:
        near = did_you_mean(asked, names)
        raise BadSeries(f"'{path}' has no column '{asked}'", near or f"it has {listed}")
    raise BadSeries(
        f"'{path}' has no column of {kind}s among {listed}",
        f"the first line names the columns; say {kind}_column=…, or call it one of {', '.join(usual)}",
    )
