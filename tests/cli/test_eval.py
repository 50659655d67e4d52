"""`mayavi eval`, and `mayavi artifact` of a training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FEW = ("--episodes", "24")


def evaluated(run_mayavi, *arguments: str, **more: object) -> dict:
    done = run_mayavi("eval", *arguments, "--json", **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


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
    assert (document["schema"], document["version"]) == ("mayavi-eval", 1)
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
        (("-", "--env", "aave", "--min-distinct", "1"), "1 trajectories is none", "two at least"),
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
    """A folder with one short training of the real environment, and its id."""
    pytest.importorskip("stable_baselines3")
    place = tmp_path_factory.mktemp("training")
    sizes = ("num_envs=32", "rollout_steps=12", "minibatch_size=128", "epochs=2", "checkpoint_every_steps=384")
    done = run_mayavi(
        "train", "--env", "aave", "--framework", "sb3", "--timesteps", "1152", "--seed", "1",
        *(word for each in sizes for word in ("--set", each)), "--json", cwd=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return place, json.loads(done.stdout.splitlines()[-1])["run_id"]


@pytest.mark.slow
def test_a_training_is_evaluated_bundled_and_verified(run_mayavi, training: tuple[Path, str]) -> None:
    place, run_id = training
    early = run_mayavi("artifact", run_id, cwd=place)
    assert early.returncode == 2
    assert "has no evaluation yet" in early.stderr
    document = evaluated(run_mayavi, "latest", *FEW, "--against", "noop", "--checkpoints", "all", cwd=place)
    assert [each["step"] for each in document["checkpoints"]["steps"]] == [384, 768, 1152]
    (file,) = (place / "data" / "models" / run_id / "eval").iterdir()
    assert json.loads(file.read_bytes()) == document
    assert file.name.startswith("test-24-deterministic-")
    stochastic = run_mayavi("eval", f"{run_id}:384", *FEW, "--against", "noop", "--stochastic", cwd=place)
    assert stochastic.returncode == 0, stochastic.stderr
    assert "stochastic · ppo (sb3, seed 1, 384 steps)" in stochastic.stdout
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
