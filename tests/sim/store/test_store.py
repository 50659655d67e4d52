"""A run goes in and comes out as it was."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from mayavi.errors import BadInteger, SetupError, StoreError, UnknownName, UnknownRun, UsageError
from mayavi.sim.rows import AccountRow, RunCounts, RunEnd, RunInfo, canonical
from mayavi.sim.store import SegmentRecorder, Store, SweepRecord
from mayavi.sim.store.explanation import Explanation, shown_wad
from tests.sim.store.sample_runs import KPIS, actions_of, info_of, snapshots_of, store_run


@pytest.mark.slow(0.3)
def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "data" / "runs.duckdb"
    info = store_run(path)
    store = Store(path)
    run = store.run(info.run_id)
    assert (run.status, run.seed, run.scenario_text, run.versions) == ("finished", 7, info.scenario_text, info.versions)
    assert abs(run.started_at.timestamp() - info.started_at) < 1e-5
    assert list(store.actions(info.run_id)) == [row for step in range(4) for row in actions_of(step)]
    assert list(store.snapshots(info.run_id)) == [row for step in range(4) for row in snapshots_of(step)]
    assert tuple(store.kpis(info.run_id)) == KPIS
    assert store.digest(info.run_id) == run.digest
    with duckdb.connect(path, read_only=True) as shell:
        assert shell.execute("select count(*) from actions").fetchone() == (12,)


def test_data_frames_need_pandas_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = store_run(tmp_path / "runs.duckdb")
    store = Store(tmp_path / "runs.duckdb")
    frame = store.actions(info.run_id).df()
    assert list(frame["fee_wei"]) == [row.fee_wei for row in store.actions(info.run_id)]
    assert "<td>borrow</td>" in store.actions(info.run_id)._repr_html_()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SetupError, match="need pandas"):
        store.actions(info.run_id).df()


def test_an_absent_store_is_empty_and_is_not_made(tmp_path: Path) -> None:
    store = Store(tmp_path / "a" / "runs.duckdb")
    assert list(store.runs()) == []
    assert store.merge().waiting == 0
    with pytest.raises(UnknownRun, match="unknown run 'latest'"):
        store.run("latest")
    assert list(tmp_path.iterdir()) == []


def test_a_run_with_an_impossible_seed_is_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    with SegmentRecorder(path) as recorder, pytest.raises(BadInteger, match="seed -1 is out of range"):
        recorder.begin(info_of(seed=-1))
    assert len(Store(path).runs()) == 0


def test_a_read_only_store_is_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    info = store_run(path)
    shutil.rmtree(tmp_path / "runs.duckdb.segments")
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        assert Store(path).digest(info.run_id) == Store(path).run(info.run_id).digest
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.slow(0.6)
def test_a_run_under_way_is_seen_as_it_grows_and_cannot_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store = Store(path)
    with SegmentRecorder(path, flush_rows=1) as recorder:
        info = info_of()
        recorder.begin(info)
        assert (store.run(info.run_id).status, len(store.actions(info.run_id))) == ("running", 0)
        recorder.record(actions_of(0), snapshots_of(0))
        assert list(store.actions(info.run_id)) == actions_of(0)
        store.merge()  # rows move on while the run goes on
        recorder.record(actions_of(1), snapshots_of(1))
        assert list(store.actions(info.run_id)) == actions_of(0) + actions_of(1)
        assert store.run(info.run_id).status == "running"
        with pytest.raises(StoreError, match="is still running"):
            store.remove(info.run_id)
        with pytest.raises(StoreError, match="has begun already"):
            SegmentRecorder(path).begin(info)
        recorder.end(RunEnd("halted", "d", (), "w", {}, "boom\ntraceback", RunCounts(2, 6)))
    run = store.run(info.run_id)
    assert (run.status, run.error, run.action_count, run.steps_done) == ("halted", "boom\ntraceback", 6, 2)


@pytest.mark.slow(0.4)
def test_removed_runs_are_gone_and_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    first, second, third = (store_run(path) for _ in range(3))
    store = Store(path)
    assert store.remove(first.run_id, third.run_id) == [first.run_id, third.run_id]
    assert [run.run_id for run in store.runs()] == [second.run_id]
    with duckdb.connect(path, read_only=True) as shell:
        for table in ("runs", "actions", "market_snapshots", "kpis"):
            assert shell.execute(f"SELECT DISTINCT run_id FROM {table}").fetchall() == [(second.run_id,)]
    with pytest.raises(UnknownRun):
        store.remove(first.run_id)


def test_a_sweep_that_begins_waits_in_a_segment_where_readers_see_it(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.duckdb")
    assert store.is_new
    begun = SweepRecord("sweep-1", "depeg_cascade", "text", {"seeds": [0]}, "running", datetime.now(UTC))
    store.save_sweep(begun, merge=False)
    assert not store.is_new
    assert not store.path.exists()
    assert [each.status for each in store.sweeps()] == ["running"]
    store.save_sweep(replace(begun, status="finished"))
    assert store.path.exists()
    assert [each.status for each in store.sweeps()] == ["finished"]


@pytest.mark.slow(0.5)
def test_a_sweep_is_kept_with_what_was_said_of_it_last(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store = Store(path)
    begun = SweepRecord("sweep-1", "depeg_cascade", "text", {"seeds": [0, 2**63]}, "running", datetime.now(UTC))
    store.save_sweep(begun)
    runs = [store_run(path, sweep_id="sweep-1", seed=seed) for seed in (1, 2)]
    other = store_run(path)
    with duckdb.connect(path, read_only=True):  # so that the end waits beside the beginning
        store.save_sweep(replace(begun, status="finished", summary={"VaR": 1.5}))
        (kept,) = store.sweeps()
        assert (kept.status, kept.summary, kept.plan) == ("finished", {"VaR": 1.5}, {"seeds": [0, 2**63]})
    store.merge()
    assert store.sweep("latest") == kept
    assert {run.run_id for run in store.runs(sweep_id="sweep-1")} == {run.run_id for run in runs}
    assert sorted(store.remove_sweep("sweep-1")) == [run.run_id for run in runs]
    assert list(store.sweeps()) == []
    assert [run.run_id for run in store.runs()] == [other.run_id]


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_exported_rows_are_the_stored_ones(tmp_path: Path, format: str) -> None:
    path = tmp_path / "runs.duckdb"
    first, second = store_run(path), store_run(path)
    store = Store(path)
    files = store.export(first.run_id, tmp_path / "out", format)
    assert sorted(file.name for file in files) == sorted(
        f"{table}.{format}" for table in ("runs", "actions", "market_snapshots", "kpis", "accounts")
    )
    assert sorted((tmp_path / "out").iterdir()) == sorted(files)
    with duckdb.connect() as reader:
        options = ", all_varchar = true" if format == "csv" else ""
        read = f"read_{format}('{tmp_path / 'out'}/actions.{format}'{options})"
        found = reader.execute(f"SELECT run_id, fee_wei, details FROM {read}").fetchall()
    assert found == [(first.run_id, row.fee_wei, row.details) for row in store.actions(first.run_id)]
    with pytest.raises(UsageError, match="is there already"):
        store.export(second.run_id, tmp_path / "out", format)
    store.export(None, tmp_path / "out", format, overwrite=True)
    with duckdb.connect() as reader:
        count = reader.execute(f"SELECT count(*) FROM '{tmp_path / 'out'}/actions.{format}'").fetchone()
    assert count == (24,)


def test_an_export_that_cannot_be_is_refused(tmp_path: Path) -> None:
    store_run(tmp_path / "runs.duckdb")
    store = Store(tmp_path / "runs.duckdb")
    with pytest.raises(UnknownName, match="unknown format 'parqet'") as unknown:
        store.export(None, tmp_path / "out", "parqet")
    assert "did you mean 'parquet'?" in (unknown.value.hint or "")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot write to"):
        store.export(None, tmp_path / "file" / "below")


@pytest.mark.slow(1)
def test_a_comparison_names_the_first_difference(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    a, b = store_run(path), store_run(path)
    store = Store(path)
    same = store.diff(a.run_id, b.run_id)
    assert (same.equal, same.fields, same.kpis, same.first) == (True, {}, {}, None)
    longer = store_run(path, steps=5, seed=8, scenario_text="name: depeg_cascade\nchain: arbitrum\n")
    diff = store.diff(a.run_id, longer.run_id)
    assert not diff.equal
    assert diff.fields["seed"] == (7, 8)
    assert "+chain: arbitrum" in diff.scenario_lines
    assert diff.first is not None
    assert (diff.first.table, diff.first.step, diff.first.place, diff.first.before) == ("actions", 4, 12, None)
    with duckdb.connect(path) as shell:
        shell.execute(f"UPDATE actions SET gas_used = 1 WHERE run_id = '{b.run_id}' AND seq = 6")
        shell.execute(f"UPDATE kpis SET value = '13' WHERE run_id = '{b.run_id}' AND name = 'liquidations'")
    changed = store.diff(a.run_id, b.run_id)
    assert changed.first is not None
    assert changed.first.fields == ("gas_used",)
    assert set(changed.kpis) == {"liquidations"}
    assert store.digest(b.run_id) != store.run(b.run_id).digest


@pytest.mark.slow(0.4)
def test_an_explanation_tells_what_was_done_to_an_account(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    info = store_run(path)
    story = Store(path).explain(info.run_id, "borrower-1")
    assert [step.step for step in story.steps] == [0, 1, 2, 3]
    assert story.steps[2].health_factor_wad == 10**18 + 2
    assert [event.step for event in story.liquidations] == [0, 1, 2, 3]
    first = story.liquidations[0]
    assert (first.agent, first.health_factor_before, first.own) == ("borrower-2", 98 * 10**16, False)
    assert story.why()[0] == (
        "borrower-1 was liquidated by borrower-2 in step 0 at a health factor of 0.9800, who paid 1,700,000,000"
        " smallest units of USDC of debt for 1,000,000,000,000,000,000 smallest units of WETH"
    )
    assert any("failed" in sentence for sentence in story.why())
    other = Store(path).explain(info.run_id, "borrower-0")
    assert other.why() == ["borrower-0 was not liquidated"]
    with pytest.raises(UnknownName, match="unknown agent 'borower-1'") as unknown:
        Store(path).explain(info.run_id, "borower-1")
    assert "did you mean 'borrower-1'" in (unknown.value.hint or "")


def test_a_health_factor_is_never_rounded_up() -> None:
    assert shown_wad(10**18 - 1) == "0.9999"
    assert shown_wad(10**18) == "1.0000"
    assert shown_wad(2**256 - 1) == "∞ (no debt)"


@pytest.mark.slow(0.3)
def test_amounts_are_told_in_whole_tokens_as_far_as_their_decimals_are_known(tmp_path: Path) -> None:
    info, path = info_of(), tmp_path / "runs.duckdb"
    moment = snapshots_of(0)[0]
    figures = [
        moment._replace(subject=subject, metric=metric, unit=unit)
        for subject, metric, unit in (
            ("AaveV3.USDC", "supplied", "e6"),
            ("UniswapV3.WETH/USDC.500", "balance_WETH", "e18"),
            ("AaveV3.USDC.e", "supplied", "e6"),
        )
    ]
    facts = {
        "borrower": "bob", "collateral": "WETH", "debt": "USDC", "covered": 36_645_586_000, "seized": 21_345 * 10**15,
        "borrower_debt_after_e8": 1_204_50 * 10**6, "borrower_collateral_after_e8": 0,
    }  # fmt: skip
    trade = {
        "token_in": "USDC.e", "amount_in": 1_500_000, "token_out": "WETH", "amount_out": 12 * 10**14,
        "profit_e8": -5 * 10**7,
    }  # fmt: skip
    action = replace(actions_of(0)[0], agent="l", account="l", kind="liquidate", details=canonical(facts))
    swap = replace(action, agent="arb", account="arb", kind="arbitrage", details=canonical(trade))
    with SegmentRecorder(path) as recorder:
        recorder.begin(info)
        recorder.record([action, swap], figures)
        recorder.end(RunEnd("finished", "0" * 64, (), "ab" * 32, {"total": 1.0}, ""))
    store = Store(path)
    story = store.explain(info.run_id, "bob")
    (event,) = story.liquidations
    assert story.amounts(event) == "paid 36,645.58 USDC of debt for 21.34 WETH, and left $1,204.50 of bad debt"
    assert "bad debt left behind: $1,204.50" in story.why()
    arbitrage = store.explain(info.run_id, "arb")
    assert arbitrage.amounts(arbitrage.steps[0].events[0]) == "1.5000 USDC.e for 0.00120 WETH, profit −$0.50"


@pytest.mark.slow(0.3)
def test_bad_debt_that_the_account_repays_later_is_not_left_behind(tmp_path: Path) -> None:
    info, path = info_of(), tmp_path / "runs.duckdb"
    factor = "health_factor_wad"
    facts = {
        "borrower": "bob", "collateral": "WETH", "debt": "USDC", "covered": 10**9, "seized": 10**18,
        f"borrower_{factor}": 85 * 10**16, "borrower_health_factor_after_wad": 0,
        "borrower_debt_after_e8": 169 * 10**8, "borrower_collateral_after_e8": 0,
    }  # fmt: skip
    own = {factor: 85 * 10**16, "health_factor_after_wad": 2**256 - 1, "repaid": 169_000_000, "debt": "USDC"}
    first = actions_of(0)[0]
    seized = replace(first, agent="l", account="l", kind="liquidate", details=canonical(facts))
    late = replace(seized, agent="m", account="m", status="failed", reason="too late")
    repaid = replace(first, agent="bob", account="bob", kind="deleverage", details=canonical(own))
    account = AccountRow("bob", "bob", "AaveV3", "usd_e8", "0", "0", "", 1, "100000000000", "0", "")

    def explained(store: Path, run: RunInfo, debt: int, left: AccountRow) -> Explanation:
        figure = snapshots_of(0)[0]._replace(step=0, subject="bob", metric="debt", value=str(debt), unit="usd_e8")
        with SegmentRecorder(store) as recorder:
            recorder.begin(run)
            recorder.record([seized, late, repaid], [figure])
            recorder.end(RunEnd("finished", "0" * 64, (), "ab" * 32, {"total": 1.0}, "", accounts=(left,)))
        return Store(store).explain(run.run_id, "bob")

    story = explained(path, info, 0, account)
    why = story.why()
    assert "the $169.00 of bad debt that the liquidation left were repaid later: none is left behind" in why
    assert "it did not act before" in why  # it repaid after the liquidation, in the same step
    assert story.steps[0].health_factor_wad is None
    other = explained(tmp_path / "other.duckdb", info, 169 * 10**8, replace(account, bad_debt=str(170 * 10**8)))
    assert "bad debt left behind: $170.00" in other.why()
    assert other.steps[0].health_factor_wad == 2**256 - 1  # the last one after an action, not one of a failed attempt
