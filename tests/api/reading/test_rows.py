"""`/runs/{id}/rows/{table}`: the store's rows, exactly, in three formats; filters without SQL; nothing is executed."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from mayavi.api.errors import ApiError
from mayavi.api.models.rows import RowsFormat
from mayavi.api.reading.row_query import RowQuery, row_query
from mayavi.api.reading.rows import rows_file
from mayavi.sim.rows import ActionRow, KpiRow
from mayavi.sim.store import Store
from mayavi.sim.store.database.schema import TABLES
from mayavi.sim.store.database.segments import SegmentFolder
from tests.api.reading.conftest import Served
from tests.report.stored_rows import action, figure, stored

TABLE_NAMES = ("actions", "market_snapshots", "kpis", "accounts")


def of_store(store: Store, run_id: str, table: str) -> list[tuple[Any, ...]]:
    columns = ", ".join(list(TABLES[table])[1:])
    return store.sql(f"SELECT {columns} FROM {table} WHERE run_id = '{run_id}' ORDER BY seq").fetchall()


def read(client: httpx.Client, run_id: str, table: str, **wanted: Any) -> httpx.Response:
    answer = client.get(f"/runs/{run_id}/rows/{table}", params={"limit": 100_000, **wanted})
    assert answer.status_code == 200, answer.text
    return answer


def content(store: Store, run_id: str, query: RowQuery, format: RowsFormat, limit: int = 100, offset: int = 0) -> bytes:
    return b"".join(rows_file(store, run_id, query, format, limit, offset).chunks())


def without_nan(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [[None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in row] for row in rows]


@pytest.mark.parametrize("table", TABLE_NAMES)
def test_all_formats_hold_exactly_the_rows_of_the_store(served: Served, table: str) -> None:
    run_id = served.runs["depeg_cascade"]
    wanted = of_store(served.store, run_id, table)
    assert wanted
    found = read(served.client, run_id, table).json()
    assert found["columns"] == list(TABLES[table])[1:]
    assert found["rows"] == without_nan(wanted)
    assert (found["total"], found["next"]) == (len(wanted), None)
    stream = read(served.client, run_id, table, format="arrow")
    assert stream.headers["content-type"] == "application/vnd.apache.arrow.stream"
    arrow = pa.ipc.open_stream(stream.content).read_all()
    assert arrow.column_names == found["columns"]
    assert [tuple(row.values()) for row in arrow.to_pylist()] == wanted
    text = read(served.client, run_id, table, format="csv")
    lines = list(csv.reader(io.StringIO(text.text)))
    assert lines[0] == found["columns"]
    kinds = [type(cell) for cell in wanted[0]]
    parsed = [tuple(kind(cell) for kind, cell in zip(kinds, line, strict=True)) for line in lines[1:]]
    assert parsed == wanted
    assert text.headers["content-disposition"] == f'attachment; filename="{run_id}-{table}.csv"'


@pytest.mark.parametrize("format", ["json", "csv", "arrow"])
def test_pages_cover_all_rows_once(served: Served, format: str) -> None:
    run_id = served.runs["curve_depeg"]
    wanted = [str(row[0]) for row in of_store(served.store, run_id, "market_snapshots")]
    found: list[str] = []
    offset = 0
    while True:
        answer = read(served.client, run_id, "market_snapshots", limit=97, offset=offset, format=format, columns="seq")
        if format == "json":
            found += [str(row[0]) for row in answer.json()["rows"]]
            assert answer.json()["next"] == answer.headers.get("x-next-offset")
        elif format == "csv":
            found += [line.strip('"') for line in answer.text.splitlines()[1:]]
        else:
            found += [str(each) for each in pa.ipc.open_stream(answer.content).read_all()["seq"].to_pylist()]
        assert answer.headers["x-total-rows"] == str(len(wanted))
        if "x-next-offset" not in answer.headers:
            break
        offset = int(answer.headers["x-next-offset"])
    assert found == wanted


CONDITIONS = {
    "kind:eq:liquidate": "kind = 'liquidate'",
    "kind:ne:liquidate": "kind <> 'liquidate'",
    "step:ge:2": "step >= 2",
    "step:lt:3": "step < 3",
    "status:starts:succ": "status LIKE 'succ%'",
    "details:contains:borrowers-1": "details LIKE '%borrowers-1%'",
    "agent:contains:%": "agent LIKE '%!%%' ESCAPE '!'",
    "fee_wei:gt:13000000000000000": "CAST(fee_wei AS HUGEINT) > 13000000000000000",
    "fee_wei_number:le:1.3e16": "fee_wei_number <= 1.3e16",
    "gas_used:gt:-99999999999999999999999999999999999999": "true",
    "reason:eq:": "reason = ''",
    'details:contains:":': "details LIKE '%\":%'",
}


@pytest.mark.parametrize("where", CONDITIONS)
def test_a_filter_finds_what_sql_finds(served: Served, where: str) -> None:
    run_id = served.runs["depeg_cascade"]
    wanted = served.store.sql(
        f"SELECT seq FROM actions WHERE run_id = '{run_id}' AND {CONDITIONS[where]} ORDER BY seq"
    ).fetchall()
    found = read(served.client, run_id, "actions", where=where, columns="seq").json()
    assert [tuple(row) for row in found["rows"]] == wanted
    assert found["total"] == len(wanted)


def test_filters_are_combined_and_sorting_is_by_number(served: Served) -> None:
    run_id = served.runs["depeg_cascade"]
    found = read(
        served.client,
        run_id,
        "market_snapshots",
        where=["metric:eq:debt", "subject:starts:borrowers-"],
        sort="-value",
        columns="value,subject",
    ).json()["rows"]
    values = [int(value) for value, _ in found]
    assert len(values) > 10
    assert values == sorted(values, reverse=True)
    assert values != sorted(values, key=str, reverse=True)


@pytest.mark.parametrize(
    ("wanted", "field", "says"),
    [
        ({"where": "kind"}, "where.0", "not a valid filter"),
        ({"where": "colour:eq:red"}, "where.0", "not a column of actions"),
        ({"where": "kind:like:x"}, "where.0", "not a valid operator"),
        ({"where": "step:eq:two"}, "where.0", "is not an integer"),
        ({"where": "step:contains:1"}, "where.0", "for texts"),
        ({"where": "fee_wei_number:lt:nan"}, "where.0", "is not a number"),
        ({"where": "fee_wei:lt:1e5"}, "where.0", "is not an integer"),
        ({"where": "kind:eq:" + "x" * 600}, "where.0", "characters"),
        ({"where": "1=1) OR (1=1:eq:1"}, "where.0", "not a column"),
        ({"where": "kind) OR TRUE --:eq:1"}, "where.0", "not a column"),
        ({"sort": "seq; DROP TABLE runs"}, "sort", "not a column"),
        ({"sort": "--seq"}, "sort", "not a column"),
        ({"columns": "seq,(SELECT 1)"}, "columns", "not a column"),
        ({"columns": "*"}, "columns", "not a column"),
        ({"columns": ""}, "columns", "not a column"),
    ],
)
def test_what_is_no_part_of_the_schema_is_refused(
    served: Served, wanted: dict[str, str], field: str, says: str
) -> None:
    answer = served.client.get(f"/runs/{served.runs['depeg_cascade']}/rows/actions", params=wanted)
    assert answer.status_code == 422
    (problem,) = answer.json()["problems"]
    assert problem["field"] == field
    assert says in problem["message"]


def test_every_problem_is_named_and_the_nearest_column_is_the_hint() -> None:
    with pytest.raises(ApiError) as raised:
        row_query("kpis", ["nam:eq:x", "value:eq:1", "x"], "-valu", "seq,untis")
    assert [problem.field for problem in raised.value.problems] == ["where.0", "where.2", "columns", "sort"]
    assert raised.value.problems[0].hint == "did you mean 'name'?"


HOSTILE = ["'; DROP TABLE runs; --", "' OR '1'='1", "<script>", "$1", "\\", "%", "\x00", "é\u202e", "x" * 400]


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_are_only_compared(served: Served, value: str) -> None:
    run_id = served.runs["depeg_cascade"]
    found = read(served.client, run_id, "actions", where=[f"agent:eq:{value}", f"reason:contains:{value}"]).json()
    assert (found["rows"], found["total"]) == ([], 0)
    assert read(served.client, run_id, "kpis").json()["rows"]


@pytest.mark.parametrize("path", ["runs", "sweeps", "sqlite_master", "actions;", "Actions", "%2e%2e", "actions%00"])
def test_other_tables_do_not_exist(served: Served, path: str) -> None:
    answer = served.client.get(f"/runs/{served.runs['depeg_cascade']}/rows/{path}")
    assert answer.status_code in {404, 422}


def special_run(path: Path) -> tuple[Store, str]:
    formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "a=b", "-12", "+5", 'plain, "quoted"\nline']
    actions = [action(step, kind=text, note=text) for step, text in enumerate(formulas)]
    numbers = [math.nan, math.inf, -math.inf, 0.1, 1e-300, 2.0**-1074, 123456789.123456789]
    figures = [figure(step, "pool", "price", number) for step, number in enumerate(numbers)]
    return stored(path, actions, figures, [KpiRow("bad_debt", str(-(2**256)), float(-(2**256)), "usd_e8")])


def test_formulas_are_harmless_in_csv_and_untouched_elsewhere(tmp_path: Path) -> None:
    store, run_id = special_run(tmp_path / "runs.duckdb")
    kinds = [row.kind for row in store.actions(run_id)]
    query = row_query("actions", columns="kind")
    lines = list(csv.reader(io.StringIO(content(store, run_id, query, "csv").decode(), newline="")))
    assert [line[0] for line in lines[1:]] == [
        "'=1+1", "'+cmd|' /C calc'!A0", "'-2+3", "'@SUM(A1)", "'\tx", "a=b", "-12", "+5", 'plain, "quoted"\nline'
    ]  # fmt: skip
    rows = json.loads(content(store, run_id, query, "json"))["rows"]
    assert [row[0] for row in rows] == kinds
    arrow = pa.ipc.open_stream(content(store, run_id, query, "arrow")).read_all()
    assert arrow["kind"].to_pylist() == kinds


def test_numbers_keep_every_digit_and_json_has_null_for_what_it_lacks(tmp_path: Path) -> None:
    store, run_id = special_run(tmp_path / "runs.duckdb")
    query = row_query("market_snapshots", columns="number")
    text = content(store, run_id, query, "json").decode()
    assert "NaN" not in text
    assert json.loads(text)["rows"] == [[None], [None], [None], [0.1], [1e-300], [5e-324], [123456789.123456789]]
    arrow = pa.ipc.open_stream(content(store, run_id, query, "arrow")).read_all()
    numbers = arrow["number"].to_pylist()
    assert math.isnan(numbers[0])
    assert numbers[1:] == [math.inf, -math.inf, 0.1, 1e-300, 5e-324, 123456789.123456789]
    exact = content(store, run_id, row_query("kpis", ["value:lt:0"], columns="value"), "json")
    assert json.loads(exact)["rows"] == [[str(-(2**256))]]


@pytest.mark.slow(1)
def test_a_hundred_thousand_rows_are_paged_and_sent_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store, run_id = stored(path, [action(0)])
    many = 100_000
    template: ActionRow = next(iter(store.actions(run_id)))
    values = {"run_id": run_id, "fee_wei_number": 0.0} | {
        name: getattr(template, name) for name in ActionRow.__dataclass_fields__
    }
    columns = [[values[name]] * many if name != "seq" else list(range(1, many + 1)) for name in TABLES["actions"]]
    SegmentFolder(path).create()
    SegmentFolder(path).write(run_id, 99, {"actions": columns})
    last = content(store, run_id, row_query("actions", columns="seq"), "json", 10, many - 5)
    assert json.loads(last)["rows"] == [[seq] for seq in range(many - 5, many + 1)][:10]
    for format in ("csv", "arrow", "json"):
        found = rows_file(store, run_id, row_query("actions"), format, many, 0)  # type: ignore[arg-type]
        assert (found.rows, found.total) == (many, many + 1)
        parts = [len(part) for part in found.chunks()]
        assert sum(parts) == found.size
        assert len(parts) > 10
        assert max(parts) <= 256 * 1024
