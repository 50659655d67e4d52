"""Runs of agents written in Python: what the commands say of their errors, and why they cannot be bundled."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from mayavi import Fork, Store
from mayavi.agents.base import StepResult, World
from mayavi.errors import BadArgument, UsageError
from mayavi.runs.bundle import read_bundle, write_bundle
from mayavi.sim.rows import RunInfo
from mayavi.sim.runner import Runner
from mayavi.sim.store import new_run_id
from mayavi.sim.store.artifact import ROWS, write_artifact
from tests.scenarios.build.test_registry import PLUGIN, SCENARIO
from tests.sim.small_world import Scripted, scheduled, wish


def clumsy(world: World, step_idx: int) -> StepResult:
    if step_idx == 1:
        raise BadArgument("asked for -3 WETH", "ask for a positive amount")
    return wish("look")


def hasty(world: World, step_idx: int) -> StepResult:
    def act() -> None:
        raise KeyError("nowhere")

    return wish("act", act, account="hasty-7")


def stored(path: Path, **changes: str) -> str:
    """Id of a stored run of two agents that raise."""
    fork = Fork.empty()
    scheduler = scheduled(fork, [Scripted("clumsy", clumsy), Scripted("hasty", hasty)])
    facts = {"scenario": "mine", "scenario_text": "", "chain": "ethereum", "source": "replica", **changes}
    info = RunInfo(
        run_id=new_run_id(),
        seed=1,
        steps=3,
        world_digest=fork.digest(),
        versions={},
        started_at=time.time(),
        **facts,
    )
    with Store(path).recorder() as recorder:
        Runner(scheduler.world, scheduler, steps=3, recorder=recorder, info=info).run()
    return info.run_id


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.duckdb"


@pytest.mark.slow(0.3)
def test_show_says_whose_step_raised_what_and_where(run_mayavi, store: Path) -> None:
    run_id = stored(store)
    shown = run_mayavi("runs", "show", run_id, "--store", str(store))
    assert shown.returncode == 0, shown.stderr
    clumsy_line, hasty_line = (
        next(line for line in shown.stdout.splitlines() if line.startswith(f"agent '{name}'"))
        for name in ("clumsy", "hasty")
    )
    assert clumsy_line.startswith(
        "agent 'clumsy' raised in step 1, block 'all', step: BadArgument: asked for -3 WETH (test_own_agents.py:"
    )
    assert clumsy_line.endswith(" in clumsy); ask for a positive amount")
    assert "agent 'hasty' for hasty-7 raised 3 times, first in step 0, block 'all', act: KeyError" in hasty_line
    document = json.loads(run_mayavi("runs", "show", run_id, "--store", str(store), "--json").stdout)
    by_agent = {each["agent"]: each for each in document["raised"]}
    assert (by_agent["clumsy"]["kind"], by_agent["clumsy"]["step"], by_agent["clumsy"]["count"]) == ("step", 1, 1)
    assert by_agent["clumsy"]["error"] == "BadArgument: asked for -3 WETH"
    assert by_agent["clumsy"]["hint"] == "ask for a positive amount"
    assert by_agent["hasty"]["count"] == 3
    assert "KeyError: 'nowhere'" in by_agent["hasty"]["traceback"]


def test_explain_prints_the_error_and_its_hint(run_mayavi, store: Path) -> None:
    run_id = stored(store)
    explained = run_mayavi("runs", "explain", run_id, "--agent", "clumsy", "--store", str(store))
    assert explained.returncode == 0, explained.stderr
    line = next(line for line in explained.stdout.splitlines() if "raised" in line)
    assert "step raised: BadArgument: asked for -3 WETH (test_own_agents.py:" in line
    assert line.endswith("; ask for a positive amount")


def test_a_run_without_a_scenario_is_not_bundled(run_mayavi, store: Path, tmp_path: Path) -> None:
    run_id = stored(store)
    refused = run_mayavi("artifact", run_id, "--store", str(store), cwd=tmp_path)
    assert refused.returncode == 2
    assert f"error: run '{run_id}' was built in Python and has no scenario" in refused.stderr
    assert "mayavi runs export" in refused.stderr
    assert list(tmp_path.glob("*.zip")) == []
    with pytest.raises(UsageError, match="was built in Python"):
        write_artifact(Store(store), run_id, tmp_path / "b.zip")


def test_a_run_whose_scenario_is_none_is_not_bundled(run_mayavi, store: Path, tmp_path: Path) -> None:
    run_id = stored(store, scenario_text="three steps with my agents")
    refused = run_mayavi("artifact", run_id, "--store", str(store), "--json", cwd=tmp_path)
    assert refused.returncode == 2
    document = json.loads(refused.stdout)
    assert document["error"].startswith(f"run '{run_id}' cannot be run again from its scenario")
    assert list(tmp_path.glob("*.zip")) == []


def test_a_bundle_without_a_scenario_is_refused_with_the_reason(run_mayavi, store: Path, tmp_path: Path) -> None:
    run_id = stored(store, scenario_text="name: mine\n")
    path = tmp_path / "mine.zip"
    write_artifact(Store(store), run_id, path)  # as an earlier version wrote it, less the scenario
    bundle = read_bundle(path)
    assert set(bundle.files) == {"scenario.yaml", *ROWS.values()}
    write_bundle(path, bundle.kind, bundle.facts, {**bundle.files, "scenario.yaml": b""})
    refused = run_mayavi("artifact", "verify", str(path))
    assert refused.returncode == 2
    assert f"error: the run in '{path}' was built in Python and has no scenario" in refused.stderr
    assert "is empty" not in refused.stderr


@pytest.mark.slow
def test_an_agent_kind_of_a_package_is_bundled_and_verified_where_the_package_is(start_mayavi, tmp_path: Path) -> None:
    package = tmp_path / "package"
    facts = package / "whale_plugin-1.0.dist-info"
    facts.mkdir(parents=True)
    (package / "whale_plugin.py").write_text(PLUGIN)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: whale-plugin\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[mayavi.agents]\nwhale = whale_plugin\n")
    (tmp_path / "with_whales.yaml").write_text(SCENARIO)
    places = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    installed = {"PYTHONPATH": os.pathsep.join(places), "MAYAVI_STORE": str(tmp_path / "runs.duckdb")}
    played = start_mayavi("run", "with_whales.yaml", env=installed, cwd=tmp_path)
    assert played.returncode == 0, played.stderr
    written = start_mayavi("artifact", "latest", "--output", "whales.zip", env=installed, cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    verified = start_mayavi("artifact", "verify", "whales.zip", env=installed, cwd=tmp_path)
    assert verified.returncode == 0, verified.stderr
    assert "verified: the run gave the same rows again" in verified.stdout
    elsewhere = start_mayavi("artifact", "verify", "whales.zip", cwd=tmp_path)
    assert elsewhere.returncode == 2
    assert "unknown kind 'whale' of agents.whales" in elsewhere.stderr
    assert "install the package that adds this kind of agent" in elsewhere.stderr
