"""Bundle of a tiny training run, made and verified."""

from __future__ import annotations

from pathlib import Path

from mayavi.runs.bundle import Check, read_bundle

TINY = {
    "env": "rwa",
    "framework": "sb3",
    "timesteps": 64,
    "num_envs": 4,
    "rollout_steps": 16,
    "minibatch_size": 64,
    "epochs": 1,
    "checkpoint_every_steps": 64,
    "env_config": {"horizon": 24},
}
EPISODES, RESAMPLES = 4, 100


def training_checks(folder: Path) -> tuple[Check, ...]:
    """Train, evaluate and bundle a policy in `folder`, then repeat the evaluation from the bundle.

    Raises `ImportError` if the packages for training are not installed.
    """
    import stable_baselines3  # noqa: F401

    from mayavi.rl.config import TrainConfig
    from mayavi.rl.evaluation.bundle import verify_training, write_training
    from mayavi.rl.evaluation.document import eval_name, write_eval
    from mayavi.rl.evaluation.evaluate import EvaluationSettings
    from mayavi.rl.evaluation.models import evaluate_models
    from mayavi.rl.models import open_model
    from mayavi.rl.training.train import train
    from mayavi.statistics.bootstrap import Bootstrap

    model = open_model(train(TrainConfig.of(TINY, {}), models=folder / "models").path)
    settings = EvaluationSettings(episodes=EPISODES, bootstrap=Bootstrap(resamples=RESAMPLES))
    document = evaluate_models([model], ["noop"], settings, config={"split": "test"})
    write_eval(document, model.folder.eval_path / eval_name(document))
    write_training(model, folder / "training.zip")
    return verify_training(read_bundle(folder / "training.zip")).checks
