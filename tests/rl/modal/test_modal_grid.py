"""A grid on Modal through Ray Tune: workers of Ray call the function, which runs on this machine."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="`pip install 'mayavi-sim[rl]'` installs Ray")
pytest.importorskip("modal", reason="`pip install 'mayavi-sim[rl,modal]'` installs Modal")

from mayavi.errors import CostCeiling
from mayavi.rl.grid.plan import plan_grid
from mayavi.rl.grid.train_grid import train_grid
from mayavi.rl.grid.trial import run_trial
from mayavi.rl.modal import training as modal_training
from mayavi.rl.modal.app import Request
from mayavi.rl.modal.cost_guard import Machine
from tests.parallel.ray_cluster import only_ray
from tests.rl.modal.folder_volume import FolderVolume, locally

SETTINGS = {"env": "vesting", "framework": "sb3", "timesteps": 64, "num_envs": 4, "rollout_steps": 8}
SETTINGS |= {"minibatch_size": 16, "epochs": 1, "checkpoint_every_steps": 32, "evaluate_episodes": 24}


def trial_beside(place: Path) -> Any:
    """What a worker of Ray runs: a trial whose volume is in `place`, where every paid call is written down."""

    def trainable(config: dict[str, Any]) -> dict[str, Any]:
        def pay(machine: Machine, store: FolderVolume, request: Request, poll: Any) -> dict[str, Any]:
            with (place / "paid").open("a") as paid:
                paid.write(f"{request.run_id}\n")
            return locally(machine, store, request, poll)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(modal_training, "open_volume", lambda: FolderVolume(place / "volume"))
            patch.setattr(modal_training, "call_modal", pay)
            return run_trial(config["trial"])

    return trainable


def paid(place: Path) -> Counter[str]:
    file = place / "paid"
    return Counter(file.read_text().split() if file.exists() else [])


@pytest.mark.slow(20)
@pytest.mark.usefixtures("shared_ray")
def test_a_training_is_paid_for_once_even_if_the_grid_was_killed_before_the_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mayavi.rl.grid.tuner._trainable", trial_beside(tmp_path))
    monkeypatch.setattr(modal_training, "open_volume", lambda: FolderVolume(tmp_path / "volume"))
    plan = plan_grid([SETTINGS], ["learning_rate=1e-3,1e-4"], "3")
    said: list[str] = []
    models = tmp_path / "models"
    with pytest.raises(CostCeiling, match=r"2 trainings could cost \$11\.35, more than \$10\.00"):
        train_grid(plan, models=models, backend="modal", say=said.append)
    assert said == [f"Modal, at most $11.35 for 2 trainings; each {Machine().describe()}; the ceiling is $10.00"]
    assert not paid(tmp_path)
    monkeypatch.setenv("MAYAVI_MODAL_COST_CEIL_USD", "12")
    with only_ray():
        done = train_grid(plan, models=models, jobs=2, backend="modal", say=said.append)
        once = paid(tmp_path)
        assert done.failed == 0, [each.failed for each in done.points]
        assert (len(once), set(once.values())) == (2, {1})
        assert set(once) == {each.run_id for point in done.points for each in point.trainings}
        assert done.most_usd == pytest.approx(2 * float(Machine().worst_case_usd))
        assert 0 < done.cost_usd < done.most_usd
        shutil.rmtree(models / next(iter(once)))  # as if the grid had been killed while that run was on its way
        again = train_grid(plan, models=models, jobs=2, backend="modal", say=said.append)
    assert paid(tmp_path) == once
    assert again.to_json() == done.to_json()
