"""World sources, and contradictory options."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import UnknownName, UsageError
from mayavi.worlds.source import WorldSource


def test_by_default_it_is_the_replica_of_the_scenarios_chain() -> None:
    source = WorldSource.of()
    assert (source.kind, source.chain) == ("replica", None)
    fork = source.on("base").open()
    assert (fork.chain_id, fork.source["kind"]) == (8453, "replica")


def test_everybody_gets_a_world_of_their_own() -> None:
    source = WorldSource.of(chain="ethereum")
    first, second = source.open(), source.open()
    before = second.digest()
    first.deal("WETH", b"\1" * 20, 10**18)
    assert second.digest() == before != first.digest()
    assert source.open().digest() == before


def test_a_snapshot_is_the_world_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "world.snapshot"
    written = Fork.replica("base").dump_snapshot(path)
    source = WorldSource.of(snapshot=path)
    assert source.kind == "snapshot"
    assert source.open().digest() == written
    assert pickle.loads(pickle.dumps(source)).open().digest() == written
    with pytest.raises(UsageError, match="holds base, not ethereum"):
        source.on("ethereum").open()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "replika"}, "unknown source 'replika'"),
        ({"kind": "snapshot"}, "needs a file"),
        ({"snapshot": "nowhere.snapshot"}, "no snapshot at 'nowhere.snapshot'"),
        ({"kind": "replica", "snapshot": "x"}, "the source replica reads no snapshot file"),
        ({"kind": "replica", "rpc_url": "http://x"}, "asks no node"),
        ({"chain": "base", "block": 7}, "there is no replica of base at block 7"),
        ({"kind": "snapshot", "snapshot": __file__, "block": 7}, "a snapshot has its own block"),
    ],
)
def test_what_contradicts_itself_is_a_misuse(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        WorldSource.of(**options)  # type: ignore[arg-type]
    assert refused.value.hint
    assert isinstance(refused.value, UnknownName) is ("unknown" in words)


def test_a_source_can_name_the_block_of_a_replica() -> None:
    named = WorldSource.named("replica:17666333")
    assert named == WorldSource.named("replica", block=17_666_333) == WorldSource.of(block=17_666_333)
    assert named.on("ethereum").open().block_number == 17_666_333
    with pytest.raises(UsageError, match="two blocks are given: 17666333 and 5"):
        WorldSource.named("replica:17666333", block=5)
    with pytest.raises(UsageError, match="takes no 'arbitrum'"):
        WorldSource.named("replica:arbitrum")


def test_a_url_is_never_shown() -> None:
    source = WorldSource.of(rpc_url="https://node.example/v2/secret")
    assert source.kind == "rpc"
    assert "secret" not in repr(source)


def test_a_source_can_name_a_market() -> None:
    named = WorldSource.named("replica:ethereum-lido@2025-12")
    assert named.name == "replica:ethereum-lido@2025-12"
    assert named == WorldSource.named(named.name)
    fork = pickle.loads(pickle.dumps(named.on("ethereum"))).open()
    assert fork.source["world"] == "ethereum-lido@2025-12"
    with pytest.raises(UsageError, match="is a market of ethereum, not of base"):
        named.on("base")
    with pytest.raises(UnknownName, match="unknown world 'ethereum@2020-01'"):
        WorldSource.named("replica:ethereum@2020-01")
    with pytest.raises(UsageError, match="has its own block, and block 5 is given too"):
        WorldSource.named("replica:ethereum@2025-12", block=5)
