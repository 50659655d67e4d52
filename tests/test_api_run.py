"""`mayavi.run` and `mayavi.sweep`: everything the command line does, in three lines of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mayavi
from mayavi import Fork
from mayavi.errors import RunHalted, StoreUnreadable, UsageError
from mayavi.scenarios.figures.formatting import shown_number, title_of
from mayavi.scenarios.run.overrides import override_texts
from mayavi.scenarios.run.request import RunListener, RunRequest
from mayavi.scenarios.run.result import Run
from mayavi.sim.rows import ActionRow
from mayavi.worlds.source import WorldSource

SMALL: dict[str, Any] = {"steps": 4, "overrides": {"agents.borrowers.count": 6, "prices.WETH.at": 1}}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return mayavi.run(
        "depeg_cascade", chain="base", seed=7, store=tmp_path_factory.mktemp("api") / "runs.duckdb", **SMALL
    )


@pytest.mark.slow(0.3)
def test_a_run_has_its_rows_and_figures_at_hand(run) -> None:
    assert (run.scenario, run.chain, run.seed, run.steps, run.status) == ("depeg_cascade", "base", 7, 4, "finished")
    actions = run.actions.df()
    assert {"step", "agent", "kind", "status", "reason", "fee_wei", "details"} <= set(actions.columns)
    assert len(actions) == run.kpis["actions"]
    assert (actions["status"] == "failed").sum() == run.kpis["failed"]
    snapshots = run.snapshots.df()
    assert sorted(snapshots["step"].unique()) == [-1, 0, 1, 2, 3]
    assert all(isinstance(row, ActionRow) for row in run.actions)
    assert run.store.digest(run.run_id) == run.digest


def test_figures_are_a_mapping_of_numbers_with_the_exact_ones_behind(run) -> None:
    assert "bad_debt" in run.kpis
    exact = run.kpis.exact("bad_debt")
    assert run.kpis["bad_debt"] == int(exact.value) / 10**8
    assert dict(run.kpis)["steps" if "steps" in run.kpis else "actions"] > 0
    with pytest.raises(KeyError):
        run.kpis["tulips"]


def test_a_notebook_shows_a_table(run) -> None:
    html = run._repr_html_()
    for part in ("<table>", "bad debt", run.run_id, run.digest[:16], "depeg_cascade · base · seed 7"):
        assert part in html
    assert "<table>" in run.kpis._repr_html_()


def test_a_run_is_the_commands_run(run, run_mayavi, tmp_path: Path) -> None:
    import json

    options = ("--steps", "4", "--set", "agents.borrowers.count=6", "--set", "prices.WETH.at=1", "--json")
    place = ("--store", str(tmp_path / "runs.duckdb"))
    finished = run_mayavi("run", "depeg_cascade", "--chain", "base", "--seed", "7", *options, *place)
    assert json.loads(finished.stdout)["digest"] == run.digest


def test_progress_is_told_step_by_step(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    mayavi.run("aave_borrower", store=tmp_path / "runs.duckdb", progress=lambda *each: told.append(each))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_listener_hears_every_stage_of_a_run_in_order(tmp_path: Path) -> None:
    heard: list[Any] = []

    class Listener(RunListener):
        def open_world(self, world: WorldSource) -> Fork:
            heard.append(("open", world.kind))
            return super().open_world(world)

        def started(self, request: RunRequest) -> None:
            heard.append(("started", request.scenario.name, request.seed))

        def step_done(self, done: int, total: int) -> None:
            heard.append((done, total))

        def finished(self, run: Run) -> None:
            heard.append(("finished", run.run_id))

    done = mayavi.run("aave_borrower", seed=3, store=tmp_path / "runs.duckdb", listener=Listener())
    steps = [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert heard == [("open", "replica"), ("started", "aave_borrower", 3), *steps, ("finished", done.run_id)]


def test_an_unusable_store_is_refused_before_the_world_is_opened(tmp_path: Path) -> None:
    class Listener(RunListener):
        def open_world(self, world: WorldSource) -> Fork:
            raise AssertionError("opened")

    with pytest.raises(StoreUnreadable, match="is a folder"):
        mayavi.run("aave_borrower", store=tmp_path, listener=Listener())


@pytest.mark.slow
def test_a_sweep_of_a_grid(tmp_path: Path) -> None:
    sweep = mayavi.sweep(
        "depeg_cascade",
        seeds=range(2),
        grid={"prices.WETH.size": ["-10%", "-60%"]},
        jobs=1,
        store=tmp_path / "runs.duckdb",
        **SMALL,
    )
    mild, hard = sweep.points
    assert mild.overrides == ("prices.WETH.size=-10%",)
    assert mild.value_at_risk is not None
    assert hard.value_at_risk is not None
    assert mild.value_at_risk.at_risk.value < hard.value_at_risk.at_risk.value
    frame = sweep.df()
    assert list(frame["seed"]) == [0, 0, 1, 1]
    assert list(frame["prices.WETH.size"]) == ["-10%", "-60%"] * 2
    assert (frame["bad_debt"] >= 0).all()
    assert list(frame["digest"]) == list(sweep.digests)
    assert sweep.runs[0].actions.df().shape[0] == sweep.runs[0].kpis["actions"]
    assert "<table>" in sweep._repr_html_()
    assert "prices.WETH.size=-60%" in sweep._repr_html_()
    with pytest.raises(ValueError, match="2 points"):
        sweep.summary  # noqa: B018


@pytest.mark.slow(0.5)
def test_a_sweep_without_a_grid_has_one_summary(tmp_path: Path) -> None:
    place = tmp_path / "runs.duckdb"
    sweep = mayavi.sweep("depeg_cascade", seeds="0:3", jobs=1, store=place, **SMALL)
    assert sweep.summary["bad_debt"].count == 3
    again = mayavi.sweep("depeg_cascade", seeds=[0, 1, 2], jobs=1, store=place, **SMALL)
    assert (again.resumed, again.sweep_id, again.points) == (3, sweep.sweep_id, sweep.points)


class BrokenError(Exception):
    pass


def test_an_agent_that_breaks_is_counted_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_borrowers(monkeypatch)
    done = mayavi.run("aave_borrower", store=tmp_path / "runs.duckdb")
    assert (done.status, done.kpis["raised"]) == ("finished", 3)  # it opens its loan in the first step
    (reason,) = {row.reason.strip().splitlines()[-1] for row in done.actions if row.status == "raised"}
    assert "BrokenError: out of order" in reason


def test_a_run_that_is_to_halt_stops_with_the_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_borrowers(monkeypatch)
    store = tmp_path / "runs.duckdb"
    with pytest.raises(RunHalted, match="out of order") as stopped:
        mayavi.run("aave_borrower", overrides={"halt_on_exception": True}, store=store)
    assert "BrokenError: out of order" in stopped.value.traceback
    (record,) = mayavi.Store(store).runs()
    assert record.status == "halted"
    assert "BrokenError: out of order" in record.error


def break_borrowers(monkeypatch: pytest.MonkeyPatch) -> None:
    from mayavi.agents.lending.borrower import BorrowerAgent

    def step(self: Any, world: Any, step_idx: int) -> Any:
        raise BrokenError("out of order")

    monkeypatch.setattr(BorrowerAgent, "step", step)


def test_overrides_from_python_are_what_set_takes() -> None:
    given = {"a.b": 5, "c": "-25%", "d": [1, 2.5], "e": {"uniform": [1, 2]}, "f": True}
    assert override_texts(given) == ["a.b=5", "c=-25%", "d=[1, 2.5]", 'e={"uniform": [1, 2]}', "f=true"]
    assert override_texts(["a=1"]) == ["a=1"]
    with pytest.raises(UsageError, match="overrides are 'a=1'"):
        override_texts("a=1")
    with pytest.raises(UsageError, match="cannot be written into a scenario"):
        override_texts({"a": object()})


@pytest.mark.parametrize(
    ("number", "unit", "name", "text"),
    [
        (1_412_380.4, "usd_e8", "liquidated", "$1,412,380"),
        (12.5, "usd_e8", "", "$12.50"),
        (0.0, "usd_e8", "", "$0"),
        (-5_000.0, "usd_e8", "", "−$5,000"),
        (41.0, "count", "", "41"),
        (41.25, "count", "", "41.2"),
        (-0.2505, "wad", "price_impact.WETH/USDC.500", "−25.1 %"),
        (1.07214, "wad", "health_factor.alice", "1.0721"),
        (21e15, "wei", "fees_wei", "0.021 ETH"),
        (0.0425, "ray", "borrow_rate", "4.25 %"),
        (0.00002, "e18", "", "0.00002"),
        (5_000_000.0, "e18", "", "5,000,000.00"),
    ],
)
def test_figures_are_shown_as_people_read_them(number: float, unit: str, name: str, text: str) -> None:
    assert shown_number(number, unit, name) == text


def test_names_of_figures_are_shown_as_words() -> None:
    assert title_of("bad_debt_accounts") == "bad debt accounts"
    assert title_of("price_impact.WETH/USDC.500") == "price impact WETH/USDC.500"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"set": {"steps": 3}}, "did you mean 'overrides'?"),
        ({"override": {"steps": 3}}, "did you mean 'overrides'?"),
        ({"sed": 7}, "did you mean 'seed'?"),
        ({"volatility": "80%"}, "overrides={'volatility': '80%'}"),
    ],
)
def test_an_argument_that_is_none_is_a_misuse_with_a_hint(arguments: dict[str, Any], hint: str) -> None:
    with pytest.raises(UsageError, match=f"mayavi.run takes no '{next(iter(arguments))}'") as found:
        mayavi.run("depeg_cascade", **arguments)
    assert hint in str(found.value.hint)
    with pytest.raises(UsageError, match="takes no 'set'"):
        mayavi.sweep("depeg_cascade", seeds=[1], set={})


def test_gas_is_told_in_the_coin_of_the_chain() -> None:
    assert title_of("fees_wei") == "gas fees"
    coins = {chain: shown_number(773e15, "wei", "fees_wei", chain) for chain in ("base", "polygon", "avalanche")}
    assert coins == {"base": "0.773 ETH", "polygon": "0.773 POL", "avalanche": "0.773 AVAX"}


def test_rows_can_be_indexed(run) -> None:
    rows = list(run.actions)
    assert len(run.actions) == len(rows)
    assert (run.actions[0], run.actions[-1], run.actions[1:3]) == (rows[0], rows[-1], rows[1:3])
    for beyond in (len(rows), -len(rows) - 1):
        with pytest.raises(IndexError, match=f"no row {beyond}"):
            run.actions[beyond]
