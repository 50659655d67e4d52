"""`mayavi world build|info|list`."""

from __future__ import annotations

import json
from pathlib import Path

from mayavi.evm.snapshot import read_info


def test_list_names_the_chains_and_whether_they_are_built(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    listed = json.loads(run_mayavi("world", "list", "--json", env=here).stdout)["worlds"]
    ethereum = next(world for world in listed if world["chain"] == "ethereum")
    assert (ethereum["chain_id"], ethereum["block"], ethereum["built"]) == (1, 19_000_000, False)

    assert run_mayavi("world", "build", "ethereum", env=here).returncode == 0
    assert "ethereum  19,000,000" in run_mayavi("world", "list", env=here).stdout
    listed = json.loads(run_mayavi("world", "list", "--json", env=here).stdout)["worlds"]
    assert next(world for world in listed if world["chain"] == "ethereum")["built"] is True


def test_two_builds_give_one_digest_and_the_second_run_only_opens_it(run_mayavi, tmp_path: Path) -> None:
    one, two = {"MAYAVI_CACHE_DIR": str(tmp_path / "one")}, {"MAYAVI_CACHE_DIR": str(tmp_path / "two")}
    built = json.loads(run_mayavi("world", "build", "--json", env=one).stdout)
    opened = json.loads(run_mayavi("world", "build", "--json", env=one).stdout)
    rebuilt = json.loads(run_mayavi("world", "build", "--rebuild", "--json", env=one).stdout)
    elsewhere = json.loads(run_mayavi("world", "build", "--json", env=two).stdout)
    assert [each["built"] for each in (built, opened, rebuilt, elsewhere)] == [True, False, True, True]
    assert built["digest"] == opened["digest"] == rebuilt["digest"] == elsewhere["digest"]


def test_a_world_can_be_written_to_a_file_of_ones_own(run_mayavi, tmp_path: Path) -> None:
    target = tmp_path / "my.snapshot"
    finished = run_mayavi("world", "build", "ethereum", "--output", str(target), "--json")
    assert finished.returncode == 0, finished.stderr
    assert read_info(target).digest == json.loads(finished.stdout)["digest"]


def test_info_says_plainly_where_the_replica_differs_from_mainnet(run_mayavi) -> None:
    finished = run_mayavi("world", "info", "ethereum")
    assert finished.returncode == 0, finished.stderr
    assert "where it differs from ethereum" in finished.stdout
    differences = finished.stdout.split("where it differs from ethereum")[1]
    for subject in ["GHO", "UNI", "Uniswap liquidity", "price feeds"]:
        assert subject in differences
    assert json.loads(run_mayavi("world", "info", "--json").stdout)["names"]["WETH"].startswith("0xC02aaA39")
    assert "AaveV3.Pool" in run_mayavi("world", "info", "--names").stdout


def test_an_unknown_chain_is_a_misuse_with_the_nearest_name(run_mayavi) -> None:
    finished = run_mayavi("world", "info", "etherium")
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: unknown chain 'etherium'\n  did you mean 'ethereum'?")


def test_a_cache_that_cannot_be_written_does_not_stop_the_build(run_mayavi, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file where a folder should be")
    finished = run_mayavi("world", "build", env={"MAYAVI_CACHE_DIR": str(tmp_path / "file")})
    assert finished.returncode == 0, finished.stderr
    assert "nowhere: the cache could not be written" in finished.stdout
