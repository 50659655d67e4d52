"""A replica is the same world however it is opened, and a broken cache never breaks it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import SetupError, UnknownName
from mayavi.worlds import describe_world, open_world, world_names
from mayavi.worlds.builder import build_replica
from mayavi.worlds.cache import replica_path
from mayavi.worlds.contract_folder import SOURCES, ContractFolder
from mayavi.worlds.tables.chain import ChainTable


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_two_builds_are_one_world(built: Fork, table: ChainTable) -> None:
    assert build_replica(table).digest() == built.digest()


def test_the_cached_world_is_the_built_one(built: Fork, cache_dir: Path) -> None:
    first = Fork.replica("ethereum")
    assert replica_path("ethereum").parent == cache_dir / "replicas"
    assert replica_path("ethereum").exists()
    second = Fork.replica("ethereum")
    assert first.digest() == second.digest() == built.digest()
    assert first.labels == second.labels == built.labels
    assert first.source == second.source == built.source
    assert first.block == second.block == built.block


@pytest.mark.slow(0.3)
def test_the_second_opening_builds_nothing(cache_dir: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    open_world("ethereum", progress=lambda *step: steps.append(step))
    assert [done for _, done, _ in steps] == list(range(len(steps)))
    assert steps[-1] == ("done", len(steps) - 1, len(steps) - 1)
    steps.clear()
    open_world("ethereum", progress=lambda *step: steps.append(step))
    assert steps == []
    open_world("ethereum", progress=lambda *step: steps.append(step), rebuild=True)
    assert steps


def test_what_is_done_on_one_replica_does_not_show_on_the_next(cache_dir: Path) -> None:
    fork = Fork.replica("ethereum")
    fork.deal("USDC", b"\x11" * 20, 5)
    fork.mine(10)
    assert Fork.replica("ethereum").digest() != fork.digest()
    assert Fork.replica("ethereum").block_number == 19_000_000


@pytest.mark.parametrize("content", [b"", b"MAYAVISN", b"\0" * 500], ids=["empty", "cut", "garbage"])
def test_a_damaged_file_is_built_anew(built: Fork, cache_dir: Path, content: bytes) -> None:
    path = replica_path("ethereum")
    path.parent.mkdir()
    path.write_bytes(content)
    assert Fork.replica("ethereum").digest() == built.digest()
    assert Fork.load_snapshot(path).digest() == built.digest()


def test_a_cache_that_cannot_be_written_is_done_without(
    built: Fork, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert open_world("ethereum", cache_dir=tmp_path / "file").digest() == built.digest()
    assert "could not be cached" in caplog.text


def test_a_cache_that_cannot_be_looked_into_is_done_without(
    built: Fork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path / ("long" * 100)))  # no system takes such a name
    assert describe_world("ethereum").snapshot is None
    assert Fork.replica("ethereum").digest() == built.digest()
    assert "is built again" in caplog.text
    assert "could not be cached" in caplog.text


def test_the_name_of_the_file_follows_what_the_world_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = replica_path("ethereum", tmp_path)
    sources = tmp_path / "sources"
    shutil.copytree(SOURCES, sources)
    monkeypatch.setattr(ContractFolder, "default", lambda: ContractFolder(tmp_path, sources))
    assert replica_path("ethereum", tmp_path) == before
    with (sources / "vyper" / "Token.vy").open("a") as source_file:
        source_file.write("# changed\n")
    assert replica_path("ethereum", tmp_path) != before


def test_an_unknown_chain_offers_the_near_ones(cache_dir: Path) -> None:
    with pytest.raises(UnknownName, match="unknown world 'etherium'") as caught:
        Fork.replica("etherium")
    assert "ethereum" in str(caught.value.hint)
    with pytest.raises(UnknownName):
        Fork.replica("../ethereum")


def test_without_the_contract_packages_the_error_names_the_command(
    cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAYAVI_CONTRACTS", str(tmp_path / "nowhere"))
    monkeypatch.setenv("MAYAVI_OFFLINE", "1")
    with pytest.raises(SetupError) as caught:
        Fork.replica("ethereum")
    assert "mayavi setup" in str(caught.value.hint)


def test_a_world_describes_itself_without_being_built(cache_dir: Path, table: ChainTable) -> None:
    assert "ethereum" in world_names()
    world = describe_world("ethereum")
    assert world.snapshot is None
    assert (world.chain_id, world.hardfork, world.block.number) == (1, "shanghai", 19_000_000)
    subjects = {difference.subject for difference in world.differences}
    assert {"GHO", "UNI", "dates", "tokens", "price feeds", "Uniswap liquidity"} <= subjects
    assert all(reserve.symbol in world.contents[0] for reserve in table.aave.reserves)
    assert world.sources
    open_world("ethereum")
    assert describe_world("ethereum").snapshot == replica_path("ethereum")


def test_blocks_go_on_from_the_tables_block(fork: Fork, table: ChainTable) -> None:
    assert (fork.block_number, fork.timestamp) == (19_000_000, 1705173443)
    assert fork.block["base_fee"] == table.block.base_fee_wei
    fork.mine(3)
    assert (fork.block_number, fork.timestamp) == (19_000_003, 1705173443 + 36)
