"""The page on packages: its commands and its entry points give a package that works."""

from __future__ import annotations

import json
import shutil
import tomllib

import pytest

from tests.conftest import RunMayavi
from tests.own_code import OwnCode
from tests.pages import page

PAGE = page("how-to/write-a-package.md")


@pytest.mark.slow
def test_the_commands_and_the_entry_points_of_the_page_make_a_package(
    run_mayavi: RunMayavi, start_mayavi: RunMayavi, own_code: OwnCode
) -> None:
    written = own_code.folder / "written"
    written.mkdir()
    commands = PAGE.commands("mayavi new ")
    assert len(commands) == 4
    for command in commands:
        finished = run_mayavi(*command.split()[1:], cwd=written)
        assert finished.returncode == 0, finished.stderr
    project = tomllib.loads(PAGE.blocks("toml")[0])["project"]
    groups = {
        group: "\n".join(f"{name} = {value}" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    }
    own_code.install(project["name"], groups, {"my_package/__init__.py": ""}, version=project["version"])
    for file in [*written.glob("*.py"), *written.glob("*.yaml")]:
        shutil.move(file, own_code.packages / "my_package" / file.name)
    document = json.loads(start_mayavi("scenarios", "list", "--json", env=own_code.environment, cwd=written).stdout)
    found = {each["group"]: (each["name"], each["status"], each["error"]) for each in document["plugins"]}
    assert found == {
        "mayavi.agents": ("saver", "ok", ""),
        "mayavi.scenarios": ("crash", "ok", ""),
        "mayavi.protocols": ("vault", "ok", ""),
        "mayavi.environments": ("keeper", "ok", ""),
    }
    shown = start_mayavi("scenarios", "show", "crash", "--json", env=own_code.environment, cwd=written)
    assert json.loads(shown.stdout)["name"] == "crash"
