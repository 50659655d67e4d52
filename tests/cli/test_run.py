"""`mayavi run`: a scenario once, stored, told; and whatever cannot be run refused with the next step."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mayavi.sim.store import Store

SMALL = ("depeg_cascade", "--steps", "4", "--set", "agents.borrowers.count=6", "--set", "prices.WETH.at=1")


@pytest.mark.slow(0.3)
def test_a_run_says_its_id_first_and_last_and_is_stored(run_mayavi, tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    finished = run_mayavi("run", *SMALL, "--seed", "7", "--store", str(store))
    assert finished.returncode == 0, finished.stderr
    first, *_, last = finished.stdout.splitlines()
    heading = re.fullmatch(r"depeg_cascade · ethereum · seed 7 · run (\S+)", first)
    assert heading
    run_id = heading[1]
    assert run_id in last
    record = Store(store).run(run_id)
    assert (record.scenario, record.chain, record.seed, record.steps) == ("depeg_cascade", "ethereum", 7, 4)
    assert (record.status, record.source) == ("finished", "replica")
    assert Store(store).digest(run_id) == record.digest
    assert f"digest {record.digest[:4]}…{record.digest[-4:]}" in last
    assert "count: 6" in record.scenario_text  # overrides applied: enough to run it again
    assert record.versions["mayavi"]


def test_it_tells_what_one_wants_to_know(run_mayavi, tmp_path: Path) -> None:
    told = run_mayavi("run", *SMALL, "--seed", "7", "--store", str(tmp_path / "runs.duckdb")).stdout
    assert "4 steps, 6 borrowers, 2 liquidators, arbitrageur" in told
    for figure in (
        r"\d+ transactions",
        r"liquidated +\$",
        r"bad debt +\$",
        r"WETH/USDC.500 .* → .* \(oracle −.* %, pool .*%\)",
    ):
        assert re.search(figure, told), told


def test_programs_get_one_object_and_nothing_else(run_mayavi, tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    finished = run_mayavi("run", *SMALL, "--seed", "7", "--store", str(store), "--json")
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    assert found["run_id"] in finished.stderr  # said before anything else, for whoever interrupts it
    assert (found["scenario"], found["chain"], found["seed"], found["status"]) == (
        "depeg_cascade",
        "ethereum",
        "7",
        "finished",
    )
    exact = found["kpis"]["bad_debt"]
    assert int(exact["value"]) / 10**8 == pytest.approx(exact["number"])
    assert {row.name: row.value for row in Store(store).kpis(found["run_id"])} == {
        name: kpi["value"] for name, kpi in found["kpis"].items()
    }


@pytest.mark.slow(1)
def test_what_makes_figures_doubtful_is_told_by_run_show_and_sweep_alike(run_mayavi, tmp_path: Path) -> None:
    options = (*SMALL, "--set", "agents.arbitrageur.capital={WETH: 1, USDC: 1}", "--store", str(tmp_path / "r.duckdb"))
    note = "liquidators sold what they seized at +"
    assert f"note: {note}" in run_mayavi("run", *options).stdout
    shown = run_mayavi("runs", "show", "latest", "--store", str(tmp_path / "r.duckdb")).stdout
    assert f"note: {note}" in shown
    told = json.loads(run_mayavi("run", *options, "--json").stdout)["notes"]
    sold, pool = (next(each for each in told if start in each) for start in ("sold what they seized", " ends "))
    assert any("the capital of the arbitrageurs" in each for each in told)
    assert (sold.startswith(note), pool.startswith("WETH/USDC.500 ends +")) == (True, True)
    swept = run_mayavi("sweep", *options, "--seeds", "0:3", "--jobs", "1")
    assert f"note: in 3 of 3 runs: {note}" in swept.stdout


@pytest.mark.slow(1)
def test_the_same_seed_gives_the_same_digest_on_any_number_of_threads(run_mayavi, tmp_path: Path) -> None:
    def digest(*options: str) -> str:
        finished = run_mayavi("run", *SMALL, "--store", str(tmp_path / "runs.duckdb"), "--json", *options)
        return str(json.loads(finished.stdout)["digest"])

    first = digest("--seed", "7", "--threads", "1")
    assert digest("--seed", "7", "--threads", "2") == first
    assert digest("--seed", "8") != first


@pytest.mark.slow(0.6)
def test_another_chain_and_a_snapshot_of_it_give_the_same_run(run_mayavi, tmp_path: Path) -> None:
    world, store = tmp_path / "base.snapshot", str(tmp_path / "runs.duckdb")
    assert run_mayavi("world", "build", "base", "--output", str(world)).returncode == 0
    options = ("run", *SMALL, "--chain", "base", "--seed", "3", "--store", store, "--json")
    replica, snapshot = run_mayavi(*options), run_mayavi(*options, "--snapshot", str(world))
    assert snapshot.returncode == 0, snapshot.stderr
    assert json.loads(snapshot.stdout)["digest"] == json.loads(replica.stdout)["digest"]
    sources = {record.source for record in Store(store).runs()}
    assert sources == {"replica", "snapshot"}


def test_a_scenario_of_ones_own_is_run_by_its_path(run_mayavi, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "chain: ethereum\nsteps: 2\nstep_time: 1h\nagents:\n  alice: {kind: borrower, protocol: aave_v3, "
        "collateral: 1 WETH, debt: 1_000 USDC}\n"
    )
    finished = run_mayavi("run", str(path), "--store", str(tmp_path / "runs.duckdb"))
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("mine · ethereum · seed 0 · run ")
    assert "2 steps, alice" in finished.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["depeg_casade"], "unknown scenario 'depeg_casade'", "did you mean 'depeg_cascade'?"),
        (["nowhere.yaml"], "there is no scenario at 'nowhere.yaml'", "mayavi scenarios new"),
        (["svm_launch_replay"], "parked", "launch_replay"),
        (["aave_borrower", "--chain", "etherium"], "unknown chain 'etherium'", "did you mean 'ethereum'?"),
        (["spark_borrower", "--chain", "base"], "cannot be run on 'base'", "ethereum"),
        (["aave_borrower", "--steps", "0"], "steps", ""),
        (["aave_borrower", "--steps", "many"], "many", "--help"),
        (["aave_borrower", "--seed", "-1"], "seed -1 is out of range", "2**63 - 1"),
        (["aave_borrower", "--seed", str(2**63)], f"seed {2**63} is out of range", "2**63 - 1"),
        (["aave_borrower", "--seed", "x"], "'x'", "--help"),
        (["aave_borrower", "--threads", "0"], "0 threads do nothing", "from 1"),
        (["depeg_cascade", "--set", "agents.borrowers.cuont=5"], "unknown key 'cuont'", "did you mean 'count'?"),
        (["depeg_cascade", "--set", "agents.borrowers.count=0"], "count", ""),
        (["depeg_cascade", "--set", "agents.borrowers.count=-5"], "-5", ""),
        (["depeg_cascade", "--set", "agents.liquidators.capital.USDC=-5"], "-5", ""),
        (["depeg_cascade", "--set", "agents={}"], "agents", ""),
        (["depeg_cascade", "--set", "steps"], "--set steps", "--set"),
        (["aave_borrower", "--source", "replika"], "unknown source 'replika'", "did you mean 'replica'?"),
        (["aave_borrower", "--source", "snapshot"], "needs a file", "--snapshot FILE"),
        (["aave_borrower", "--snapshot", "nowhere"], "no snapshot at 'nowhere'", "world build"),
        (["aave_borrower", "--block", "5"], "error: --block 5: there is no replica of ethereum at block 5", "17666333"),
        (["aave_borrower", "--set", "source=rpcc"], "error: --set source=rpcc: unknown source", "did you mean 'rpc'?"),
        (["aave_borrower", "--set", "source=rpc:http://x"], "the URL of a node is no part", "MAYAVI_RPC_URL"),
        (["aave_borrower", "--set", "watch.every=0"], "watch.every", ""),
        (["aave_borrower", "--source", "rpc", "--block", "x"], "'x' is not a block", "number"),
        (
            ["depeg_cascade", "--set", "agents.arbitrageur.pool=WETH/FOO.500"],
            "error: --set agents.arbitrageur.pool=WETH/FOO.500: agents.arbitrageur: unknown pool 'WETH/FOO.500'",
            "did you",
        ),
        (
            ["depeg_cascade", "--set", "agents.borrowers.collateral=FOO"],
            "error: --set agents.borrowers.collateral=FOO: agents.borrowers: unknown asset of Aave V3 'FOO'",
            "WETH",
        ),
        (["depeg_cascade", "--steps", "2"], "error: --steps 2: the price of WETH changes at step 2", "more steps"),
        (
            ["depeg_cascade", "--steps", "9", "--set", "prices.WETH.at=10"],
            "--set prices.WETH.at=10 with --steps 9: ",
            "let it change earlier",
        ),
        (["depeg_cascade", "--set", "step_blocks=4"], "error: --set step_blocks=4: ", "leave one of them out"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_run_is_a_misuse_and_stores_nothing(
    run_mayavi, tmp_path: Path, arguments: list[str], message: str, hint: str
) -> None:
    store = tmp_path / "runs.duckdb"
    finished = run_mayavi("run", *arguments, "--store", str(store), cwd=tmp_path)
    assert finished.returncode == 2, finished.stderr
    assert finished.stderr.startswith("error: ")
    assert message in finished.stderr
    assert hint in finished.stderr
    assert "Traceback" not in finished.stderr
    assert finished.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(0.4)
@pytest.mark.parametrize("command", [("run", *SMALL), ("sweep", *SMALL, "--steps", "4", "--seeds", "0:2")])
def test_a_database_that_cannot_be_used_is_refused_before_anything_is_said_or_run(
    run_mayavi, tmp_path: Path, command: tuple[str, ...]
) -> None:
    import duckdb

    text, newer, folder = tmp_path / "notes.txt", tmp_path / "newer.duckdb", tmp_path / "folder.duckdb"
    text.write_text("not a database at all, but long enough to look at")
    assert run_mayavi("run", *SMALL, "--store", str(newer)).returncode == 0
    with duckdb.connect(newer) as connection:
        connection.execute("UPDATE mayavi_schema SET version = 99")
    folder.mkdir()
    told = {
        text: ("is not a DuckDB database", "--store"),
        newer: ("has schema version 99, this mayavi knows versions up to", "use the newer mayavi that wrote it"),
        folder: ("is a folder, not a database", "folder.duckdb/runs.duckdb"),
    }
    for store, (message, hint) in told.items():
        before = store.read_bytes() if store.is_file() else b""
        finished = run_mayavi(*command, "--store", str(store))
        assert (finished.returncode, finished.stdout) == (1, "")
        assert message in finished.stderr
        assert hint in finished.stderr
        assert "Traceback" not in finished.stderr
        assert (store.read_bytes() if store.is_file() else b"") == before


def test_without_a_node_it_says_how_to_name_one(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi(
        "run",
        "aave_borrower",
        "--source",
        "rpc",
        "--store",
        str(tmp_path / "runs.duckdb"),
        env={"MAYAVI_RPC_URL": "", "MAYAVI_RPC_URL_ETHEREUM": "", "ALCHEMY_RPC_URL": ""},
    )
    assert finished.returncode == 2
    assert "MAYAVI_RPC_URL" in finished.stderr


def test_a_replica_that_is_not_built_yet_is_built_before_everybodys_eyes(capsys: pytest.CaptureFixture[str]) -> None:
    from mayavi.cli.run import open_with_progress
    from mayavi.worlds.source import WorldSource

    class Unbuilt(WorldSource):
        def open(self, progress=None):
            for done in range(3):
                progress("contracts", done, 3)

    open_with_progress(Unbuilt(chain="base"))
    assert capsys.readouterr().err == "building the replica of base, 3 steps; it is kept for the next time …\n"


@pytest.mark.slow(3)
def test_opening_many_positions_is_shown_as_progress(run_mayavi, tmp_path: Path) -> None:
    options = ("run", "depeg_cascade", "--steps", "3", "--store", str(tmp_path / "runs.duckdb"))
    many = run_mayavi(*options, "--set", "agents.borrowers.count=4000")
    assert many.returncode == 0, many.stderr
    assert "opening the positions of 4,000 accounts …" in many.stderr
    few = run_mayavi(*options, "--set", "agents.borrowers.count=20")
    assert "opening the positions" not in few.stderr
