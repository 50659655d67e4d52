"""Environments of one's own: by import path and by entry point, for gymnasium and the trainers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mayavi.errors import MayaviError, PluginError, SetupError, UsageError
from mayavi.gym_env import make_rows, make_single
from mayavi.gym_env.registry import ENVS, entry, env_versions, installed_environments
from tests.own_code import WALK, OwnCode

GROUP = "mayavi.environments"
BAD = """
from mayavi.gym_env.rows import RowsEnv

class Abstract(RowsEnv): ...
class Other: ...
"""


@pytest.fixture
def folder(own_code: OwnCode, monkeypatch: pytest.MonkeyPatch) -> OwnCode:
    monkeypatch.chdir(own_code.write(walk=WALK, bad=BAD))
    return own_code


def test_an_import_path_makes_rows_of_its_own_name(folder: OwnCode) -> None:
    rows = make_rows("walk:WalkRows", 3, split="test", horizon=4)
    assert (rows.name, rows.rows, rows.config.horizon) == ("walk:WalkRows", 3, 4)
    env = make_single("walk:WalkRows")
    first, _ = env.reset(seed=3)
    again, _ = env.reset(seed=3)
    assert first == again
    assert entry("walk:WalkRows").load() is entry("walk:WalkRows").load()
    (version,) = env_versions("walk:WalkRows").items()
    assert version[0] == "environment walk:WalkRows"
    assert version[1].startswith("walk, sha256 ")
    assert [env_versions(name) for name in ENVS] == [{}] * len(ENVS)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wlk:WalkRows", "there is no module 'wlk'"),
        ("walk:WalkRow", "has no 'WalkRow'"),
        ("bad:Other", "'bad:Other' is the class Other, not a subclass of RowsEnv"),
        ("bad:Abstract", "'bad:Abstract' does not implement apply, exact, observe, rewards, start"),
    ],
)
def test_what_is_no_environment_is_refused(folder: OwnCode, name: str, message: str) -> None:
    with pytest.raises(PluginError) as refused:
        make_rows(name)
    assert message in refused.value.message
    assert refused.value.hint


def test_a_name_of_the_class_must_be_the_one_it_is_called_by(folder: OwnCode) -> None:
    folder.write(walk=WALK.replace("    config_type", '    name = "stroll"\n    config_type'))
    with pytest.raises(PluginError, match="'walk:WalkRows' calls itself 'stroll'"):
        make_rows("walk:WalkRows")


def test_import_paths_can_be_forbidden(folder: OwnCode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_ALLOW_IMPORT_PATHS", "0")
    with pytest.raises(UsageError, match="the import path 'walk:WalkRows' is not allowed here"):
        make_rows("walk:WalkRows")


def test_an_environment_over_a_scenario_is_no_import_path() -> None:
    with pytest.raises(MayaviError, match="'depeg_cascade' has no 'learner'"):
        make_rows("scenario:depeg_cascade")


@pytest.mark.slow(1)
def test_a_package_offers_one_by_an_entry_point_also_to_gymnasium(own_code: OwnCode) -> None:
    lines = "walk = walk:WalkRows\naave = walk:WalkRows\nbad = bad:Other\nno id! = walk:WalkRows"
    own_code.install("walks", {GROUP: lines}, {"walk.py": WALK, "bad.py": BAD})
    for name in ("walk", "mayavi/walk-v0"):
        assert make_rows(name, 2).name == "walk"
    assert entry("aave").load().__name__ == "AaveBorrowerRows"
    found = {each.name: each.error for each in installed_environments()}
    assert found["walk"] == ""
    assert "built-in environment" in found["aave"]
    assert "not a subclass of RowsEnv" in found["bad"]
    assert "'no id!' cannot be a name" in found["no id!"]
    with pytest.raises(SetupError, match="'bad' of 'bad:Other' cannot be used"):
        make_rows("bad")
    assert env_versions("walk")["environment walk"].startswith("walk of walks 1.0, sha256 ")
    program = """
import sys, gymnasium, mayavi.gym_env
assert "walk" not in sys.modules
env = gymnasium.make("mayavi/walk-v0", horizon=3)
batch = gymnasium.make_vec("mayavi/walk-v0", 4, vectorization_mode="vector_entry_point")
print(env.unwrapped.env.name, env.reset(seed=1)[0].shape, batch.reset(seed=1)[0].shape)
"""
    environment = {**os.environ, **own_code.environment}
    finished = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert finished.stdout == "walk (1,) (4, 1)\n", finished.stderr
