"""`mayavi eval` and `mayavi artifact` of a training of the market, from `mayavi train` to a verified bundle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.parallel.ray_cluster import SHARED_RAY, only_ray

pytestmark = pytest.mark.slow
FEW = ("--episodes", "24", "--against", "noop,repay_all,close_factor_max")


@pytest.fixture(scope="module")
def training(run_mayavi, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with one short training of the market, and its id."""
    pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
    place = tmp_path_factory.mktemp("market")
    sizes = ("runners=0", "num_envs=4", "rollout_steps=16", "minibatch_size=32", "epochs=1", "network=[16,16]",
             "checkpoint_every_steps=64", "horizon=8", "borrowers=2", "health_factor=[1.04,1.2]")  # fmt: skip
    with only_ray():
        done = run_mayavi(
            "train", "--env", "market", "--timesteps", "128", "--seed", "1", "--no-eval",
            *(word for each in sizes for word in ("--set", each)), "--json",
            cwd=place, env={"RAY_ADDRESS": SHARED_RAY.address()},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return place, json.loads(done.stdout.splitlines()[-1])["run_id"]


def test_a_market_is_evaluated_role_by_role_bundled_and_verified(run_mayavi, training: tuple[Path, str]) -> None:
    place, run_id = training
    early = run_mayavi("artifact", run_id, cwd=place)
    assert early.returncode == 2
    assert "has no evaluation yet" in early.stderr

    done = run_mayavi("eval", run_id, *FEW, "--checkpoints", "all", cwd=place)
    assert done.returncode == 0, done.stderr
    told = done.stdout
    assert "market · test split" in told
    for line in ("borrower: ppo against noop: ", "borrower: ppo against repay_all: ", "liquidator: ppo against noop: ",
                 "liquidator: ppo against close_factor_max: "):  # fmt: skip
        assert f"\n{line}" in told
    (file,) = (place / "data" / "models" / run_id / "eval").iterdir()
    document = json.loads(file.read_bytes())
    assert document["version"] == 4
    assert document["models"][0]["steps"] == 128
    assert document["borrower"]["strategies"] == ["ppo", "noop", "repay_all"]
    assert document["liquidator"]["strategies"] == ["ppo", "noop", "close_factor_max"]
    for role in ("borrower", "liquidator"):
        part = document[role]
        assert [each["step"] for each in part["checkpoints"]["steps"]] == [64, 128]
        assert part["checkpoints"]["steps"][-1]["mean_reward"] == part["ppo"]["mean_reward"]
        assert part["ppo"]["effective_sample_size"] == 24
        assert part["ppo"]["fingerprints"] == document["borrower"]["ppo"]["fingerprints"]

    drawn = run_mayavi("eval", f"{run_id}:64", *FEW, "--stochastic", "--json", cwd=place)
    assert drawn.returncode == 0, drawn.stderr
    assert (
        json.loads(drawn.stdout.splitlines()[-1])["borrower"]["ppo"]["rewards"]
        != document["borrower"]["ppo"]["rewards"]
    )

    written = run_mayavi("artifact", run_id, "--json", cwd=place)
    assert written.returncode == 0, written.stderr
    bundle = json.loads(written.stdout)["bundle"]
    assert bundle == f"market-ppo-{run_id}.zip"
    verified = run_mayavi("artifact", "verify", bundle, "--threads", "1", cwd=place)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "verified: the evaluations gave the same results again" in verified.stdout

    document["liquidator"]["ppo"]["mean_reward"] += 0.5
    file.write_text(json.dumps(document))
    assert run_mayavi("artifact", run_id, "--output", "forged.zip", cwd=place).returncode == 0
    refused = run_mayavi("artifact", "verify", "forged.zip", "--json", cwd=place)
    found = json.loads(refused.stdout.splitlines()[-1])
    assert (refused.returncode, found["verified"]) == (1, False)
    assert "liquidator.ppo.mean_reward was" in found["differences"][0]


def test_several_checkpoints_are_pooled_and_what_does_not_fit_is_refused(
    run_mayavi, training: tuple[Path, str]
) -> None:
    place, run_id = training
    both = run_mayavi("eval", f"{run_id}:64", run_id, *FEW, "--json", cwd=place)
    assert both.returncode == 0, both.stderr
    document = json.loads(both.stdout.splitlines()[-1])
    assert document["differing_settings"] == {"steps": {"ppo@1": 64, "ppo@1#2": 128}}
    assert document["borrower"]["strategies"][:4] == ["ppo@1", "ppo@1#2", "noop@1", "repay_all@1"]
    assert [each["trainings"] for each in document["liquidator"]["pooled"]] == [2, 2]

    for arguments, message in (
        (("--set", "borrowers=3"), "trained on another observation space: it observes 14 numbers as borrower"),
        (("--set", "actions=continuous"), "another action space: it does one of 5 as borrower, one of 7 as liquidator"),
        (("--against", "optimum"), "a market has no optimum"),
        (("--against", "repay_al"), "unknown strategy 'repay_al'"),
        (("--env", "aave"), "was trained on 'market', not on 'aave'"),
    ):
        refused = run_mayavi("eval", run_id, "--episodes", "4", *arguments, cwd=place)
        assert refused.returncode == 2, refused.stdout
        assert message in refused.stderr


def test_two_markets_are_compared_role_by_role_and_listed(run_mayavi, training: tuple[Path, str]) -> None:
    place, run_id = training
    done = run_mayavi("eval", run_id, "--episodes", "8", "--against", f"{run_id}:64,repay_all", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    assert document["borrower"]["strategies"] == ["ppo", "repay_all", "rival"]
    assert document["liquidator"]["strategies"] == ["ppo", "rival"]
    assert [each["steps"] for each in document["rivals"]] == [64]
    for role in ("borrower", "liquidator"):
        (found,) = [each for each in document[role]["comparisons"] if each["against"] == "rival"]
        assert found["wins"] + found["losses"] + found["equal_episodes"] == 8
    unknown = run_mayavi("eval", run_id, "--episodes", "4", "--against", "repay_al", cwd=place)
    assert (unknown.returncode, "unknown strategy 'repay_al'" in unknown.stderr) == (2, True)

    told = json.loads(run_mayavi("trainings", "show", run_id, "--json", cwd=place).stdout)
    assert (told["status"], told["env"], told["framework"]) == ("finished", "market", "rllib")
    assert [each["name"] for each in told["checkpoints"]] == ["64", "final"]
    assert told["curves"]["env_runners/episode_return_mean"]["steps"] == 128
