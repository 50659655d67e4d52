"""Train in a separate process that a test may kill: `python -m tests.rl.training.train_process '{…}'`.

Prints the digest of the final weights, and whether torch's compiler was imported, as the last line of its output.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import tests.rl.chase_env  # noqa: F401  (it registers itself)
from mayavi.rl.config import TrainConfig
from mayavi.rl.models import open_model
from mayavi.rl.training.adam import COMPILER
from mayavi.rl.training.progress import TrainProgress
from mayavi.rl.training.train import train


def weights_digest(run: str, models: Path) -> str:
    """Digest of all weights and normalisation statistics of a finished training."""
    model, digest = open_model(run, models), hashlib.sha256()
    for role in ("borrower", "liquidator") if model.env_name == "market" else (None,):
        policy: Any = model.policy(role=role)
        network = policy.network if hasattr(policy, "network") else policy.module
        for name, value in sorted(network.state_dict().items()):
            digest.update(name.encode() + value.numpy().tobytes())
        if policy.normaliser is not None:
            digest.update(json.dumps(policy.normaliser.to_json()).encode())
    return digest.hexdigest()


def main(asked: dict[str, Any]) -> None:
    def progress(report: TrainProgress) -> None:
        if report.steps >= asked.get("die_at", 10**12):
            os.kill(os.getpid(), signal.SIGKILL)

    models = Path(asked["models"])
    trained = train(
        TrainConfig.of(asked["config"]),
        models=models,
        resume=asked.get("resume"),
        run_id=asked.get("run_id"),
        progress=progress,
        ray=asked.get("ray"),
    )
    result = {"digest": weights_digest(trained.run_id, models), "steps": trained.steps, "exact": trained.exact}
    result |= {"resumed_from": trained.resumed_from, "episodes": trained.episodes, "compiler": COMPILER in sys.modules}
    print(json.dumps(result))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
