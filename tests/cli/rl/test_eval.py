"""`mayavi eval`, and `mayavi artifact` of a training."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.pages import REPOSITORY, Page

FEW = ("--episodes", "24")
README = Page(REPOSITORY / "README.md")


def evaluated(run_mayavi, *arguments: str, **more: object) -> dict:
    done = run_mayavi("eval", *arguments, "--json", **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def evaluations(place: Path, run_id: str) -> set[str]:
    """Names of the evaluations stored with a run."""
    return {each.name for each in (place / "data" / "models" / run_id / "eval").glob("*")}


@pytest.mark.slow
def test_baselines_are_compared_without_any_training(run_mayavi, tmp_path: Path) -> None:
    told = run_mayavi("eval", "-", "--env", "aave", *FEW, "--against", "noop,repay_all", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "aave · test split · drawn start · reward net_wealth · 24 episodes · deterministic" in told.stdout
    assert "repay_all against noop: " in told.stdout
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "eval.json"
    document = evaluated(
        run_mayavi, "-", "--env", "aave", *FEW, "--against", "noop,repay_all", "--output", str(file), cwd=tmp_path
    )
    assert json.loads(file.read_bytes()) == document
    assert (document["schema"], document["version"]) == ("mayavi-eval", 3)
    assert document["strategies"] == ["noop", "repay_all"]
    again = tmp_path / "again.json"
    more = ("--threads", "1")  # and it does not matter on how many threads
    evaluated(run_mayavi, "-", "--env", "aave", *FEW, "--against", "noop,repay_all", "--output", str(again), *more)
    assert again.read_bytes() == file.read_bytes()


@pytest.mark.slow
def test_the_fixed_state_is_saturated_whatever_the_number_of_episodes(run_mayavi) -> None:
    document = evaluated(
        run_mayavi, "-", "--env", "aave", "--episodes", "32", "--set", "start=fixed", "--against", "noop,repay_all"
    )
    (comparison,) = document["comparisons"]
    assert (comparison["verdict"], comparison["distinct_pairs"]) == ("saturated", 1)
    assert document["noop"]["std_reward"] == document["repay_all"]["std_reward"] == 0.0
    assert document["noop"]["effective_sample_size"] == 1
    assert document["repay_all"]["mean_reward"] > 0 > document["noop"]["mean_reward"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("-", "--env", "aave", "--episodes", "0"), "0 episodes show nothing", "play at least one"),
        (("-", "--env", "ave"), "unknown environment 'ave'", "did you mean 'aave'?"),
        (("-", "--env", "aave", "--against", "noop,repay_al"), "unknown strategy 'repay_al'", "mean 'repay_all'?"),
        (("-", "--env", "aave", "--split", "tst"), "unknown split 'tst'", "did you mean 'test'?"),
        (("-", "--env", "aave", "--set", "strat=fixed"), "has no setting 'strat'", "did you mean 'start'?"),
        (("-", "--env", "aave", "--search", "beem"), "unknown search 'beem'", "did you mean 'beam'?"),
        (
            ("-", "--env", "aave", "--min-distinct", "1"),
            "a minimum of 1 distinct trajectories is too low",
            "at least 2",
        ),
        (("-", "--env", "aave", "--checkpoints", "all"), "baselines have no checkpoints", "name a training run"),
        (("-", "--env", "aave", "--source", "moon"), "unknown source 'moon'", "a world is"),
        (("-",), "comparing baselines needs an environment", "mayavi eval - --env aave"),
        (("-", "latest"), "- means baselines only", "by itself"),
        (("nothing",), "unknown training run 'nothing'", "`mayavi train` makes one"),
        (("-", "--env", "aave", "--output", "no/such/place.json"), "there is no folder", "create it"),
    ],
)
def test_bad_input_is_told_with_what_to_do(run_mayavi, tmp_path: Path, arguments, message: str, hint: str) -> None:
    refused = run_mayavi("eval", *arguments, cwd=tmp_path)
    assert refused.returncode == 2, refused.stderr
    assert message in refused.stderr
    assert hint in refused.stderr


@pytest.fixture(scope="module")
def training(run_mayavi, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the training of the README, and its id."""
    pytest.importorskip("stable_baselines3")
    place = tmp_path_factory.mktemp("training")
    (command,) = README.commands("mayavi train ")
    done = run_mayavi(*command.split()[1:], "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    return place, json.loads(done.stdout.splitlines()[-1])["run_id"]


@pytest.mark.slow
def test_the_training_of_the_readme_beats_every_baseline(run_mayavi, training: tuple[Path, str]) -> None:
    (command,) = README.commands("mayavi eval ")
    document = evaluated(run_mayavi, *command.split()[2:], "--output", "eval.json", cwd=training[0])
    stored = (training[0] / "data" / "models" / training[1] / "eval").glob("*.json")
    assert (training[0] / "eval.json").read_bytes() in [each.read_bytes() for each in stored]
    assert {each["against"]: each["verdict"] for each in document["comparisons"]} == dict.fromkeys(
        ["noop", "repay_all", "hold_band", "borrow_max", "follow_spread"], "better"
    )
    assert document["settings"]["episodes"] == 200
    shown = dict(re.findall(r"^\| .*`(\w+)`\)? \| (-?0\.\d+) \|", README.section("Train a policy"), re.MULTILINE))
    assert set(shown) == set(document["strategies"])
    for name, mean in shown.items():
        slack = 2e-5 if name == "ppo" else 5.1e-6  # another processor trains other last digits
        assert document[name]["mean_reward"] == pytest.approx(float(mean), abs=slack)


@pytest.mark.slow
def test_two_policies_are_compared_on_the_same_episodes(run_mayavi, training: tuple[Path, str]) -> None:
    place, run_id = training
    first = min(int(each.name) for each in (place / "data/models" / run_id / "checkpoints").iterdir())
    before = evaluations(place, run_id)
    document = evaluated(run_mayavi, run_id, *FEW, "--against", f"{run_id}:{first},noop", cwd=place)
    assert document["strategies"] == ["ppo", "noop", "rival"]
    assert document["settings"]["against"] == ["noop", "rival"]
    (rival,) = document["rivals"]
    assert (rival["name"], rival["steps"], rival["framework"]) == ("rival", first, "sb3")
    assert rival["differing_settings"] == {"steps": {"ppo": 24_576, "rival": first}}
    to_noop, to_rival = document["comparisons"]
    assert (to_noop["against"], to_rival["against"]) == ("noop", "rival")
    gains = [mine - its for mine, its in zip(document["ppo"]["rewards"], document["rival"]["rewards"], strict=True)]
    assert to_rival["difference"]["value"] == pytest.approx(sum(gains) / len(gains))
    assert to_rival["wins"] == sum(each > 0 for each in gains)
    assert to_rival["losses"] == sum(each < 0 for each in gains)
    assert to_rival["wins"] + to_rival["losses"] + to_rival["equal_episodes"] == 24
    assert to_rival["verdict"] in {"better", "worse", "indistinguishable", "saturated"}
    assert evaluations(place, run_id) == before  # it is about two policies: written beside the runs
    assert document in [json.loads(each.read_bytes()) for each in (place / "data/models/evaluations").glob("*.json")]

    back = evaluated(run_mayavi, f"{run_id}:{first}", *FEW, "--against", run_id, cwd=place)
    assert back["rival"]["rewards"] == document["ppo"]["rewards"]
    assert (back["comparisons"][0]["wins"], back["comparisons"][0]["losses"]) == (to_rival["losses"], to_rival["wins"])

    script = run_mayavi("eval", "follow_spread", *FEW, "--against", "latest", cwd=place)
    assert script.returncode == 0, script.stderr
    assert "against rival (sb3 ppo, seed 0, 24,576 steps)" in script.stdout
    assert "\nfollow_spread against rival: " in script.stdout
    assert " won, " in script.stdout


@pytest.mark.slow
def test_a_comparison_that_makes_no_sense_is_refused(run_mayavi, training: tuple[Path, str]) -> None:
    place, run_id = training
    for arguments, message, hint in (
        ((run_id, "--against", "latest"), "is named twice", "name each run once"),
        ((run_id, "--against", ""), "--against '' names nothing", "leave the option out"),
        ((run_id, "--against", "folow_spread"), "unknown strategy 'folow_spread', and no training", "'follow_spread'?"),
        ((run_id, "--against", "data/models/none"), "there is no training run at 'data/models/none'", "run.json"),
        ((run_id, "--against", f"{run_id}:7"), "has no checkpoint '7'", "it has"),
        (("nothing", "--against", run_id), "unknown training run 'nothing'", "runs are in"),
        (("noop", "--against", f"noop,{run_id}"), "'noop' is compared with itself", "another one"),
        (("noop", "--against", "repay_all"), "unknown training run 'noop'", "runs are in"),
        (("noop", "--against", run_id, "--checkpoints", "all"), "--checkpoints needs exactly one run", "name one"),
    ):
        refused = run_mayavi("eval", *arguments, *FEW, cwd=place)
        assert refused.returncode == 2, refused.stdout
        assert message in refused.stderr
        assert hint in refused.stderr


@pytest.mark.slow
def test_a_training_is_listed_and_shown_with_its_curves(run_mayavi, training: tuple[Path, str]) -> None:
    place, run_id = training
    (listed,) = json.loads(run_mayavi("trainings", "list", "--json", cwd=place).stdout)["trainings"]
    assert (listed["run_id"], listed["status"], listed["env"], listed["steps"]) == (run_id, "finished", "aave", 24_576)
    told = json.loads(run_mayavi("trainings", "show", "latest", "--json", cwd=place).stdout)
    assert told["settings"]["env.reward"] == "carry"
    assert told["checkpoints"][-1] | {"mean_reward": None} == {
        "name": "final", "steps": 24_576, "mean_reward": None, "resumable": True,
    }  # fmt: skip
    assert told["curves"]["rollout/ep_rew_mean"]["steps"] == 24_576
    assert told["curves"]["rollout/ep_rew_mean"]["value"] == pytest.approx(told["mean_reward"], rel=1e-5)
    shown = run_mayavi("trainings", "show", run_id, cwd=place)
    assert f"`mayavi train --resume {run_id} --timesteps 49152` trains it further" in shown.stdout


@pytest.mark.slow
def test_a_training_is_evaluated_bundled_and_verified(run_mayavi, training: tuple[Path, str], tmp_path: Path) -> None:
    run_id = training[1]
    place = tmp_path
    shutil.copytree(training[0] / "data", place / "data")
    shutil.rmtree(place / "data" / "models" / run_id / "eval", ignore_errors=True)
    early = run_mayavi("artifact", run_id, cwd=place)
    assert early.returncode == 2
    assert "has no evaluation yet" in early.stderr
    first = min(int(each.name) for each in (place / "data/models" / run_id / "checkpoints").iterdir())
    steps = f"{first},24576"
    document = evaluated(run_mayavi, "latest", *FEW, "--against", "noop", "--checkpoints", steps, cwd=place)
    assert [each["step"] for each in document["checkpoints"]["steps"]] == [first, 24_576]
    (file,) = (place / "data" / "models" / run_id / "eval").iterdir()
    assert json.loads(file.read_bytes()) == document
    assert file.name.startswith("test-24-deterministic-")
    stochastic = run_mayavi("eval", f"{run_id}:{first}", *FEW, "--against", "noop", "--stochastic", cwd=place)
    assert stochastic.returncode == 0, stochastic.stderr
    assert f"stochastic · ppo (sb3, seed 0, {first:,} steps)" in stochastic.stdout
    written = run_mayavi("artifact", run_id, "--json", cwd=place)
    assert written.returncode == 0, written.stderr
    bundle = json.loads(written.stdout)["bundle"]
    assert bundle == f"aave-ppo-{run_id}.zip"
    verified = run_mayavi("artifact", "verify", bundle, cwd=place)
    assert verified.returncode == 0, verified.stderr
    assert "verified: the evaluations gave the same results again" in verified.stdout
    document["ppo"]["mean_reward"] += 0.5
    file.write_text(json.dumps(document))
    forged = run_mayavi("artifact", run_id, "--output", "forged.zip", cwd=place)
    assert forged.returncode == 0, forged.stderr
    refused = run_mayavi("artifact", "verify", "forged.zip", "--json", cwd=place)
    found = json.loads(refused.stdout.splitlines()[-1])
    assert (refused.returncode, found["verified"]) == (1, False)
    assert "mean_reward was" in found["differences"][0]


@pytest.mark.slow
def test_a_run_is_not_taken_for_what_it_was_not_trained_on(run_mayavi, training: tuple[Path, str]) -> None:
    place, run_id = training
    other = run_mayavi("eval", run_id, "--env", "compound", *FEW, cwd=place)
    assert other.returncode == 2
    assert "was trained on 'aave', not on 'compound'" in other.stderr
    unknown = run_mayavi("eval", "20991231", *FEW, cwd=place)
    assert unknown.returncode == 2
    assert "unknown training run '20991231'" in unknown.stderr
    step = run_mayavi("eval", f"{run_id}:5", *FEW, cwd=place)
    assert step.returncode == 2
    assert "has no checkpoint '5'" in step.stderr
    space = run_mayavi("eval", run_id, "--set", "actions=continuous", *FEW, cwd=place)
    assert space.returncode == 2
    assert "another action space" in space.stderr
    absent = run_mayavi("artifact", "nothing", "--models", "data/models", cwd=place)
    assert absent.returncode == 2
    assert "unknown training run 'nothing'" in absent.stderr
