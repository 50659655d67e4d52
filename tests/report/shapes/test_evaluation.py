"""Pages of evaluations and trainings: verdicts, intervals and curves are those of the stored documents."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from mayavi.errors import UnknownRun, UsageError
from mayavi.report.numbers import short, written_numbers
from mayavi.report.page import Page
from mayavi.report.registry import Places, find
from mayavi.report.render import render
from mayavi.report.shapes.learning.evaluation import evaluation_page
from mayavi.report.shapes.learning.training import training_page
from mayavi.statistics.bootstrap import Bootstrap
from tests.report.shapes.conftest import TRAININGS
from tests.report.shapes.page_texts import cells, charts, has_section, section, tables, tile

pytestmark = pytest.mark.slow(1)


@pytest.fixture(scope="module")
def document(evaluation: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(evaluation.read_bytes())
    return found


@pytest.fixture(scope="module")
def page(trainings: Path) -> Page:
    return training_page("chase-0", trainings)


def test_an_evaluation_is_judged_against_the_strongest_baseline(document: dict[str, Any]) -> None:
    page = evaluation_page(document)
    best = max(document["comparisons"], key=lambda each: document[each["against"]]["mean_reward"])
    assert page.verdict.badge == best["verdict"]
    assert best["against"] in page.verdict.sentence
    assert tile(page, "mean reward of ppo") == short(document["ppo"]["mean_reward"])
    assert tile(page, "paired difference") == short(best["difference"]["value"])
    assert tile(page, "effective sample size") == str(document["ppo"]["effective_sample_size"])
    assert page.hero is not None
    assert page.hero.traces[0]["x"] == [each["difference"]["value"] for each in document["comparisons"]]
    (table,) = tables(page, "strategies")
    assert [row[1] for row in table.rows] == [document[name]["mean_reward"] for name in document["strategies"]]


def test_every_reason_is_in_the_summary(document: dict[str, Any]) -> None:
    text = " ".join(evaluation_page(document).summary)
    assert all(written_numbers(each["reason"]) in text for each in document["comparisons"])


def test_contamination_and_saturation_are_said(document: dict[str, Any]) -> None:
    seen = {**document, "models": [{**document["models"][0], "seen": "was trained on the test split"}]}
    assert "was trained on the test split" in evaluation_page(seen).notes[0]
    judged = [{**each, "verdict": "saturated", "reason": "too few"} for each in document["comparisons"]]
    page = evaluation_page({**document, "comparisons": judged})
    assert page.verdict.badge == "saturated"
    assert any("saturated: too few" in note for note in page.notes)


def test_all_seeds_of_a_configuration_are_on_one_page(trainings: Path, page: Page) -> None:
    records = [json.loads((trainings / f"chase-{seed}" / "run.json").read_text()) for seed in range(TRAININGS)]
    assert f"{TRAININGS} seeds (0, 1, 2, 3, 4)" in page.subject
    assert page.hero is not None
    line = next(trace for trace in page.hero.traces if trace["name"] == "median")
    steps = [each["steps"] for each in records[0]["validations"]]
    by_step = [[record["validations"][at]["mean_reward"] for record in records] for at in range(len(steps))]
    assert line["x"] == steps
    assert line["y"] == [median(values) for values in by_step]
    band = page.hero.traces[0]
    assert (min(band["y"]), max(band["y"])) == (min(map(min, by_step)), max(map(max, by_step)))


def test_seeds_are_pooled_from_the_rewards_of_their_evaluations(trainings: Path, page: Page) -> None:
    documents = [
        json.loads(next((trainings / f"chase-{seed}" / "eval").glob("*.json")).read_bytes()) for seed in range(5)
    ]
    against = max(documents[0]["comparisons"], key=lambda each: documents[0][each["against"]]["mean_reward"])["against"]
    rewards = np.stack([np.array(each["ppo"]["rewards"]) - np.array(each[against]["rewards"]) for each in documents])
    pooled = Bootstrap(resamples=400).estimate_pooled(rewards)
    assert page.verdict.interval.startswith(f"paired difference {short(pooled.value)} ")
    assert f"[{short(pooled.low)}, {short(pooled.high)}]" in page.verdict.interval
    means = [each["ppo"]["mean_reward"] for each in documents]
    assert tile(page, "mean reward over seeds") == short(sum(means) / len(means))
    (verdicts,) = tables(page, "pooled")
    assert len(verdicts.rows) == TRAININGS * len(documents[0]["comparisons"])


def test_settings_that_differ_from_the_defaults_are_listed(page: Page) -> None:
    (table,) = tables(page, "settings")
    changed = {row[0]: row[1:] for row in cells(table)}
    assert changed["learning_rate"] == ["0.003", "0.0003"]
    assert "gamma" not in changed
    assert "--set learning_rate=0.003" in page.provenance.command
    assert page.provenance.command.startswith("for seed in 0 1 2 3 4; do mayavi train ")
    assert "--seed $seed" in page.provenance.command
    assert "What the policy of seed 0 does" in {each.title for each in page.sections}


def test_the_policy_is_mapped_over_the_observations_that_move_it(trainings: Path, page: Page) -> None:
    from mayavi.rl.models import open_model

    (chart,) = [block for block in section(page, "policy").blocks if block.kind == "chart"]
    (trace,) = chart.traces
    assert len(trace["z"]) == len(trace["z"][0]) == 9
    policy = open_model("chase-0", trainings).policy()
    across = [float(str(text).replace("\u2212", "-")) for text in chart.layout["xaxis"]["ticktext"]]
    up = [float(str(text).replace("\u2212", "-")) for text in chart.layout["yaxis"]["ticktext"]]
    order = [1, 0] if chart.layout["xaxis"]["title"]["text"] == "observation 1" else [0, 1]
    corners = np.array([[x, y] for y in (up[0], up[-1]) for x in (across[0], across[-1])], dtype=np.float32)
    actions = policy.actions(corners[:, order])[0].tolist()
    assert [trace["z"][row][column] for row in (0, -1) for column in (0, -1)] == actions


def test_the_same_training_gives_the_same_bytes(trainings: Path, page: Page) -> None:
    assert render(training_page("chase-0", trainings)) == render(page)


def test_one_training_without_evaluation_makes_no_claim(trainings: Path, tmp_path: Path) -> None:
    shutil.copytree(trainings / "chase-1", tmp_path / "chase-1")
    shutil.rmtree(tmp_path / "chase-1" / "eval")
    page = training_page("chase-1", tmp_path)
    assert page.verdict.badge == "NOT EVALUATED"
    assert any("mayavi eval chase-1" in note for note in page.notes)
    assert any("One training seed" in note for note in page.notes)
    assert not has_section(page, "pooled")
    render(page)


def test_a_training_without_a_checkpoint_has_a_page_without_maps(trainings: Path, tmp_path: Path) -> None:
    shutil.copytree(trainings / "chase-2", tmp_path / "chase-2", ignore=shutil.ignore_patterns("final", "checkpoints"))
    page = training_page("chase-2", tmp_path)
    assert "cannot be played here" in str(section(page, "policy").blocks)
    assert any("damaged" in note for note in page.notes)


def test_they_are_found_by_id_and_by_file(trainings: Path, evaluation: Path, tmp_path: Path) -> None:
    places = Places(tmp_path / "none.duckdb", trainings)
    assert find("chase-3", places).kind == "training"
    found = find(str(evaluation), places)
    assert found.kind == "evaluation"
    assert "mayavi eval chase-0" in found.build().provenance.command
    copied = tmp_path / "copied.json"
    copied.write_bytes(evaluation.read_bytes())
    provenance = find(str(copied), places).build().provenance
    assert provenance.command.startswith("mayavi eval chase-0 ")
    assert ("training", "chase-0") in provenance.facts
    with pytest.raises(UnknownRun, match="unknown file, run, sweep or training 'nobody'"):
        find("nobody", places)
    other = tmp_path / "other.json"
    other.write_text('{"schema": "mayavi-other"}')
    with pytest.raises(UsageError, match="has the schema 'mayavi-other', and no report"):
        find(str(other), places)
    other.write_text('{"schema": "mayavi-eval", "version": 3}')
    with pytest.raises(UsageError, match="lacks what a report of an evaluation needs"):
        find(str(other), places).build()
    other.write_text("[]")
    with pytest.raises(UsageError, match="is not a JSON document"):
        find(str(other), places)


def test_charts_state_their_sample_size(page: Page) -> None:
    for chart in charts(page):
        assert any(letter.isdigit() for letter in chart.subtitle), chart.title
