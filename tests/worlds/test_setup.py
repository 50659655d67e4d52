"""Contract packages are installed once, by one process, completely or not at all. A script stands in for npm."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mayavi.cache_directory import default_cache_dir
from mayavi.compilers import npm
from mayavi.compilers.packages import ensure_packages
from mayavi.errors import SetupError
from mayavi.worlds import contract_folder
from mayavi.worlds.contract_folder import SOURCES, ContractFolder, contracts_root

NPM = """#!/bin/sh
[ "$1" = --version ] && { echo 10.8.2; exit 0; }
echo "$*" >>"$CALLS"
sleep "${NPM_SLEEPS:-0}"
mkdir -p node_modules/@some/package
printf '{"version": "1.2.3"}' >node_modules/@some/package/package.json
[ -n "$NPM_FAILS" ] && { printf "$NPM_FAILS" >&2; exit 1; }
printf '{"abi": []}' >node_modules/@some/package/Thing.json
case "$*" in *--include=dev*)
  mkdir -p node_modules/hardhat node_modules/@other/node
  printf '{"version": "2.0.0"}' >node_modules/hardhat/package.json
  printf '{"version": "3.1.0"}' >node_modules/@other/node/package.json;;
esac
"""
LOCK = {
    "lockfileVersion": 3,
    "packages": {
        "": {"devDependencies": {"@other/node": "3.1.0", "hardhat": "2.0.0"}},
        "node_modules/@some/package": {"version": "1.2.3"},
        "node_modules/@other/node": {"version": "3.1.0", "dev": True},
        "node_modules/@other/node-of-another-platform": {"version": "3.1.0", "dev": True, "optional": True},
        "node_modules/hardhat": {"version": "2.0.0", "dev": True},
    },
}


class Place:
    """A contracts folder, and what npm was called with."""

    def __init__(self, root: Path) -> None:
        self.folder = ContractFolder(root / "contracts", root / "sources")
        self.thing = self.folder.packages / "@some/package/Thing.json"
        self.calls_file = root / "calls"
        self.said: list[str] = []

    @property
    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    def ensure(self, node: bool = False) -> bool:
        return ensure_packages(self.folder, needed=self.thing, node=node, say=self.said.append)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    made.folder.sources.mkdir()
    (made.folder.sources / "package.json").write_text("{}")
    (made.folder.sources / "package-lock.json").write_text(json.dumps(LOCK))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/npm").write_text(NPM)
    (tmp_path / "bin/npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(made.calls_file))
    monkeypatch.delenv("MAYAVI_OFFLINE", raising=False)
    return made


def test_packages_are_installed_once_and_say_so(place: Place) -> None:
    assert place.folder.missing_packages() == ["@some/package@1.2.3"]
    assert place.ensure()
    assert place.folder.missing_packages() == []
    assert not place.ensure()
    (call,) = place.calls
    assert call.startswith("ci --omit=dev --ignore-scripts")
    (line,) = place.said
    assert str(place.folder.root) in line
    assert sorted(path.name for path in place.folder.root.iterdir()) == [".lock", "node_modules"]


def test_processes_at_the_same_time_install_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPM_SLEEPS", "0.5")  # flock holds between file handles, so threads stand for processes
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda _: place.ensure(), range(4))) == [False, False, False, True]
    assert len(place.calls) == 1
    assert any("waiting for another process" in line for line in place.said)


@pytest.mark.parametrize("damage", ["gone", "cut", "version", "partial"])
def test_a_damaged_install_is_made_again(place: Place, damage: str) -> None:
    place.ensure()
    if damage == "gone":
        shutil.rmtree(place.folder.packages)
    elif damage == "partial":
        place.thing.unlink()
    elif damage == "cut":
        place.thing.write_text('{"abi": [')
    else:
        place.thing.with_name("package.json").write_text('{"version": "1.0.0"}')
    (place.folder.root / ".install-left-by-a-killed-process").mkdir()
    assert place.ensure()
    assert json.loads(place.thing.read_text()) == {"abi": []}
    assert sorted(path.name for path in place.folder.root.iterdir()) == [".lock", "node_modules"]


def test_a_link_to_other_packages_is_replaced_and_its_target_kept(place: Place, tmp_path: Path) -> None:
    (tmp_path / "other/@some/package").mkdir(parents=True)
    place.folder.root.mkdir()
    place.folder.packages.symlink_to(tmp_path / "other")
    assert place.ensure()
    assert not place.folder.packages.is_symlink()
    assert (tmp_path / "other/@some/package").is_dir()


def test_a_failure_changes_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.ensure()
    place.thing.write_text("damaged")
    monkeypatch.setenv(
        "NPM_FAILS", "npm error code ECONNREFUSED\nnpm error request to http://user:secret@127.0.0.1:9/x failed\n"
    )
    with pytest.raises(SetupError, match=r"registry cannot be reached \(ECONNREFUSED\)") as caught:
        place.ensure()
    assert "mayavi setup" in str(caught.value.hint)
    assert place.thing.read_text() == "damaged"
    assert sorted(path.name for path in place.folder.root.iterdir()) == [".lock", "node_modules"]


def test_another_fault_of_npm_is_shown_without_addresses(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "NPM_FAILS", "npm error code E403\nnpm error 403 Forbidden - GET https://user:secret@registry.example/a - no\n"
    )
    with pytest.raises(SetupError, match="E403 403 Forbidden") as caught:
        place.ensure()
    assert "secret" not in str(caught.value)
    assert not place.folder.packages.exists()


def test_nothing_is_downloaded_offline(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_OFFLINE", "1")
    with pytest.raises(SetupError, match=r"not installed \(@some/package@1.2.3\), and MAYAVI_OFFLINE forbids"):
        place.ensure()
    assert not place.folder.root.exists()
    monkeypatch.setenv("MAYAVI_OFFLINE", "0")
    assert place.ensure()
    monkeypatch.setenv("MAYAVI_OFFLINE", "1")
    assert not place.ensure()


def test_the_nodes_of_the_tests_are_installed_when_wanted_and_then_stay(place: Place) -> None:
    place.ensure()
    assert place.folder.missing_packages(dev=True) == ["@other/node@3.1.0", "hardhat@2.0.0"]
    assert place.ensure(node=True)
    place.thing.write_text("damaged")
    assert place.ensure()
    assert [call.split()[1] for call in place.calls] == ["--omit=dev", "--include=dev", "--include=dev"]
    assert not place.ensure(node=True)


@pytest.mark.parametrize("damage", ["gone", "version"])
def test_a_node_that_the_lock_file_adds_or_updates_is_installed(place: Place, damage: str) -> None:
    place.ensure(node=True)
    package = place.folder.packages / "@other/node/package.json"
    if damage == "gone":
        package.unlink()
    else:
        package.write_text('{"version": "3.0.0"}')
    assert not place.ensure(), "only the tests need it"
    assert place.ensure(node=True)
    assert json.loads(package.read_text()) == {"version": "3.1.0"}
    place.thing.write_text("damaged")
    package.unlink()
    assert place.ensure()
    assert package.exists(), "whoever has one node is given all"


def test_the_lock_file_has_the_test_nodes_for_every_platform() -> None:
    """npm leaves out what it cannot fetch while it writes a lock file, and then refuses the lock file elsewhere."""
    packages = json.loads((SOURCES / "package-lock.json").read_text())["packages"]
    for name in json.loads((SOURCES / "package.json").read_text())["devDependencies"]:
        for other, version in packages[f"node_modules/{name}"].get("optionalDependencies", {}).items():
            found = packages[f"node_modules/{other}"]
            assert (found["version"], found["dev"], found["optional"]) == (version, True, True)
            assert found["integrity"].startswith("sha512-")
    platforms = {
        (system, machine)
        for path, each in packages.items()
        if path.startswith("node_modules/@foundry-rs/anvil-")
        for system in each["os"]
        for machine in each["cpu"]
    }
    assert platforms >= {(system, machine) for system in ("linux", "darwin") for machine in ("x64", "arm64")}


def test_without_npm_the_error_says_what_to_install(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(place.folder.sources))
    monkeypatch.setattr(npm, "_bundled", list)
    with pytest.raises(SetupError, match="npm is not installed") as caught:
        place.ensure()
    assert "mayavi-sim[contracts]" in str(caught.value.hint)


def test_an_npm_that_is_too_old_is_passed_over(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin/npm").write_text("#!/bin/sh\necho 6.14.0\n")
    (tmp_path / "newer").write_text(NPM)
    (tmp_path / "newer").chmod(0o755)
    monkeypatch.setattr(npm, "_bundled", lambda: [[str(tmp_path / "newer")]])
    assert place.ensure()


def test_a_folder_that_cannot_be_written_is_named(place: Place) -> None:
    place.folder.root.write_text("a file where a folder should be")
    with pytest.raises(SetupError, match="cannot be kept in") as caught:
        place.ensure()
    assert "MAYAVI_CACHE_DIR" in str(caught.value.hint)


def test_outside_a_checkout_the_contracts_are_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAYAVI_CONTRACTS", raising=False)
    assert contracts_root() == SOURCES.parents[2] / "contracts"
    monkeypatch.setattr(contract_folder, "checkout_root", lambda: None)
    assert contracts_root().parent == default_cache_dir() / "contracts"
    monkeypatch.setenv("MAYAVI_CONTRACTS", "/some/place")
    assert contracts_root() == Path("/some/place")
