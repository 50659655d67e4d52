"""Scenarios with schemas for forms, checks of submissions, and worlds."""

from __future__ import annotations

import json
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import yaml

from mayavi.api.reading.scenarios import schema
from mayavi.api.reading.trainings import evaluation_summary, evaluations
from mayavi.rl.training_runs.folder import EVALUATIONS
from mayavi.scenarios.loading import load_scenario, scenario_source
from mayavi.scenarios.registry import entry, names
from tests.api.reading.conftest import Served


def test_every_scenario_that_can_run_is_listed(client: httpx.Client) -> None:
    found = client.get("/scenarios").json()
    assert [each["name"] for each in found["items"]] == names()
    for each in found["items"]:
        config = load_scenario(each["name"]).config
        assert (each["chain"], each["steps"]) == (config.chain, config.steps)
        assert each["chains"] == list(entry(each["name"]).chains)


def test_a_scenario_is_shown_as_written(client: httpx.Client) -> None:
    found = client.get("/scenarios/depeg_cascade").json()
    assert found["yaml"] == scenario_source("depeg_cascade")
    for name, hint in (("depegcascade", "depeg_cascade"), ("svm_launch_replay", "launch_replay")):
        answer = client.get(f"/scenarios/{name}")
        assert answer.status_code == 404
        assert hint in answer.json()["hint"]


@pytest.mark.parametrize("name", names())
def test_a_schema_accepts_its_scenario_and_has_its_values_as_defaults(name: str) -> None:
    values = yaml.safe_load(load_scenario(name).text)
    found = schema(name)
    jsonschema.Draft202012Validator(found).validate(values)
    assert {key: found["properties"][key]["default"] for key in values} == values
    agents = found["properties"]["agents"]["properties"]
    assert set(agents) == set(values["agents"])
    for agent, settings in values["agents"].items():
        fields = agents[agent]["properties"]
        assert {key: fields[key]["default"] for key in settings} == settings
        assert fields["kind"]["const"] == settings["kind"]


@pytest.mark.slow(1)
def test_a_schema_refuses_what_the_loader_refuses(client: httpx.Client) -> None:
    found = client.get("/scenarios/depeg_cascade/schema").json()
    jsonschema.Draft202012Validator.check_schema(found)
    values = yaml.safe_load(load_scenario("depeg_cascade").text)
    values["agents"]["borrowers"]["count"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, found)


def test_the_schema_of_one_scenario_does_not_change_that_of_another() -> None:
    first = schema("depeg_cascade")["properties"]["steps"]["default"]
    assert schema("aave_borrower")["properties"]["steps"]["default"] != first
    assert schema("depeg_cascade")["properties"]["steps"]["default"] == first


def test_forms_are_told_nothing_about_options_of_the_command_line() -> None:
    found = schema("depeg_cascade")
    assert found["properties"]["chain"]["description"] == "Chain to run on."
    assert "`--" not in json.dumps(found)


@pytest.mark.parametrize(
    ("submission", "wanted"),
    [
        ({"grid": {"agents.nope.count": [1]}, "seeds": "0:2"}, "agents.nope.count=1: there is no 'nope' in agents"),
        ({"overrides": {"agents.nope.count": 1}}, "agents.nope.count=1: there is no 'nope' in agents"),
    ],
)
def test_problems_name_keys_and_no_options(client: httpx.Client, submission: dict[str, Any], wanted: str) -> None:
    (problem,) = check(client, scenario="depeg_cascade", **submission)["problems"]
    assert problem["message"] == wanted
    assert problem["field"].endswith(".agents.nope.count")


def check(client: httpx.Client, **submission: Any) -> dict[str, Any]:
    answer = client.post("/scenarios/validate", json=submission)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_command_of_a_single_run_has_its_seed(client: httpx.Client) -> None:
    assert check(client, scenario="aave_borrower", seed=7)["command"] == "mayavi run aave_borrower --seed 7"


def test_a_valid_submission_is_resolved_and_its_command_does_the_same(client: httpx.Client) -> None:
    overrides = {"agents.borrowers.count": 5, "prices.WETH.size": "-20%", "title": "it's a $test; rm -rf"}
    found = check(client, scenario="depeg_cascade", chain="base", steps=3, overrides=overrides)
    assert (found["valid"], found["problems"], found["runs"]) == (True, [], 1)
    words = shlex.split(found["command"])
    assert words[:3] == ["mayavi", "run", "depeg_cascade"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert (options["--chain"], options["--steps"]) == ("base", "3")
    settings = [word for flag, word in pairwise(words) if flag == "--set"]
    loaded = load_scenario("depeg_cascade", chain="base", steps=3, overrides=settings)
    assert found["yaml"] == loaded.text
    assert loaded.config.title == "it's a $test; rm -rf"


def test_a_sweep_counts_its_runs(client: httpx.Client) -> None:
    grid = {"agents.borrowers.count": [5, 10], "prices.WETH.size": ["-20%", "-30%", "-40%"]}
    found = check(client, scenario="depeg_cascade", seeds="0:4,9", grid=grid)
    assert (found["valid"], found["runs"]) == (True, 30)
    assert shlex.split(found["command"]) == [
        *("mayavi", "sweep", "depeg_cascade", "--seeds", "0:4,9"),
        *("--grid", "agents.borrowers.count=5,10", "--grid", "prices.WETH.size=-20%,-30%,-40%"),
    ]
    assert check(client, scenario="depeg_cascade", grid=grid)["runs"] == 120


def test_inline_yaml_has_problems_with_line_and_column(client: httpx.Client) -> None:
    text = scenario_source("aave_borrower")
    assert check(client, yaml=text)["command"] == "mayavi run scenario.yaml"
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines, 1) if line.startswith("steps:"))
    wrong = text.replace(lines[at - 1], "steps: many")
    found = check(client, yaml=wrong)
    assert (found["valid"], found["command"], found["yaml"]) == (False, "", "")
    assert found["problems"][0]["line"] == at
    assert found["problems"][0]["column"] == 8
    broken = check(client, yaml="name: [")
    assert not broken["valid"]
    assert broken["problems"][0]["line"]


@pytest.mark.parametrize(
    "submission",
    [
        {},
        {"scenario": "depeg_cascade", "yaml": "name: x"},
        {"scenario": "../../etc/passwd"},
        {"scenario": "nothing"},
        {"yaml": "agents: {a: {kind: positions, file: /etc/passwd}}"},
        {"yaml": "a: !!python/object/apply:os.system [id]"},
        {"scenario": "depeg_cascade", "seeds": "9:1"},
        {"scenario": "depeg_cascade", "overrides": {"agents.nobody.count": 3}},
        {"scenario": "depeg_cascade", "chain": "atlantis"},
    ],
)
def test_what_cannot_run_is_not_valid(client: httpx.Client, submission: dict[str, Any]) -> None:
    found = check(client, **submission)
    assert not found["valid"]
    assert found["problems"][0]["message"]
    assert "root:" not in str(found)


@pytest.mark.slow(0.3)
def test_worlds_are_listed_and_never_built(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from mayavi.scenarios.models.config import MARKET_CHAINS
    from mayavi.worlds import market_names, open_world, world_blocks, world_names

    listed = client.get("/worlds").json()["items"]
    found = {each["chain"]: each for each in listed if each["default"]}
    assert sorted(found) == sorted([*world_names(), *MARKET_CHAINS])
    assert [each["block_number"] for each in listed if each["world"] == "ethereum" and not each["default"]] == (
        world_blocks("ethereum")[1:]
    )
    assert [each["world"] for each in listed if each["aave"] == "3.6"] == market_names()
    assert found["plasma"]["protocols"] == ["Aave V3"]
    assert {each["title"] for each in listed} > {"Ethereum mainnet, 13 January 2024", "Ethereum mainnet, 10 July 2023"}
    ethereum = found["ethereum"]
    assert (ethereum["chain_id"], ethereum["built"], ethereum["block_number"]) == (1, True, 19_000_000)
    assert ethereum["digest"] == open_world("ethereum").digest()
    assert {"Aave V3", "Uniswap V3", "Compound V3", "Curve"} <= set(ethereum["protocols"])
    assert {"WETH", "USDC"} <= set(ethereum["tokens"])
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path))
    for each in client.get("/worlds").json()["items"]:
        assert (each["built"], each["digest"], each["bytes"]) == (False, None, None)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_is_answered_with_where_the_known_ones_are(served: Served) -> None:
    for path, hint in (("/scenarios/zzz", "`GET /scenarios` lists them"), ("/trainings/zzz", "the newest is '2026")):
        answer = served.client.get(path)
        assert answer.status_code == 404
        assert answer.json()["hint"].startswith(hint)


def test_trainings_and_evaluations_are_listed(served: Served) -> None:
    (training,) = served.client.get("/trainings").json()["items"]
    assert training["training_id"] == "20260314-092653000-trained0"
    assert (training["env"], training["framework"], training["status"]) == ("aave", "sb3", "finished")
    assert training["started_at"] == "2026-03-14T09:26:53Z"
    assert served.client.get("/trainings/20260314-092653000-trained0").json() == training
    (evaluation,) = served.client.get("/evaluations").json()["items"]
    assert evaluation["evaluation_id"] == "20260314-092653000-trained0.test-12-deterministic-0a1b2c3d"
    assert (evaluation["env"], evaluation["episodes"]) == ("chase", 12)
    assert evaluation["training_id"] == training["training_id"]


@pytest.mark.slow(1)
def test_an_evaluation_has_the_page_of_its_report(served: Served) -> None:
    import tests.rl.chase_env  # noqa: F401
    from mayavi.report.kinds import document_builder
    from tests.api.reading.test_pages import expected

    (evaluation,) = served.client.get("/evaluations").json()["items"]
    path = f"/evaluations/{evaluation['evaluation_id']}"
    (file,) = served.models.glob("*/eval/*.json")
    page = document_builder(file, served.models)[1]()
    found = served.client.get(f"{path}/page")
    assert found.status_code == 200, found.text
    assert found.json() == json.loads(json.dumps(expected(page)))
    assert evaluation["verdict"] == page.verdict.badge
    comparisons = json.loads(file.read_text())["comparisons"]
    assert set(evaluation["against"]) == {each["against"] for each in comparisons} != set()
    report = served.client.get(f"{path}/report")
    assert report.headers["content-security-policy"].startswith("sandbox")


def test_evaluations_of_several_trainings_are_listed_without_one(tmp_path: Path) -> None:
    (tmp_path / EVALUATIONS).mkdir()
    (tmp_path / EVALUATIONS / "test-24-deterministic-0a1b2c3d.json").write_text("{}")
    (found,) = evaluations(tmp_path).values()
    assert found.evaluation_id == "evaluations.test-24-deterministic-0a1b2c3d"
    assert evaluation_summary(found).training_id is None


@pytest.mark.parametrize("kind", ["trainings", "evaluations"])
@pytest.mark.parametrize("name", ["latest", "..", ".hidden", "a%2fb", "..%2f..%2frun.json", "x" * 200, "%00"])
def test_no_path_names_a_training_or_an_evaluation(client: httpx.Client, kind: str, name: str) -> None:
    for rest in ("page", "report"):
        assert client.get(f"/{kind}/{name}/{rest}").status_code == 404


def test_a_training_without_what_a_report_needs_says_so(served: Served) -> None:
    broken = served.models / "20260314-092653000-broken00"
    broken.mkdir()
    (broken / "run.json").write_text("{}")
    try:
        found = served.client.get(f"/trainings/{broken.name}").json()
        assert (found["status"], found["env"]) == ("damaged", None)
        assert "run.json" in found["problem"]
        answer = served.client.get(f"/trainings/{broken.name}/page")
        assert answer.status_code == 409, answer.text
    finally:
        (broken / "run.json").unlink()
        broken.rmdir()
