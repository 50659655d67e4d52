"""What the command line may import before it knows what to do. Watched by module, not by the clock: clocks differ."""

from __future__ import annotations

import ast
import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from mayavi import cli
from mayavi.cli.app import app_for, app_of
from mayavi.cli.entries import ENTRIES

HEAVY = [
    "numpy",
    "mayavi._kernel",
    "mayavi.evm",
    "mayavi.worlds",
    "rich",
    "httpx",
    "pydantic",
    "sqlite3",
    "vyper",
    "eth_abi",
]

LIGHT = {
    *(
        "__future__",
        "collections.abc",
        "contextlib",
        "dataclasses",
        "enum",
        "itertools",
        "os",
        "pathlib",
        "sys",
        "time",
    ),
    "typing",
    *("typer", "mayavi", "mayavi.errors", "mayavi.setup_errors"),
}
"""What the file of a command may import at its top, beside `mayavi.cli`."""

NOT_COMMANDS = {"console", "printing"}
"""Sub-packages of `mayavi.cli` that hold no commands."""

REPORT = "; import json, sys; print(); print(json.dumps(sorted(sys.modules)))"


def modules_after(statement: str) -> set[str]:
    finished = subprocess.run(
        [sys.executable, "-c", statement + REPORT], capture_output=True, text=True, timeout=600, check=True
    )
    return set(json.loads(finished.stdout.splitlines()[-1]))


def test_importing_the_package_imports_nothing_else() -> None:
    imported = modules_after("import mayavi")
    assert {name for name in imported if name.startswith("mayavi")} == {"mayavi"}
    assert not imported & {*HEAVY, "typer", "asyncio", "importlib.metadata"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["validate", "--help"], ["world", "build", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    imported = modules_after(f"from mayavi.cli import main; assert main({arguments!r}) == 0")
    assert not imported & set(HEAVY)


@pytest.mark.slow(0.5)
def test_a_plain_demo_needs_no_drawing_library_and_no_numpy() -> None:
    imported = modules_after("from mayavi.cli import main; assert main(['demo']) == 0")
    assert not imported & {"rich", "numpy", "httpx", "pydantic", "vyper"}


@pytest.mark.slow(1)
def test_a_command_is_made_without_the_others() -> None:
    for words in (["run", "depeg_cascade"], ["runs", "list"], ["eval"]):
        assert list(get_command(app_for(words)).commands) == words[:1]
    everything = list(get_command(app_of()).commands)
    assert sorted(everything) == sorted(entry.name for entry in ENTRIES)
    for words in ([], ["--help"], ["--debug", "run"], ["rnu"], ["Run"]):
        assert list(get_command(app_for(words)).commands) == everything


def test_a_command_is_imported_without_the_others() -> None:
    imported = modules_after("from mayavi.cli import main; assert main(['world', 'build', '--help']) == 0")
    commands = {f"mayavi.cli.{entry.target.partition(':')[0]}" for entry in ENTRIES}
    assert imported & commands == {"mayavi.cli.world"}


CLI = Path(cli.__file__).parent
FILES = {path.relative_to(CLI) for path in CLI.rglob("*.py")}
COMMANDS = sorted(
    path.as_posix()
    for path in FILES - {Path(name) for name in ("__init__.py", "app.py", "entries.py")}
    if path.parts[0] not in NOT_COMMANDS
)


def test_the_files_of_commands_are_found() -> None:
    assert {f"{entry.target.partition(':')[0].replace('.', '/')}.py" for entry in ENTRIES} <= set(COMMANDS)
    assert {"replay/options.py", "runs/accounts.py", "validate/gates.py"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_what_it_works_with_inside_its_functions(command: str) -> None:
    tree = ast.parse((CLI / command).read_text(encoding="utf-8"))
    top = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    top |= {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in top if not name.startswith("mayavi.cli.")} <= LIGHT


RUN_WITHOUT_BYTECODE = """
import sys
sys.argv = ["mayavi", "--version"]
from mayavi.cli import main
assert main() == 0
"""


@pytest.mark.slow(1)
def test_where_python_keeps_no_bytecode_the_command_line_keeps_its_own(repository: Path, tmp_path: Path) -> None:
    package, cache = tmp_path / "copy" / "mayavi", tmp_path / "cache"
    shutil.copytree(repository / "mayavi", package, ignore=shutil.ignore_patterns("__pycache__", "_kernel*.so"))
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "MAYAVI_CACHE_DIR": str(cache)}

    def start() -> dict[str, bytes]:
        command = [sys.executable, "-c", RUN_WITHOUT_BYTECODE]
        subprocess.run(command, cwd=package.parent, env=environment, capture_output=True, timeout=600, check=True)
        return {path.name: path.read_bytes() for path in cache.rglob("*") if path.is_file()}

    kept = start()
    assert {"mayavi.cli.console.outcome", "mayavi.cli.app", "mayavi.cli.run", "mayavi.errors"} <= set(kept)
    assert not list(package.rglob("__pycache__"))
    assert {name for name in kept if not name.startswith("mayavi")} == set()
    assert start() == kept

    changed = package / "cli/console/outcome.py"
    changed.write_text(changed.read_text(encoding="utf-8") + "\nMARK = 1\n", encoding="utf-8")
    after = start()
    assert {name for name in kept if after[name] != kept[name]} == {"mayavi.cli.console.outcome"}

    for path in cache.rglob("mayavi.cli.app"):
        path.write_bytes(kept["mayavi.cli.app"][:40])
    assert start() == after


@pytest.mark.slow(0.5)
def test_the_first_start_takes_what_python_compiled_before(repository: Path, tmp_path: Path) -> None:
    package = tmp_path / "copy" / "mayavi"
    shutil.copytree(repository / "mayavi", package, ignore=shutil.ignore_patterns("__pycache__", "_kernel*.so"))
    source = package / "cli" / "app.py"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace('print(f"mayavi ', 'print(f"MAYAVI '), encoding="utf-8")
    os.utime(source, (1e9, 1e9))
    py_compile.compile(str(source), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    source.write_text(text, encoding="utf-8")
    os.utime(source, (1e9, 1e9))  # so that only the bytecode has the other word
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "MAYAVI_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "mayavi", "--version"]
    for _ in range(2):
        done = subprocess.run(command, cwd=package.parent, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.startswith("MAYAVI ")


def test_a_bytecode_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "MAYAVI_CACHE_DIR": str(blocked)}
    command = [sys.executable, "-m", "mayavi", "--version"]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
    assert finished.stdout.startswith("mayavi ")


@pytest.mark.slow(0.5)
def test_reading_a_scenario_needs_no_database_and_no_search_for_plugins() -> None:
    statement = "import sys; sys.argv = ['mayavi', 'scenarios', 'show', 'aave_borrower']; from mayavi.cli import main; "
    statement += "assert main() == 0; from pydantic.plugin import _loader; assert _loader._plugins is None"
    imported = modules_after(statement)
    assert not imported & {"rich", "duckdb", "mayavi.worlds.tables.chain"}


NOT_FOR_A_RUN = {
    *("duckdb", "rich", "httpx", "pandas", "pyarrow", "scipy", "jinja2", "sqlite3", "vyper", "fastapi", "ray", "torch"),
    *("asyncio", "email", "html", "multiprocessing", "socket", "zipfile"),
    *("mayavi.report", "mayavi.statistics", "mayavi.scenario_env", "mayavi.scenarios.sweep", "mayavi.cli.sweep"),
    *("mayavi.sim.store.store", "mayavi.sim.store.explanation", "mayavi.worlds.tables.chain"),
    *("mayavi.protocols.compound", "mayavi.protocols.curve", "mayavi.protocols.uniswap.pool"),
    *("mayavi.agents.lending.compound", "mayavi.agents.lending.mixed_loan", "mayavi.agents.liquidation.liquidator"),
    *("mayavi.scenarios.build.agents.positions", "mayavi.scenarios.build.agents.trading"),
}
"""Modules that take long to import and that a run of one borrower on Aave does not need."""


@pytest.mark.slow(0.5)
def test_a_run_of_one_borrower_imports_nothing_else(tmp_path: Path) -> None:
    arguments = ["mayavi", "run", "aave_borrower", "--steps", "1", "--store", str(tmp_path / "runs.duckdb")]
    imported = modules_after(f"import sys; sys.argv = {arguments!r}; from mayavi.cli import main; assert main() == 0")
    assert "mayavi.sim.store.recorder" in imported
    assert "_duckdb" in imported
    assert not imported & NOT_FOR_A_RUN


@pytest.mark.slow(0.5)
def test_a_run_builds_validators_of_what_its_scenario_has(tmp_path: Path) -> None:
    arguments = ["mayavi", "run", "aave_borrower", "--steps", "1", "--store", str(tmp_path / "runs.duckdb")]
    statement = f"import sys; sys.argv = {arguments!r}; from mayavi.cli import main; assert main() == 0; "
    statement += "from mayavi.scenarios.models.config import ScenarioConfig; "
    statement += "built = repr(ScenarioConfig.__pydantic_core_schema__); assert 'GbmPrice' in built; "
    statement += "assert not [name for name in ('NewReserve', 'Learner', 'Liquidator', 'NewPool') if name in built]"
    modules_after(statement)


START_AND_MAKE = """
import sys
sys.argv = ["mayavi", "runs", "--help"]
from mayavi.cli import main
assert main() == 0
import collections, dataclasses, typing
@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Loan:
    debt: int
    holder: str = "alice"
loan = Loan(3)
assert (repr(loan), loan, hash(loan)) == ("Loan(debt=3, holder='alice')", Loan(3), hash(Loan(3)))
assert loan < Loan(4) != Loan(3)
try:
    loan.debt = 4
except dataclasses.FrozenInstanceError:
    print("frozen", dataclasses.exec.__module__)
Pair = collections.namedtuple("Pair", "left right", defaults=[5])
assert (Pair(3), Pair(right=1, left=2)) == ((3, 5), (2, 1))
def repay(amount: "int | None", to: "list['Loan']") -> "Loan": ...
assert typing.get_type_hints(repay) == {"amount": int | None, "to": list[Loan], "return": Loan}
try:
    typing.ForwardRef("not an annotation")
except SyntaxError as error:
    print(error)
import re
price = re.compile(r"(?P<Whole>\\d+)(\\.(?P<part>\\d+))?", re.IGNORECASE)
assert (price.pattern, price.flags, price.groups) == (r"(?P<Whole>\\d+)(\\.(?P<part>\\d+))?", re.I | re.U, 3)
assert price.groupindex == {"Whole": 1, "part": 3}
assert price.fullmatch("17.5").groupdict() == {"Whole": "17", "part": "5"}
assert price.fullmatch("17").lastgroup == "Whole" and not re.compile(r"[a-f]+\\Z").match("abx")
assert re.compile(rb"\\xff+").search(b"a\\xff\\xff").span() == (1, 3)
try:
    re.compile("(")
except re.error as error:
    print(error)
"""


@pytest.mark.slow(0.4)
def test_what_the_library_compiles_from_text_is_compiled_once(tmp_path: Path) -> None:
    (tmp_path / "replicas").mkdir()  # nothing is kept where the cache is not in use

    def start() -> tuple[bytes, int]:
        environment = {**os.environ, "MAYAVI_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", START_AND_MAKE]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
        assert "frozen mayavi.startup.compiled_texts" in done.stdout
        assert "must be an expression" in done.stdout
        assert "unterminated subpattern" in done.stdout
        (file,) = tmp_path.rglob("texts-*")
        assert file.name == "texts-runs"
        return file.read_bytes(), file.stat().st_mtime_ns

    kept = start()
    assert b"FrozenInstanceError" in kept[0]
    assert b"(?P<Whole>" in kept[0]
    assert start() == kept  # not even written again
    (file,) = tmp_path.rglob("texts-*")
    file.write_bytes(kept[0][:100])
    assert start()[0] == kept[0]


@pytest.mark.slow(0.4)
def test_package_metadata_is_read_on_use() -> None:
    statement = "from mayavi.startup.lazy_metadata import postpone_metadata; postpone_metadata(); import sys; "
    statement += "import importlib.metadata; from importlib.metadata import entry_points; import pydantic"
    used = "; assert 'email' not in sys.modules; assert entry_points(group='console_scripts'); "
    used += "assert importlib.metadata.version('numpy'); from importlib.metadata import PackageNotFoundError"
    assert "email" not in modules_after(statement)
    assert "email" in modules_after(statement + used)


@pytest.mark.slow(0.5)
def test_a_worker_of_the_service_loads_no_web_framework() -> None:
    loaded = modules_after("from mayavi.api.queue.workers.execution import execute_task")
    assert not loaded & {"fastapi", "starlette", "uvicorn", "duckdb"}
