"""Two columns of a file of rows, found by name: CSV, Parquet or JSON. What the values mean is not decided here."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from glob import escape
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
    """Time and price of every row of the file `path`."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet", ".json"):
        raise BadSeries(f"'{path}' is no file of prices that can be read", "give a .csv, .parquet or .json file")
    if path.is_dir():
        raise BadSeries(f"'{path}' is a folder", "give the file of prices in it")
    try:
        if kind == ".parquet":
            return _read_parquet(path, time_column, price_column)
        return parse_table(path.read_text(encoding="utf-8-sig"), str(path), time_column, price_column, kind == ".json")
    except FileNotFoundError:
        near = did_you_mean(path.name, [each.name for each in path.parent.glob("*")]) if path.parent.is_dir() else None
        raise BadSeries(f"there is no file '{path}'", near or "a path is relative to where the command runs") from None
    except OSError as error:
        raise BadSeries(f"'{path}' cannot be read: {error.strerror or error}", "check its permissions") from None
    except UnicodeDecodeError:
        raise BadSeries(f"'{path}' is not UTF-8 text", "save it with the encoding UTF-8") from None


def parse_table(
    text: str, name: str, time_column: str | None, price_column: str | None, is_json: bool | None = None
) -> Table:
    """The same of CSV or JSON text, which errors call `name`."""
    if is_json is None:
        is_json = text.lstrip()[:1] in ("[", "{")
    return (_parse_json if is_json else _parse_csv)(text, name, time_column, price_column)


def _parse_csv(text: str, file: str, time_column: str | None, price_column: str | None) -> Table:
    text = text.removeprefix("\ufeff")
    separator = max(",;\t", key=text.partition("\n")[0].count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        names = next(lines, [])
        at_time, at_price = _columns(file, names, time_column, price_column)
        rows: list[Row] = []
        for fields in lines:
            if not fields:
                continue  # an empty line
            if len(fields) != len(names):
                raise BadSeries(
                    f"'{file}', line {lines.line_num}: {len(fields)} fields where the header has {len(names)}",
                    "the line is cut or has a separator too many: mend or remove it",
                )
            rows.append((lines.line_num, fields[at_time], fields[at_price]))
    except csv.Error as error:
        raise BadSeries(f"'{file}', line {lines.line_num}: {error}", "mend or remove the line") from None
    return Table(file, "line", names[at_time], names[at_price], rows)


def _read_parquet(path: Path, time_column: str | None, price_column: str | None) -> Table:
    import duckdb  # only Parquet pays for it

    path.open("rb").close()  # what is missing is told as it is for other files
    source = [escape(str(path))]  # a name is no pattern
    with duckdb.connect() as database:
        try:
            described = database.execute("describe select * from read_parquet(?)", source).fetchall()
            names, types = [str(each[0]) for each in described], [str(each[1]) for each in described]
            at_time, at_price = _columns(str(path), names, time_column, price_column)
            time, price = (f'"{names[at].replace(chr(34), chr(34) * 2)}"' for at in (at_time, at_price))
            if types[at_time].startswith(("TIMESTAMP", "DATE")):
                time = f"epoch({time})"
            query = f"select {time}, {price} from read_parquet(?, file_row_number = true) order by file_row_number"
            found = database.execute(query, source).fetchall()
        except duckdb.Error as error:
            said = str(error).splitlines()[0].rstrip(".")
            raise BadSeries(f"'{path}' cannot be read as Parquet: {said}", "write or fetch the file again") from None
    rows: list[Row] = [(row, time, price) for row, (time, price) in enumerate(found, start=1)]
    return Table(str(path), "row", names[at_time], names[at_price], rows)


def _parse_json(text: str, file: str, time_column: str | None, price_column: str | None) -> Table:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise BadSeries(f"'{file}' is not JSON: {error}", "write or fetch the file again") from None
    records = content.get("data") if isinstance(content, dict) else content
    if not isinstance(records, list):
        raise BadSeries(
            f"'{file}' holds no list of records", 'as in [{"time": …, "close": …}, …], or the same under "data"'
        )
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise BadSeries(f"'{file}', record {number}: '{record}' is no record", 'as in {"time": …, "close": …}')
    names = [str(name) for name in records[0]] if records else []
    at_time, at_price = _columns(file, names, time_column, price_column)
    time, price = names[at_time], names[at_price]
    rows: list[Row] = [(number, each.get(time), each.get(price)) for number, each in enumerate(records, start=1)]
    return Table(file, "record", time, price, rows)


def _columns(file: str, names: Sequence[str], time_column: str | None, price_column: str | None) -> tuple[int, int]:
    if not names:
        raise BadSeries(f"'{file}' is empty", "it needs a time and a price for every moment, under names of columns")
    return (
        _column(file, names, "time", time_column, TIME_NAMES),
        _column(file, names, "price", price_column, PRICE_NAMES),
    )


def _column(file: str, names: Sequence[str], kind: str, asked: str | None, usual: Sequence[str]) -> int:
    wanted = usual if asked is None else (asked.strip().casefold(),)
    found = [at for at, name in enumerate(names) if name.strip().casefold() in wanted]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"'{name}'" for name in names)
    if found:
        several = " and ".join(f"'{names[at]}'" for at in found)
        raise BadSeries(f"'{file}': columns {several} could both be the {kind}", f"say which: {kind}_column=…")
    if asked is not None:
        near = did_you_mean(asked, names)
        raise BadSeries(f"'{file}' has no column '{asked}'", near or f"it has {listed}")
    raise BadSeries(
        f"'{file}' has no column of {kind}s among {listed}",
        f"the first line names the columns; say {kind}_column=…, or call it one of {', '.join(usual)}",
    )
