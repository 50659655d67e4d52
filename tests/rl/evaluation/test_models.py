"""Trained policies, evaluated, bundled, and verified."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import tests.rl.chase_env  # noqa: F401  registers the environment
from mayavi.errors import BundleError, ModelMismatch, UnknownName, UsageError
from mayavi.rl.evaluation.bundle import first_difference, verify_training, write_training
from mayavi.rl.evaluation.document import as_bytes, eval_name, read_eval, write_eval
from mayavi.rl.evaluation.evaluate import EvaluationSettings
from mayavi.rl.evaluation.models import (
    check_split,
    chosen_checkpoints,
    evaluate_again,
    evaluate_baselines,
    evaluate_models,
)
from mayavi.rl.models import Model, open_model
from mayavi.runs.bundle import read_bundle
from mayavi.statistics.bootstrap import Bootstrap
from mayavi.worlds.source import WorldSource

pytest.importorskip("stable_baselines3")
pytestmark = pytest.mark.slow

QUICK = EvaluationSettings(episodes=40, bootstrap=Bootstrap(resamples=400))


def trained(models: Path, seed: int, **more: Any) -> Model:
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.training.train import train

    told = {"env": "chase", "framework": "sb3", "timesteps": 2048, "seed": seed, "num_envs": 16, "rollout_steps": 16,
            "minibatch_size": 64, "epochs": 4, "learning_rate": 3e-3, "checkpoint_every_steps": 512}  # fmt: skip
    return open_model(train(TrainConfig.of(told, more), models=models).path)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def model(models: Path) -> Model:
    return trained(models, 1)


def test_who_knows_the_episodes_before_is_told(models: Path, model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    from mayavi.cli.printing.evaluation import print_evaluation

    chosen = trained(models, 6, evaluate_every=1024, evaluate_episodes=8)
    for split, known in (
        ("train", ["was trained on the train split"] * 2),
        ("validation", [None, "was chosen on the validation split"]),
        ("test", [None, None]),
    ):
        document = evaluate_models([model, chosen], ["noop"], QUICK, config={"split": split})
        assert [each.get("seen") for each in document["models"]] == known
        print_evaluation(document)
        told = capsys.readouterr().out
        assert ("warning: each of ppo@1, ppo@6 was trained on the train split" in told) == (split == "train")
        assert ("warning: ppo@6 was chosen on the validation split" in told) == (split == "validation")
        assert ("--split test has such" in told) == (split != "test")


def test_a_policy_is_evaluated_on_the_split_that_is_asked_for(model: Model) -> None:
    document = evaluate_models([model], ["noop", "steer"], QUICK, config={"split": "test"})
    assert document["env"]["config"]["split"] == "test"
    assert document["strategies"] == ["ppo", "noop", "steer"]
    assert document["models"] == [
        {"name": "ppo", "framework": "sb3", "algorithm": "ppo", "recurrent": False, "seed": 1, "timesteps": 2048,
         "steps": 2048}
    ]  # fmt: skip
    assert {"torch", "stable_baselines3", "mayavi"} <= set(document["versions"])
    assert document["comparisons"][0]["verdict"] in {"better", "worse", "indistinguishable"}
    assert document["ppo"]["effective_sample_size"] == 40
    everybody = evaluate_models([model], None, QUICK, config={"split": "test"})
    assert everybody["strategies"] == ["ppo", "steer", "noop"]
    assert everybody["ppo"] == document["ppo"]


def test_the_same_training_gives_the_same_file(models: Path, model: Model) -> None:
    twin = trained(models, 1)
    assert twin.run_id != model.run_id
    files = [as_bytes(evaluate_models([each], ["noop", "random"], QUICK)) for each in (model, twin)]
    assert files[0] == files[1]
    other = as_bytes(evaluate_models([trained(models, 2)], ["noop", "random"], QUICK))
    assert other != files[0]


def test_a_stochastic_evaluation_draws_and_is_the_same_twice(model: Model) -> None:
    drawn = EvaluationSettings(40, deterministic=False, bootstrap=QUICK.bootstrap)
    one, two = (as_bytes(evaluate_models([model], ["noop"], drawn)) for _ in range(2))
    assert one == two
    best = evaluate_models([model], ["noop"], QUICK)
    assert read_eval(one, "x")["ppo"]["fingerprints"] != best["ppo"]["fingerprints"]


def test_several_trainings_are_pooled_under_their_algorithm(models: Path, model: Model) -> None:
    document = evaluate_models([model, trained(models, 3), trained(models, 3)], ["noop"], QUICK)
    assert [each["name"] for each in document["models"]] == ["ppo@1", "ppo@3", "ppo@3#2"]
    assert document["ppo"]["trainings"] == ["ppo@1", "ppo@3", "ppo@3#2"]
    assert document["pooled"][0]["trainings"] == 3
    assert document["ppo@3"]["rewards"] == document["ppo@3#2"]["rewards"]
    with pytest.raises(UsageError, match=f"final of run {model.run_id} is named twice"):
        evaluate_models([model, open_model(model.path / "final")], ["noop"], QUICK)


def test_trainings_that_differ_in_more_than_their_seed_are_pooled_with_a_warning(
    models: Path, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    from mayavi.cli.printing.evaluation import print_evaluation

    pair = [model, trained(models, 4, checkpoint_every_steps=1024)]
    alike = evaluate_models(pair, ["noop"], QUICK, config={"split": "test"})
    assert alike["differing_settings"] == {}
    print_evaluation(alike)
    assert "warning" not in capsys.readouterr().out
    assert "differing_settings" not in evaluate_models([model], ["noop"], QUICK)

    other = trained(models, 5, learning_rate=1e-3, timesteps=1024, env_config={"horizon": 6, "start": "drawn"})
    document = evaluate_models([model, other], ["noop"], QUICK)
    assert document["differing_settings"] == {
        "timesteps": {"ppo@1": 2048, "ppo@5": 1024},
        "learning_rate": {"ppo@1": 3e-3, "ppo@5": 1e-3},
        "env.horizon": {"ppo@1": 8, "ppo@5": 6},
        "steps": {"ppo@1": 2048, "ppo@5": 1024},
    }
    assert document["pooled"][0]["trainings"] == 2
    print_evaluation(document)
    told = capsys.readouterr().out
    assert "warning: the trainings differ in more than their seed: learning_rate is ppo@1 0.003, ppo@5 0.001\n" in told
    assert "their common interval is not that of one training with another seed" in told


def test_all_checkpoints_say_where_the_evaluation_stops_moving(model: Model) -> None:
    chosen = chosen_checkpoints(model, "all")
    assert [each.steps for each in chosen] == [512, 1024, 1536, 2048]
    document = evaluate_models([model], ["noop"], QUICK, checkpoints=chosen)
    settled = document["checkpoints"]
    assert [each["step"] for each in settled["steps"]] == [512, 1024, 1536, 2048]
    assert settled["steps"][-1]["mean_reward"] == document["ppo"]["mean_reward"]
    assert settled["steps"][-1]["same_trajectories_as_last"] is True
    assert "step" in settled["sentence"]
    assert [each.steps for each in chosen_checkpoints(model, "1024, final")] == [1024, 2048]
    with pytest.raises(UsageError, match="has no checkpoint '77'"):
        chosen_checkpoints(model, "77")
    one = Model(model.folder, model.checkpoint(512))
    assert evaluate_models([one], ["noop"], QUICK)["models"][0]["steps"] == 512


def test_a_policy_of_another_environment_is_refused(models: Path, model: Model) -> None:
    with pytest.raises(ModelMismatch, match="trained on another observation space: it observes 2 numbers"):
        evaluate_models([model], ["noop"], QUICK, config={"watches": 3})
    with pytest.raises(ModelMismatch, match="another action space"):
        evaluate_models([model], ["noop"], QUICK, config={"actions": "continuous"})
    with pytest.raises(UnknownName, match="unknown strategy 'ster'"):
        evaluate_models([model], ["ster"], QUICK)
    with pytest.raises(UnknownName, match="unknown split 'tset'"):
        check_split("tset")


def test_baselines_need_no_model() -> None:
    document = evaluate_baselines("chase", ["noop", "steer", "random"], QUICK, config={"split": "validation"})
    assert document["models"] == []
    assert "torch" not in document["versions"]
    assert document["comparisons"][0]["verdict"] == "better"


@pytest.fixture(scope="module")
def evaluated(models: Path, model: Model) -> Model:
    """A copy of the run with two evaluations."""
    shutil.copytree(model.path, models / "evaluated")
    copy = open_model(models / "evaluated")
    for config, steps in (({"split": "test"}, []), ({"split": "validation"}, chosen_checkpoints(copy, "all"))):
        document = evaluate_models([copy], ["noop", "random"], QUICK, config=config, checkpoints=steps)
        write_eval(document, copy.folder.eval_path / eval_name(document))
    return copy


def test_a_training_is_bundled_and_its_evaluations_come_out_the_same_again(evaluated: Model, tmp_path: Path) -> None:
    digest = write_training(evaluated, tmp_path / "b.zip")
    assert digest == write_training(evaluated, tmp_path / "again.zip")
    bundle = read_bundle(tmp_path / "b.zip")
    facts = bundle.facts["training"]
    assert (bundle.kind, facts["env"], facts["seed"], facts["steps"]) == ("training", "chase", 1, 2048)
    assert facts["config"]["timesteps"] == 2048
    assert facts["world_digest"] == evaluated.record["world_digest"]
    assert {"run.json", "final/checkpoint.json", "checkpoints/512/checkpoint.json"} <= set(bundle.files)
    assert len(facts["evaluations"]) == 2
    result = verify_training(bundle)
    assert result.verified
    assert [each.name for each in result.checks if not each.equal] == []
    assert len(result.checks) == 4
    assert all(each.equal for each in result.versions)


def test_evaluations_on_two_blocks_are_two_files_and_both_are_verified(model: Model, tmp_path: Path) -> None:
    shutil.copytree(model.path, tmp_path / "dated")
    copy = open_model(tmp_path / "dated")
    july = WorldSource.named("replica:17666333")
    own, dated = (evaluate_models([copy], ["noop"], QUICK, world=each) for each in (WorldSource.named("replica"), july))
    assert "source" not in own["env"]
    assert own["env"]["world"] == "ethereum"
    unnamed = {**own, "env": {key: value for key, value in own["env"].items() if key != "world"}}
    assert eval_name(unnamed) == eval_name(own)  # as before worlds were named
    assert as_bytes(evaluate_again(unnamed, copy)) == as_bytes(unnamed)
    assert dated["env"]["source"] == "replica:17666333"
    assert as_bytes(own) == as_bytes(evaluate_models([copy], ["noop"], QUICK))
    for document in (own, dated):
        write_eval(document, copy.folder.eval_path / eval_name(document))
    assert len(list(copy.folder.eval_path.glob("*.json"))) == 2
    write_training(copy, tmp_path / "b.zip")
    result = verify_training(read_bundle(tmp_path / "b.zip"))
    assert result.verified, result.differences
    worlds = {each.expected for each in result.checks if each.name.endswith(": world")}
    assert worlds == {own["env"]["world_digest"], dated["env"]["world_digest"]}


def forged(source: Path, target: Path, change) -> Path:
    import hashlib

    with zipfile.ZipFile(source) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    change(files)
    manifest["files"] = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for name, content in files.items()
    }
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, content in files.items():
            archive.writestr(name, content)
    return target


def test_a_figure_that_was_touched_up_is_found(evaluated: Model, tmp_path: Path) -> None:
    write_training(evaluated, tmp_path / "b.zip")

    def better(files: dict[str, bytes]) -> None:
        name = next(each for each in sorted(files) if each.startswith("eval/test"))
        document = json.loads(files[name])
        document["ppo"]["mean_reward"] += 0.001
        files[name] = as_bytes(document)

    result = verify_training(read_bundle(forged(tmp_path / "b.zip", tmp_path / "f.zip", better)))
    assert not result.verified
    (difference,) = result.differences
    assert "ppo.mean_reward was" in difference


def test_other_weights_are_found(evaluated: Model, models: Path, tmp_path: Path) -> None:
    write_training(evaluated, tmp_path / "b.zip")
    other = trained(models, 9)

    def swapped(files: dict[str, bytes]) -> None:
        for name in list(files):
            if name.startswith("final/"):
                files[name] = (other.path / name).read_bytes()

    result = verify_training(read_bundle(forged(tmp_path / "b.zip", tmp_path / "f.zip", swapped)))
    assert not result.verified
    assert any("ppo." in each for each in result.differences)


def test_what_is_no_whole_training_is_refused(model: Model, evaluated: Model, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no evaluation yet"):
        write_training(model, tmp_path / "b.zip")
    write_training(evaluated, tmp_path / "b.zip")

    def without_evaluations(files: dict[str, bytes]) -> None:
        for name in [each for each in files if each.startswith("eval/")]:
            del files[name]

    with pytest.raises(BundleError, match="holds no evaluation"):
        verify_training(read_bundle(forged(tmp_path / "b.zip", tmp_path / "f.zip", without_evaluations)))

    def outside(files: dict[str, bytes]) -> None:
        files["../../evil"] = b"x"

    with pytest.raises(BundleError, match="outside of it"):
        verify_training(read_bundle(forged(tmp_path / "b.zip", tmp_path / "f.zip", outside)))


def test_the_first_difference_of_two_documents_is_told() -> None:
    one = {"a": [1, {"b": 2.0}], "c": "x" * 60}
    assert first_difference(one, one) is None
    assert first_difference(one, {"a": [1, {"b": 2.5}], "c": one["c"]}) == "a.1.b was 2.0 and is 2.5"
    assert first_difference(one, {"a": [1], "c": one["c"]}) == 'a was [1, {"b": 2.0}] and is [1]'
    assert first_difference(one, {"a": one["a"]}) == "c is only in the bundle"
    assert first_difference({}, {"d": 1}) == "d is only in the new one"
    assert first_difference(1, 1.0) == " was 1 and is 1.0"


def test_an_evaluation_stays_verifiable_when_the_run_is_trained_further(tmp_path: Path) -> None:
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.training.train import train

    model = trained(tmp_path, 1, timesteps=512)
    document = evaluate_models([model], ["noop"], QUICK, config={"split": "test"})
    write_eval(document, model.folder.eval_path / eval_name(document))
    train(TrainConfig.of(model.config.to_json(), {"timesteps": 1024}), models=tmp_path, resume=model.run_id)
    further = open_model(model.path)
    assert (
        document["models"][0]["timesteps"],
        evaluate_models([further], ["noop"], QUICK)["models"][0]["timesteps"],
    ) == (512, 1024)
    with pytest.warns(UserWarning, match="is of 512 steps, and 1,024 are trained") as told:
        write_training(further, tmp_path / "b.zip")
    assert f"`mayavi eval {model.run_id} --models {tmp_path}` makes one" in str(told[0].message)
    assert verify_training(read_bundle(tmp_path / "b.zip")).differences == ()
