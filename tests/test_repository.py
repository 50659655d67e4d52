"""What the repository promises to whoever opens it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.main import get_command

import mayavi
from mayavi.cli.app import app_of
from mayavi.setup_errors import setup_fault
from tests.pages import Page, page
from tools.list_requirements import list_requirements


def tracked_files(repository: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [repository / name for name in listed.stdout.splitlines() if (repository / name).is_file()]


def test_bare_make_lists_every_target_with_its_purpose(repository: Path) -> None:
    listing = subprocess.run(["make"], cwd=repository, capture_output=True, text=True, check=True).stdout
    for target in ["demo", "test", "test-fast", "check", "docs", "bench", "setup", "clean"]:
        assert re.search(rf"^  {target} +\w", listing, re.MULTILINE), target


def test_one_version_everywhere(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    kernel = tomllib.loads((repository / "kernel/Cargo.toml").read_text(encoding="utf-8"))["package"]
    assert mayavi.__version__ == project["version"] == kernel["version"]


def test_everything_a_development_environment_needs_is_pinned(repository: Path) -> None:
    lines = (repository / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.+!]+", pin) for pin in pins)
    pinned = {re.sub(r"[-_.]+", "-", pin.split("==")[0]).lower() for pin in pins}
    wanted = [*list_requirements(), *list_requirements("dev-rl")]
    names = {re.sub(r"[-_.]+", "-", re.split(r"[<>=\[;! ]", line)[0]).lower() for line in wanted}
    assert names
    assert names <= pinned


@pytest.mark.slow
def test_no_file_is_named_after_nothing(repository: Path) -> None:
    meaningless = {"utils", "helpers", "misc", "common"}
    assert [
        path for path in tracked_files(repository) if path.suffix in {".py", ".rs"} and path.stem in meaningless
    ] == []


def test_every_text_ends_with_a_newline(repository: Path) -> None:
    texts = {".md", ".py", ".rs", ".toml", ".txt", ".vy", ".json"}
    contents = {path: path.read_bytes() for path in tracked_files(repository) if path.suffix in texts}
    assert [path for path, content in contents.items() if content and not content.endswith(b"\n")] == []


def commands(command: Any, path: str = "mayavi") -> Iterator[tuple[str, Any]]:
    """Every command that does something, with the words that call it."""
    for name, each in sorted(getattr(command, "commands", {}).items()):
        yield from commands(each, f"{path} {name}")
    if not hasattr(command, "commands"):
        yield path, command


def test_every_command_and_option_stands_in_the_documentation() -> None:
    usages = page("reference/cli.md").commands()
    found = dict(commands(get_command(app_of())))
    assert {"mayavi demo", "mayavi world build", "mayavi snapshot diff"} <= set(found)
    for path, command in found.items():
        (usage,) = [line for line in usages if f"{line} ".startswith(f"{path} ")]
        written = set(re.findall(r"--[a-z][a-z-]*", usage))
        options = [each for each in command.params if not getattr(each, "hidden", False)]
        offered = {option for each in options for option in each.opts if option.startswith("--")} - {"--help"}
        negated = {option for each in options for option in each.secondary_opts}
        assert offered <= written <= offered | negated, path


@pytest.mark.parametrize(
    ("tool", "words"),
    [("python", "Python 3.11 or newer"), ("cargo", "https://rustup.rs"), ("node", "https://nodejs.org")],
)
def test_a_missing_tool_is_named_with_the_way_to_get_it(
    repository: Path, tmp_path: Path, tool: str, words: str
) -> None:
    for needed in ["bash", "env", "sort", "head", "cut"]:  # a machine with a shell and nothing else
        (tmp_path / needed).symlink_to(shutil.which(needed) or needed)
    finished = subprocess.run(
        [repository / "tools/toolchain", tool],
        env={"PATH": os.fspath(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 1
    assert finished.stdout == ""
    assert finished.stderr.startswith("error: ")
    assert words in finished.stderr


@pytest.mark.slow(0.3)
def test_the_readme_shows_what_the_demo_prints(repository: Path, run_mayavi, tmp_path: Path) -> None:
    readme = (repository / "README.md").read_text(encoding="utf-8")
    printed = run_mayavi("demo", cwd=tmp_path).stdout
    (shown,) = re.findall(r"tests/test_repository.py -->\n```\n(.*?)```", readme, re.DOTALL)
    differing = re.compile(r"^[0-9.]+(?= s ·)|\d{8}-\d{9}-[0-9a-z]{8}", re.MULTILINE)  # time and id of the run
    assert differing.sub("…", shown) == differing.sub("…", printed), f"the demo prints this:\n\n{printed}"


def test_the_example_of_the_readme_runs(repository: Path) -> None:
    readme = Page(repository / "README.md")
    readme.execute(readme.only_block("python"))


def test_what_the_extra_rl_installs_is_told_by_the_extra_where_it_is_missing(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {re.split(r"[\[<>=]", each)[0].replace("-", "_") for each in project["optional-dependencies"]["rl"]}
    for package in named:
        fault = setup_fault(ModuleNotFoundError(f"No module named '{package}'", name=package))
        assert "mayavi-sim[rl]" in str(fault and fault.hint), package
        assert "`make rl`" in str(fault and fault.hint), package


def test_what_the_packages_of_the_extra_rl_import_is_told_by_the_extra_too(repository: Path) -> None:
    pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_the_setup: set[str] = set()
    for each in list_requirements():
        of_the_setup |= distributions(each, deep=True)
    extra = project["optional-dependencies"]["rl"]
    of_the_extra = set().union(*(distributions(each, deep=False) for each in extra)) - of_the_setup - {"setuptools"}
    assert {"dm-tree", "lz4", "ormsgpack"} <= of_the_extra
    modules: dict[str, set[str]] = {}
    for module, homes in metadata.packages_distributions().items():
        for home in homes:
            modules.setdefault(canonicalize_name(home), set()).add(module)
    for name in of_the_extra:
        if not name.startswith(("nvidia-", "types-")):  # which Python does not import
            faults = [setup_fault(ModuleNotFoundError("none", name=module)) for module in modules[name]]
            assert any("mayavi-sim[rl]" in str(fault and fault.hint) for fault in faults), name


def distributions(requirement: str, *, deep: bool) -> set[str]:
    """Installed distributions that a requirement asks for: itself, its own requirements and, if `deep`, all below."""
    found: set[str] = set()
    waiting = [(Requirement(requirement), 0)]
    seen = set()
    for each, depth in waiting:  # grows while it is walked
        if str(each) in seen:
            continue
        seen.add(str(each))
        try:
            below = metadata.requires(each.name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(canonicalize_name(each.name))
        if deep or depth == 0:
            wanted = [Requirement(text) for text in below]
            extras = ["", *each.extras]
            waiting += [
                (more, depth + 1)
                for more in wanted
                if more.marker is None or any(more.marker.evaluate({"extra": extra}) for extra in extras)
            ]
    return found
