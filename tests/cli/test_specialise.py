"""`mayavi specialise show` prints what was recorded of a function."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mayavi.cli.printing.specialise import statistics_facts


@pytest.mark.slow(0.5)
def test_paths_of_a_function_are_shown_with_the_sources_of_their_guards(run_mayavi: Any) -> None:
    shown = run_mayavi("specialise", "show", "borrow", "--env", "aave", "--steps", "3000", "--json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout.splitlines()[-1])
    sites = found["sites"]
    assert {site["name"] for site in sites} == {"AaveV3.Pool.borrow"}
    paths = [path for site in sites for path in site["paths"]]
    assert paths
    assert all(path["opcodes"] > 5_000 > path["operations"] > path["operations_left"] > 50 for path in paths)
    guards = [guard for path in paths for guard in path["guards"]]
    assert {"JUMPI"} <= {guard["opcode"] for guard in guards}
    assert any(guard["slots"] for guard in guards)
    assert all(guard["pc"] > 0 for guard in guards)


def test_an_unknown_function_is_refused_with_those_that_there_are(run_mayavi: Any) -> None:
    shown = run_mayavi("specialise", "show", "Pool.burrow", "--env", "aave", "--steps", "200")
    assert shown.returncode == 2
    assert "unknown call 'Pool.burrow'" in shown.stderr
    assert "AaveV3.Pool.borrow" in shown.stderr


def test_an_environment_without_a_chain_is_refused(run_mayavi: Any) -> None:
    shown = run_mayavi("specialise", "show", "borrow", "--env", "rwa", "--steps", "1")
    assert shown.returncode == 2
    assert "stands on no chain" in shown.stderr


@pytest.mark.slow(1)
def test_runs_trainings_and_evaluations_say_how_much_was_replayed(run_mayavi: Any, tmp_path: Path) -> None:
    store, models = str(tmp_path / "runs.duckdb"), str(tmp_path / "models")
    run = run_mayavi("run", "aave_borrower", "--steps", "2", "--specialise", "check", "--stats", "--store", store)
    assert run.returncode == 0, run.stderr
    assert "specialise  check" in run.stdout
    shown = run_mayavi("runs", "show", "latest", "--store", store, "--json")
    assert json.loads(shown.stdout)["specialise"]["mode"] == "check"
    options = ("--framework", "fast", "--timesteps", "4096", "--no-eval", "--models", models, "--stats")
    trained = run_mayavi("train", "--env", "aave", *options)
    assert trained.returncode == 0, trained.stderr
    assert "by compiled paths" in trained.stdout
    found = json.loads(run_mayavi("trainings", "show", "latest", "--models", models, "--json").stdout)["specialise"]
    assert found["calls"] >= found["hits"] > 0
    told = run_mayavi("eval", "-", "--env", "aave", "--episodes", "2", "--specialise", "off", "--stats", "--json")
    assert json.loads(told.stdout.splitlines()[-1])["specialise"]["mode"] == "off"


@pytest.mark.slow(0.8)
def test_an_environment_starts_with_the_paths_that_were_recorded_ahead(run_mayavi: Any, tmp_path: Path) -> None:
    from mayavi.cache_directory import default_cache_dir

    (tmp_path / "replicas").symlink_to(default_cache_dir() / "replicas")
    env = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    warm = ("specialise", "warm", "--env", "aave", "--steps", "4000", "--json")
    first, second = (run_mayavi(*warm, env=env) for _ in range(2))
    assert second.returncode == 0, second.stderr
    before, after = (json.loads(each.stdout.splitlines()[-1])["specialise"] for each in (first, second))
    assert before["recordings"] > 0 == before["cached"]
    # What is read leaves room to record the few paths that came too late for it before.
    assert after["cached"] >= before["paths"] > 0
    assert after["recordings"] < before["recordings"] / 2
    assert after["share"] > before["share"]
    cleared = run_mayavi("specialise", "clear", "--json", env=env)
    assert json.loads(cleared.stdout)["files"] == 1
    assert not list((tmp_path / "paths").iterdir())


@pytest.mark.slow(10)
def test_a_training_keeps_its_paths_for_the_next_one_of_any_framework(run_mayavi: Any, tmp_path: Path) -> None:
    from mayavi.cache_directory import default_cache_dir

    (tmp_path / "replicas").symlink_to(default_cache_dir() / "replicas")
    env, models, paths = {"MAYAVI_CACHE_DIR": str(tmp_path)}, str(tmp_path / "models"), tmp_path / "paths"

    def train(framework: str) -> dict[str, Any]:
        options = ("--env", "aave", "--timesteps", "4096", "--no-eval", "--models", models, "--framework", framework)
        runners = ("--set", "runners=0") if framework == "rllib" else ()
        trained = run_mayavi("train", *options, *runners, env=env)
        assert trained.returncode == 0, trained.stderr
        shown = run_mayavi("trainings", "show", "latest", "--models", models, "--json", env=env)
        found: dict[str, Any] = json.loads(shown.stdout)["specialise"]
        return found

    for framework in ("rllib", "sb3", "fast"):
        run_mayavi("specialise", "clear", env=env)
        first = train(framework)
        assert first["recordings"] > 0 == first["cached"]
        assert len(list(paths.iterdir())) == 1
    assert train("fast")["cached"] >= first["paths"] / 2


def test_paths_of_a_world_that_a_node_completes_are_not_kept(run_mayavi: Any) -> None:
    refused = run_mayavi("specialise", "warm", "--env", "aave", "--source", "rpc")
    assert refused.returncode == 2
    assert "snapshot:PATH" in refused.stderr


def test_statistics_say_what_they_mean() -> None:
    none = {"mode": "on", "share": 0.0, "calls": 113, "native": 0, "hits": 0, "paths": 1, "recordings": 1}
    found = none | {"record_seconds": 0.0, "compiled": 0, "compile_seconds": 0.0, "missed": 113, "off": []}
    guard = "truth of " + "eq(" * 100
    few = dict(statistics_facts(found | {"misses": {"no path yet": 100, guard: 13}}))
    assert few["replayed"] == "none of 113 calls: too few of each kind to be worth recording"
    assert few["misses"] == f"100 × no path yet\n13 × {guard[:96]}…"
    assert "checked" not in few
    checked = dict(statistics_facts(found | {"mode": "check", "share": 0.98, "misses": {}, "missed": 0}))
    assert checked["checked"] == "each replayed call was interpreted too: no difference"
    some = dict(statistics_facts(found | {"share": 0.5, "hits": 50, "checks": 4, "misses": {}, "missed": 0}))
    assert some["checked"] == "4 of 50 replayed calls were interpreted too: no difference"
    assert "mismatches" not in some
    wrong = dict(statistics_facts(found | {"share": 0.5, "hits": 50, "mismatches": 1, "misses": {}, "missed": 0}))
    assert wrong["mismatches"] == "1 recordings contradicted themselves and are not used"
    assert statistics_facts(found | {"mode": "off"}) == [("specialise", "off: every call was interpreted")]
