"""`mayavi world build|info|list`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.evm.snapshot.file import read_info
from mayavi.worlds.tables.market import load_market


@pytest.mark.slow(0.8)
def test_list_names_the_chains_and_whether_they_are_built(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    listed = json.loads(run_mayavi("world", "list", "--json", env=here).stdout)["worlds"]
    ethereum = next(world for world in listed if world["chain"] == "ethereum")
    assert (ethereum["chain_id"], ethereum["block"], ethereum["built"]) == (1, 19_000_000, False)

    assert run_mayavi("world", "build", "ethereum", env=here).returncode == 0
    lines = run_mayavi("world", "list", env=here).stdout.splitlines()
    assert next(line for line in lines if line.startswith("ethereum")).split()[1] == "19,000,000"
    listed = json.loads(run_mayavi("world", "list", "--json", env=here).stdout)["worlds"]
    assert next(world for world in listed if world["chain"] == "ethereum")["built"] is True


@pytest.mark.slow(0.5)
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


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("", "'{here}' is a folder"),
        ("file/x", "'{here}/file' is a file, and '{here}/file/x' would lie below it"),
        ("file/x/y", "'{here}/file' is a file, and '{here}/file/x/y' would lie below it"),
        ("nope/x", "there is no folder '{here}/nope' for 'x'"),
        ("nope/deeper/x", "there is no folder '{here}/nope/deeper' for 'x'"),
        ("pipe", "'{here}/pipe' is not an ordinary file"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_built(
    run_mayavi, tmp_path: Path, output: str, message: str
) -> None:
    (tmp_path / "file").write_text("a file")
    os.mkfifo(tmp_path / "pipe")
    cache = {"MAYAVI_CACHE_DIR": str(tmp_path / "cache")}
    finished = run_mayavi("world", "build", "-o", str(tmp_path / output), env=cache)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.splitlines()[0] == f"error: {message.format(here=tmp_path)}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe"]


def test_info_says_plainly_where_the_replica_differs_from_mainnet(run_mayavi) -> None:
    finished = run_mayavi("world", "info", "ethereum")
    assert finished.returncode == 0, finished.stderr
    assert "differences from ethereum" in finished.stdout
    differences = finished.stdout.split("differences from ethereum")[1]
    for subject in ["GHO", "UNI", "Uniswap liquidity", "price feeds"]:
        assert subject in differences


@pytest.mark.slow(0.4)
def test_the_names_listed_are_those_a_fork_has(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    labels = Fork.replica("ethereum").labels
    assert {"WETH", "AaveV3.Pool", "Mayavi.Market", "Mayavi.Deployer"} <= set(labels)
    assert json.loads(run_mayavi("world", "info", "--names", "--json", env=here).stdout)["names"] == labels
    listed = run_mayavi("world", "info", "--names", env=here).stdout.splitlines()
    assert dict(line.split() for line in listed[1:]) == labels


def test_what_is_known_beforehand_is_said_without_a_build(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    assert json.loads(run_mayavi("world", "info", "--json", env=here).stdout)["built"] is False
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_chain_is_a_misuse_with_the_nearest_name(run_mayavi) -> None:
    finished = run_mayavi("world", "info", "etherium")
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: unknown world 'etherium'\n  did you mean 'ethereum'?")


@pytest.mark.slow(0.3)
def test_a_cache_that_cannot_be_written_does_not_stop_the_build(run_mayavi, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file where a folder should be")
    finished = run_mayavi("world", "build", env={"MAYAVI_CACHE_DIR": str(tmp_path / "file")})
    assert finished.returncode == 0, finished.stderr
    assert "nowhere: the cache could not be written" in finished.stdout


@pytest.mark.slow(0.5)
def test_a_damaged_replica_is_said_to_be_built_anew(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    first = json.loads(run_mayavi("world", "build", "--json", env=here).stdout)
    Path(first["snapshot"]).write_bytes(b"damaged")
    finished = run_mayavi("world", "build", "--json", env=here)
    assert finished.returncode == 0
    assert "the cached replica of ethereum is built again" in finished.stderr
    again = json.loads(finished.stdout)
    assert (again["built"], again["digest"]) == (True, first["digest"])


@pytest.mark.slow(0.4)
def test_list_names_date_and_version_of_every_market(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    listed = json.loads(run_mayavi("world", "list", "--json", env=here).stdout)["worlds"]
    found = {each["world"]: (each["aave"], each["date"]) for each in reversed(listed)}
    assert found["ethereum"] == ("3.0", "2024-01-13")
    assert found["ethereum-lido@2025-12"] == ("3.6", "2025-12-09")
    assert found["mantle@2026-02"] == ("3.6", "2026-02-17")
    lines = run_mayavi("world", "list", env=here).stdout.splitlines()
    plasma = next(line for line in lines if line.startswith("plasma@2025-12"))
    assert plasma.split() == ["plasma@2025-12", "8,347,514", "2025-12-09", "V3.6", "Plasma", "no"]


def test_info_of_a_market_says_what_is_recorded_and_what_is_assumed(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    text = run_mayavi("world", "info", "plasma", env=here).stdout
    recorded, assumed = text.index("\nrecorded\n"), text.index("\nassumed\n")
    assert recorded < text.index("protocol-v3.6-upgrade") < assumed < text.index("nobody has borrowed")
    words = set(re.split(r"[\s(),]+", run_mayavi("world", "info", "ethereum@2025-12", env=here).stdout))
    assert {
        each.symbol for each in load_market("ethereum@2025-12").aave.reserves
    } <= words  # no name is broken over lines
    found = json.loads(run_mayavi("world", "info", "plasma", "--json", env=here).stdout)
    assert found["world"] == "plasma@2025-12"
    assert {each["subject"] for each in found["assumed"]} >= {"debt", "ratio caps", "principal tokens", "time"}
    assert json.loads(run_mayavi("world", "info", "--json", env=here).stdout)["assumed"] == []


def test_an_unknown_market_is_a_misuse_with_the_nearest_name(run_mayavi) -> None:
    finished = run_mayavi("world", "info", "ethereum@2025-11")
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: unknown world 'ethereum@2025-11'\n  did you mean 'ethereum@2025-12'")
