"""The keys `source` and `block`: the world of a scenario, in its file and by options."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi import Fork, Store
from mayavi import run as run_scenario
from mayavi import sweep as run_sweep
from mayavi.errors import BadScenario, UsageError
from mayavi.scenarios.loading import load_scenario, load_text
from mayavi.scenarios.models.world import WorldOptions

JULY, SEPTEMBER, DEFAULT = 17_666_333, 18_085_863, 19_000_000
TEXT = """name: lone
chain: ethereum
steps: 2
step_time: 1h
agents:
  alice: {kind: borrower, collateral: 1 WETH, debt: 1_000 USDC}
"""


def written(folder: Path, more: str = "") -> Path:
    path = folder / "lone.yaml"
    path.write_text(TEXT + more, encoding="utf-8")
    return path


def test_a_file_declares_its_block_and_the_run_records_it(tmp_path: Path) -> None:
    run = run_scenario(written(tmp_path, f"block: {JULY}\n"), store=tmp_path / "runs.duckdb")
    record = Store(tmp_path / "runs.duckdb").run(run.run_id)
    assert record.world_digest == Fork.replica("ethereum", block=JULY).digest()
    assert load_text(record.scenario_text).config.block == JULY
    prices = [row.number for row in run.snapshots if (row.subject, row.metric) == ("AaveV3.WETH", "price")]
    assert prices[0] == 1878.2104


@pytest.mark.slow(0.3)
def test_options_override_the_file_and_are_recorded(tmp_path: Path) -> None:
    path, store = written(tmp_path, f"source: replica\nblock: {JULY}\n"), tmp_path / "runs.duckdb"
    run = run_scenario(path, block=SEPTEMBER, store=store)
    record = Store(store).run(run.run_id)
    assert f"block: {SEPTEMBER}" in record.scenario_text
    assert record.world_digest == Fork.replica("ethereum", block=SEPTEMBER).digest()

    snapshot = tmp_path / "base.snapshot"
    Fork.replica("base").dump_snapshot(snapshot)
    run = run_scenario(path, snapshot=snapshot, overrides=["chain=base", "chains=[base]"], store=store)
    record = Store(store).run(run.run_id)
    assert (record.source, record.world_digest) == ("snapshot", Fork.replica("base").digest())
    assert f"source: snapshot:{snapshot}" in record.scenario_text
    assert "block" not in record.scenario_text  # a snapshot has its own


@pytest.mark.slow(0.3)
def test_the_default_block_by_number_gives_the_digest_of_no_block(tmp_path: Path) -> None:
    path, store = written(tmp_path), tmp_path / "runs.duckdb"
    plain, numbered = (run_scenario(path, block=block, store=store) for block in (None, DEFAULT))
    assert plain.digest == numbered.digest


def test_a_snapshot_in_a_file_is_found_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Fork.replica("ethereum").dump_snapshot(tmp_path / "here.snapshot")
    path = written(tmp_path, "source: snapshot:here.snapshot\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    scenario = load_scenario(path)
    assert scenario.world().path == tmp_path / "here.snapshot"
    assert load_text(scenario.text).world().path == tmp_path / "here.snapshot"
    assert load_scenario(path, world=WorldOptions(source="replica")).world().kind == "replica"
    assert load_scenario(path, world=WorldOptions(source="snapshot")).world().kind == "snapshot"
    with pytest.raises(UsageError, match=r"there is no snapshot at '.*elsewhere/here.snapshot'"):
        load_scenario(path, overrides=["source=snapshot:here.snapshot"]).world()


def test_a_node_takes_any_block_of_the_file_and_never_its_url(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, "source: rpc\nblock: 7\n"))
    world = scenario.world("http://localhost:1")
    assert (world.kind, world.block, world.chain) == ("rpc", 7, "ethereum")
    assert scenario.at_block(7) is scenario
    assert load_text(scenario.at_block(8).text).config.block == 8


@pytest.mark.parametrize(
    ("more", "message", "hint"),
    [
        ("block: 5\n", "lone.yaml:7:8: there is no replica of ethereum at block 5", "17666333, 18085863, 19000000"),
        ("block: latest\n", "no replica of ethereum at block latest", "19000000"),
        ("block: yesterday\n", "'yesterday' is not a valid block", "a block hash of 32 bytes"),
        (f"block: 0x{'ab' * 32}\n", "no replica of ethereum at block 0xabab", "19000000"),
        ("block: -1\n", "there is no block -1", "a number, a block hash"),
        ("source: replika\n", "unknown source 'replika'", "did you mean 'replica'?"),
        ("source: snapshot\n", "the source snapshot needs a file", "snapshot:FILE"),
        ("source: rpc:http://key@node\n", "the URL of a node is no part of a scenario", "MAYAVI_RPC_URL"),
        ("source: snapshot:x\nblock: 5\n", "a snapshot has its own block", "leave one of them out"),
    ],
)
def test_what_is_no_world_is_refused_with_its_place(tmp_path: Path, more: str, message: str, hint: str) -> None:
    with pytest.raises(BadScenario) as refused:
        load_scenario(written(tmp_path, more))
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (WorldOptions(source="replica", snapshot="x"), "reads no snapshot file"),
        (WorldOptions(source="replica", rpc_url="http://x"), "asks no node"),
        (WorldOptions(source="snapshot"), "needs a file"),
        (WorldOptions(snapshot=__file__, block=5), "has its own block"),
        (WorldOptions(block=5), "--block 5: there is no replica of ethereum at block 5"),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path: Path, options: WorldOptions, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_scenario(written(tmp_path), world=options)


@pytest.mark.slow(0.4)
def test_a_sweep_runs_on_one_world(tmp_path: Path) -> None:
    path, store = written(tmp_path), tmp_path / "runs.duckdb"
    with pytest.raises(UsageError, match="several values for 'block', and a sweep runs on one world"):
        run_sweep(path, seeds=[0], grid={"block": [JULY, SEPTEMBER]}, store=store, jobs=1)
    swept = run_sweep(path, seeds=[0], block=JULY, store=store, jobs=1)
    (record,) = Store(store).runs(sweep_id=swept.sweep_id)
    assert record.world_digest == Fork.replica("ethereum", block=JULY).digest()
