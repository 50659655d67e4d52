"""Read columns by name from CSV, Parquet or JSON files, without interpreting values."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.errors import BadSeries, did_you_mean
from mayavi.runs.sql_values import filled

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TIME_NAMES = ("time", "timestamp", "datetime", "date", "dt", "open_time", "update", "updated_at", "updatedat")
_NUMBERED = "read_parquet(?, file_row_number = true)"
PRICE_NAMES = ("close", "c", "price", "answer", "value")

Row = tuple[int, object, object]


@dataclass(frozen=True, slots=True)
class Table:
    """Place, time and price of each row; a place is a `line`, `row` or `record`, counted from 1."""

    file: str
    place: str
    time_column: str
    price_column: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class AllColumns:
    """All columns of a file; `places` has the line or row of each value."""

    file: str
    place: str
    names: list[str]
    places: list[int]
    rows: list[Sequence[object]]

    def table(self, time_column: str, price_column: str) -> Table:
        """Return two of the columns as a table."""
        time, price = self.names.index(time_column), self.names.index(price_column)
        rows = [(place, row[time], row[price]) for place, row in zip(self.places, self.rows, strict=True)]
        return Table(self.file, self.place, time_column, price_column, rows)


def read_table(path: Path, time_column: str | None, price_column: str | None) -> Table:
    """Read time and price of every row of the file `path`."""
    kind = _kind(path, (".csv", ".parquet", ".json"))
    with _reading(path):
        if kind == ".parquet":
            return _read_parquet(path, time_column, price_column)
        return parse_table(path.read_text(encoding="utf-8-sig"), str(path), time_column, price_column, kind == ".json")


def read_all(path: Path) -> AllColumns:
    """Read all columns of a CSV or Parquet file."""
    kind = _kind(path, (".csv", ".parquet"))
    with _reading(path):
        if kind == ".csv":
            names, numbered = _split_csv(path.read_text(encoding="utf-8-sig"), str(path))
            return AllColumns(str(path), "line", names, [line for line, _ in numbered], [row for _, row in numbered])
        with _parquet(path) as database:
            source = [escape(str(path))]
            described = database.execute(filled("describe select * from read_parquet(?)", source)).fetchall()
            names = [str(each[0]) for each in described]
            wanted = ", ".join(_seconds(str(name), str(kind)) for name, kind, *_ in described)
            query = f"select {wanted} from {filled(_NUMBERED, source)} order by file_row_number"
            rows = database.execute(query).fetchall()
        return AllColumns(str(path), "row", names, list(range(1, len(rows) + 1)), list(rows))


def _kind(path: Path, kinds: tuple[str, ...]) -> str:
    kind = path.suffix.lower()
    if kind not in kinds:
        wanted = ", ".join(kinds[:-1]) + f" or {kinds[-1]}"
        raise BadSeries(f"'{path}' is not a readable price file", f"give a {wanted} file")
    if path.is_dir():
        raise BadSeries(f"'{path}' is a folder", "give the file of prices in it")
    return kind


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
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
    """Parse CSV or JSON text; errors call it `name`."""
    if is_json is None:
        is_json = text.lstrip()[:1] in ("[", "{")
    return (_parse_json if is_json else _parse_csv)(text, name, time_column, price_column)


def _parse_csv(text: str, file: str, time_column: str | None, price_column: str | None) -> Table:
    names, numbered = _split_csv(text, file, lambda names: _columns(file, names, time_column, price_column))
    at_time, at_price = _columns(file, names, time_column, price_column)
    rows: list[Row] = [(line, fields[at_time], fields[at_price]) for line, fields in numbered]
    return Table(file, "line", names[at_time], names[at_price], rows)


def _split_csv(
    text: str, file: str, check_names: Callable[[list[str]], object] = lambda names: None
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the column names, and the fields of every line with its number; checks names before lines."""
    text = text.removeprefix("\ufeff")
    separator = max(",;\t", key=text.partition("\n")[0].count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    numbered: list[tuple[int, list[str]]] = []
    try:
        names = next(lines, [])
        check_names(names)
        for fields in lines:
            if not fields:
                continue  # an empty line
            if len(fields) != len(names):
                raise BadSeries(
                    f"'{file}', line {lines.line_num}: {len(fields)} fields where the header has {len(names)}",
                    "the line is cut or has a separator too many: fix or remove it",
                )
            numbered.append((lines.line_num, fields))
    except csv.Error as error:
        raise BadSeries(f"'{file}', line {lines.line_num}: {error}", "fix or remove the line") from None
    return names, numbered


@contextmanager
def _parquet(path: Path) -> Iterator[DuckDBPyConnection]:
    import duckdb  # imported only for Parquet

    path.open("rb").close()  # raises the same error for a missing file
    with duckdb.connect() as database:
        try:
            yield database
        except duckdb.Error as error:
            said = str(error).splitlines()[0].rstrip(".")
            raise BadSeries(f"'{path}' cannot be read as Parquet: {said}", "write or fetch the file again") from None


def _read_parquet(path: Path, time_column: str | None, price_column: str | None) -> Table:
    source = [escape(str(path))]  # a file name is not a glob pattern
    with _parquet(path) as database:
        described = database.execute(filled("describe select * from read_parquet(?)", source)).fetchall()
        names, types = [str(each[0]) for each in described], [str(each[1]) for each in described]
        at_time, at_price = _columns(str(path), names, time_column, price_column)
        time, price = _seconds(names[at_time], types[at_time]), _quoted(names[at_price])
        query = f"select {time}, {price} from {filled(_NUMBERED, source)} order by file_row_number"
        found = database.execute(query).fetchall()
    rows: list[Row] = [(row, time, price) for row, (time, price) in enumerate(found, start=1)]
    return Table(str(path), "row", names[at_time], names[at_price], rows)


def _quoted(name: str) -> str:
    return f'"{name.replace(chr(34), chr(34) * 2)}"'


def _seconds(name: str, kind: str) -> str:
    """Return the SQL of a column, a time as Unix seconds."""
    return f"epoch({_quoted(name)})" if kind.startswith(("TIMESTAMP", "DATE")) else _quoted(name)


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
            raise BadSeries(f"'{file}', record {number}: '{record}' is not a record", 'as in {"time": …, "close": …}')
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
