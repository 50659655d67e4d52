"""What may be asked of a run that is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

from mayavi.errors import UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.evaluation.bundle import write_training
from mayavi.rl.models import Model
from mayavi.rl.training.resuming import check_resumable
from mayavi.rl.training_runs.folder import RunFolder
from tests.rl.training_runs.stored import stored_training


def asked(folder: RunFolder, timesteps: int) -> None:
    check_resumable(folder, TrainConfig.of(folder.read()["config"], {"timesteps": timesteps}))


@pytest.mark.parametrize("timesteps", [1_000, 1_024])
def test_an_unfinished_run_is_not_ended_at_steps_that_it_has_trained(tmp_path: Path, timesteps: int) -> None:
    folder = stored_training(tmp_path, "run", status="interrupted", versions={})
    with pytest.raises(UsageError, match=f"has trained 1,024 timesteps already, and {timesteps:,} are") as refused:
        asked(folder, timesteps)
    assert refused.value.hint == (
        f"`mayavi train --resume run --models {tmp_path}` continues it to 2,000; another number must be above 1,024"
    )
    for more in (1_025, 2_000, 9_000):
        asked(folder, more)


def test_an_unfinished_run_with_all_of_its_steps_can_be_finished(tmp_path: Path) -> None:
    asked(stored_training(tmp_path, "run", status="interrupted", versions={}, config={"timesteps": 1_000}), 1_000)


def test_hints_name_the_folder_of_models_unless_it_is_the_default_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = stored_training(tmp_path / "m", "run", versions={})
    for option in (f" --models {tmp_path / 'm'}", ""):
        with pytest.raises(UsageError, match="run run is finished: 2,048 timesteps are trained") as refused:
            asked(folder, 2_048)
        assert refused.value.hint == f"`mayavi train --resume run{option} --timesteps 4000` trains it further"
        with pytest.raises(UsageError, match="has no evaluation yet") as refused:
            write_training(Model(folder), tmp_path / "b.zip")
        assert f"`mayavi eval run{option}` makes one" in str(refused.value.hint)
        monkeypatch.setenv("MAYAVI_MODELS", str(tmp_path / "m"))
