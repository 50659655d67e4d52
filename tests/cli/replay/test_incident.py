"""`mayavi replay incident`: tables, JSON, counterfactuals, bad input, and bundles of its runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def kept(run_mayavi, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A store with the runs of one incident, and its JSON."""
    store = tmp_path_factory.mktemp("store") / "runs.duckdb"
    change = ("--counterfactual", "agents.investors.share=0%")
    done = run_mayavi("replay", "incident", "eigen-2025-10", *change, "--store", str(store), "--json")
    assert done.returncode == 0, done.stderr
    return store, json.loads(done.stdout.splitlines()[-1])


def test_incidents_are_listed(run_mayavi) -> None:
    done = run_mayavi("replay", "incidents")
    assert done.returncode == 0, done.stderr
    for name in ("steth_2022_06", "crv_2022_11", "usdc_depeg_2023_03", "ena_2025_03", "eigen_2025_10", "capo_2026_03"):
        assert name in done.stdout
    listed = json.loads(run_mayavi("replay", "incidents", "--json").stdout)["incidents"]
    assert {each["date"] for each in listed} >= {"2022-11-22", "2026-03-10"}


@pytest.mark.slow(0.3)
def test_keys_of_counterfactuals_are_listed_and_an_unknown_one_is_refused_with_them(run_mayavi) -> None:
    listed = json.loads(run_mayavi("replay", "incidents", "crv_2022_11", "--json").stdout)["keys"]
    assert listed["aave_v2.USDC.liquidation_bonus"].keys() == {"recorded", "market"}
    assert "market" in listed["agents.liquidators.count"]
    assert listed["agents.liquidators.latency_blocks"] == {"market": "0"}  # a default that no file writes
    table = run_mayavi("replay", "incidents", "crv_2022_11").stdout
    refused = run_mayavi("replay", "incident", "crv_2022_11", "--counterfactual", "liquidation_bonus=2%")
    assert refused.returncode == 2
    assert "did you mean aave_v2.CRV.liquidation_bonus" in refused.stderr
    for key in listed:
        assert key in table
        assert key in refused.stderr.replace("\n  ", " ")


@pytest.mark.slow(0.3)
def test_the_table_has_recorded_simulated_and_difference(run_mayavi, tmp_path: Path) -> None:
    store = str(tmp_path / "runs.duckdb")
    done = run_mayavi("replay", "incident", "eigen_2025_10", "--facts-only", "--store", store)
    assert done.returncode == 0, done.stderr
    assert "recorded" in done.stdout
    line = next(each for each in done.stdout.splitlines() if "lowest price change" in each and "%" in each)
    assert "−4.56 %" in line
    assert "−3.97 %" in line
    assert "+0.59 points" in line
    unlocked = next(each for each in done.stdout.splitlines() if "EIGEN of investors" in each)
    assert "20,189,050 EIGEN" in unlocked
    assert unlocked.endswith("input")
    assert "exact" not in done.stdout
    assert "the pool has no buyers" in done.stdout  # a miss is explained
    assert "stored as" in done.stdout


def test_json_has_facts_sources_and_effects(kept: tuple[Path, dict]) -> None:
    _, document = kept
    assert document["exact"] is True
    assert all(each["source"] for each in document["facts"])
    unlocked = document["runs"]["unlock"]["figures"][0]
    assert unlocked["recorded"] == "20189049.87"
    assert float(unlocked["difference"]) == 0
    assert (unlocked["input"], unlocked["exact"]) == (True, None)
    assert document["runs"]["unlock"]["failures"] == {"failed": 0}
    (changed,) = document["counterfactuals"]
    effects = {each["name"]: each for each in changed["effects"]["unlock"]}
    effect = effects["lowest price change of the day"]
    assert float(effect["effect"]) == pytest.approx(float(effect["changed"]) - float(effect["simulated"]))
    assert float(effect["effect"]) > 0.015  # less is sold, so the price falls less


@pytest.mark.slow(2)
def test_a_run_of_an_incident_is_bundled_and_verified(run_mayavi, kept: tuple[Path, dict], tmp_path: Path) -> None:
    store, document = kept
    for run_id in (document["runs"]["unlock"]["run_id"], document["counterfactuals"][0]["run_ids"]["unlock"]):
        bundle = str(tmp_path / f"{run_id}.zip")
        written = run_mayavi("artifact", run_id, "--output", bundle, "--store", str(store))
        assert written.returncode == 0, written.stderr
        verified = run_mayavi("artifact", "verify", bundle, cwd=tmp_path)
        assert verified.returncode == 0, verified.stderr
        assert "verified: the run gave the same rows again" in verified.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("crv",), "unknown incident 'crv'"),
        (("eigen_2025_10", "--run", "sale"), "has no run 'sale'"),
        (("eigen_2025_10", "--counterfactual", "agents.investor.share=0%"), "--counterfactual agents.investor"),
        (("eigen_2025_10", "--counterfactual", "nothing"), "does not set anything"),
        (("eigen_2025_10", "--cases", "/nowhere"), "there is no folder '/nowhere'"),
        (("eigen_2025_10", "--cases", ".", "--facts-only"), "contradict each other"),
    ],
)
def test_bad_input_is_refused_with_exit_code_2(run_mayavi, tmp_path: Path, arguments: tuple[str, ...], message: str):
    done = run_mayavi("replay", "incident", *arguments, "--store", str(tmp_path / "runs.duckdb"))
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert not (tmp_path / "runs.duckdb").exists()


@pytest.mark.slow(12)
def test_a_promised_figure_that_differs_is_exit_code_1(run_mayavi, repository: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    source = repository / "mayavi/scenarios/incidents/eigen_2025_10"
    (own / "unlock.yaml").write_text((source / "unlock.yaml").read_text())
    text = (source / "incident.yaml").read_text().replace("recorded: 3000000,", "recorded: 3000001,")
    (own / "incident.yaml").write_text(text)
    done = run_mayavi("replay", "incident", f"{own}/", "--store", str(tmp_path / "runs.duckdb"))
    assert done.returncode == 1, done.stderr
    assert "DIFFERS" in done.stdout


@pytest.mark.slow(12)
def test_a_run_on_aave_v2_is_bundled_and_verified(run_mayavi, tmp_path: Path) -> None:
    store = str(tmp_path / "runs.duckdb")
    done = run_mayavi(
        "replay", "incident", "crv_2022_11", "--run", "recorded", "--facts-only", "--store", store, "--json"
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    assert document["exact"] is True
    bundle = str(tmp_path / "crv.zip")
    run_mayavi("artifact", document["runs"]["recorded"]["run_id"], "--output", bundle, "--store", store)
    verified = run_mayavi("artifact", "verify", bundle, cwd=tmp_path)
    assert verified.returncode == 0, verified.stderr
