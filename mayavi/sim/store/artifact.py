"""Write a run to a bundle, and verify a bundle by running it again.

The bundle holds the rows as Parquet, the complete scenario, and the versions it ran with. Nothing in it depends on time
or run id: two runs with the same digest and versions give the same bytes.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import BundleError, UsageError
from mayavi.records.parquet import parquet_bytes
from mayavi.runs.bundle import Bundle, Check, read_bundle, write_bundle
from mayavi.sim.rows import Row
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.store.database.schema import DERIVED, TABLES, literal
from mayavi.sim.store.database.views import reading

if TYPE_CHECKING:
    from mayavi.sim.store.store import Store

KIND = "run"
SCENARIO = "scenario.yaml"
REPORT = "report.html"
ROWS = {table: f"rows/{table}.parquet" for table in ("actions", "market_snapshots", "kpis", "accounts")}


@dataclass(frozen=True, slots=True)
class BundledRun:
    """Facts of a run in a bundle: everything needed to run it again."""

    scenario: str
    scenario_text: str
    seed: int
    steps: int
    chain: str
    source: str
    status: str
    digest: str
    world_digest: str
    final_world_digest: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Digests and versions of the repeated run."""

    digest: str
    world_digest: str
    final_world_digest: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of a verification: `verified` if every check is equal. Different versions are only reported."""

    bundle: Bundle
    run: BundledRun
    checks: tuple[Check, ...]
    versions: tuple[Check, ...]

    @property
    def verified(self) -> bool:
        """Whether the repeated run gave the same digests."""
        return all(check.equal for check in self.checks)


Report = Callable[["BundledRun", Mapping[str, list[dict[str, Any]]]], bytes]
"""Function that renders the report of a bundled run from its rows, by table."""


def write_artifact(store: Store, run_id: str, path: Path, report: Report | None = None) -> str:
    """Write the run to a bundle at `path` and return the SHA-256 of the file; `report` adds its report.

    Raises `UsageError` for a run that could not be verified: one that did not end, or has no scenario.
    """
    run = store.run(run_id)
    if run.status not in {"finished", "halted"}:
        raise UsageError(
            f"run '{run.run_id}' is {run.status}",
            "only a finished or halted run can be verified, and so bundled",
        )
    require_scenario(run.scenario_text, f"run '{run.run_id}'")
    columns: dict[str, list[tuple[Any, ...]]] = {}
    with reading(store.path) as connection:
        for table in ROWS:
            names = ", ".join(_columns(table))
            query = f"SELECT {names} FROM {table} WHERE run_id = {literal(run.run_id)} ORDER BY seq"
            columns[table] = connection.execute(query).fetchall()
    if (found := _digest_of(columns)) != run.digest:
        raise BundleError(
            f"the rows of run '{run.run_id}' are not those it ended with: their digest is {found[:16]}…,"
            f" not {run.digest[:16]}…",
            "the database was changed after the run; run the scenario again",
        )
    facts = {
        "run": {name: getattr(run, name) for name in BundledRun.__dataclass_fields__ if name != "scenario_text"},
        "rows": {table: len(rows) for table, rows in columns.items()},
    }
    files = {SCENARIO: run.scenario_text.encode()}
    for table, rows in columns.items():
        values = list(zip(*rows, strict=True)) or [()] * len(_columns(table))
        kinds = TABLES[table]
        files[ROWS[table]] = parquet_bytes(
            {name: (kinds[name], list(column)) for name, column in zip(_columns(table), values, strict=True)}
        )
    if report is not None:
        bundled = BundledRun(**{name: getattr(run, name) for name in BundledRun.__dataclass_fields__})
        files[REPORT] = report(bundled, _named(columns))
    return write_bundle(path, KIND, facts, files)


def require_scenario(text: str, what: str) -> None:
    """Raise `UsageError` if a run has no scenario from which it can be run again."""
    if not text.strip():
        raise UsageError(
            f"{what} was built in Python and has no scenario, so that nobody could verify its bundle",
            "`mayavi runs export` writes its rows; an agent of your own can be part of a scenario file, whose runs are"
            " bundled: docs/how-to/write-an-agent.md",
        )


def read_artifact(path: Path) -> tuple[Bundle, BundledRun]:
    """Read the bundle of a run; raise `BundleError` if a hash or the digest of its rows is wrong."""
    bundle = read_bundle(path)
    try:
        if bundle.kind != KIND:
            raise BundleError(f"'{path}' is a bundle of kind '{bundle.kind}', not of a run", "name another one")
        run = BundledRun(scenario_text=bundle.text(SCENARIO), **bundle.facts["run"])
        rows = _rows_in(bundle)
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        raise BundleError(f"'{path}' lacks what a run needs: {error}", "`mayavi artifact RUN_ID` writes it") from error
    if _digest_of(rows) != run.digest:
        raise BundleError(f"the rows in '{path}' are not those of its digest", "get it again from where it came from")
    return bundle, run


def verify_artifact(
    path: Path, run_again: Callable[[BundledRun], Outcome], report: Report | None = None
) -> Verification:
    """Check the bundle at `path`, repeat its run with `run_again`, and compare.

    With `report`, a report in the bundle is rendered again from its rows, if the versions are the same.
    """
    bundle, run = read_artifact(path)
    require_scenario(run.scenario_text, f"the run in '{path}'")
    outcome = run_again(run)
    checks: tuple[Check, ...] = (
        Check("world before", run.world_digest, outcome.world_digest),
        Check("rows", run.digest, outcome.digest),
        Check("world after", run.final_world_digest, outcome.final_world_digest),
    )
    if report is not None and REPORT in bundle.files and run.versions.get("mayavi") == outcome.versions.get("mayavi"):
        rendered = report(run, _named(_rows_in(bundle)))
        checks += (Check("report", digest_of(bundle.files[REPORT]), digest_of(rendered)),)
    names = sorted({*run.versions, *outcome.versions})
    versions = tuple(Check(each, run.versions.get(each, "none"), outcome.versions.get(each, "none")) for each in names)
    return Verification(bundle, run, checks, versions)


def digest_of(content: bytes) -> str:
    """SHA-256 of a file in a bundle."""
    return hashlib.sha256(content).hexdigest()


def _named(tables: Mapping[str, list[tuple[Any, ...]]]) -> dict[str, list[dict[str, Any]]]:
    """Rows by column name."""
    return {table: [dict(zip(_columns(table), row, strict=True)) for row in rows] for table, rows in tables.items()}


def _columns(table: str) -> list[str]:
    """Return the columns of a table without the run id and derived values."""
    return [name for name in TABLES[table] if name != "run_id" and name not in DERIVED]


def _digest_of(tables: dict[str, list[tuple[Any, ...]]]) -> str:
    from mayavi.sim.store.database.row_conversion import MADE

    rows: list[tuple[int, Row]] = []
    for table, values in tables.items():
        for value in values:
            row = dict(zip(_columns(table), value, strict=True))
            rows.append((row["seq"], MADE[table](row)))
    digest = RowsDigest()
    digest.add(row for _, row in sorted(rows, key=lambda each: each[0]))
    return digest.hexdigest()


def _rows_in(bundle: Bundle) -> dict[str, list[tuple[Any, ...]]]:
    import duckdb

    tables: dict[str, list[tuple[Any, ...]]] = {}
    with tempfile.TemporaryDirectory(prefix="mayavi-bundle-") as folder, duckdb.connect() as connection:
        for table, name in ROWS.items():
            if table == "accounts" and name not in bundle.files:  # written before there was such a table
                tables[table] = []
                continue
            file = Path(folder) / f"{table}.parquet"
            file.write_bytes(bundle.files[name])
            try:
                query = f"SELECT {', '.join(_columns(table))} FROM read_parquet({literal(str(file))}) ORDER BY seq"
                tables[table] = connection.execute(query).fetchall()
            except duckdb.Error as error:
                raise BundleError(f"'{name}' in '{bundle.path}' cannot be read", str(error).splitlines()[0]) from error
    return tables
