"""`mayavi trainings`: list, show, diff and rm, their JSON and exit codes, and what they do not import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mayavi.rl.training_runs.folder import RunFolder
from tests.rl.training_runs.stored import stored_evaluation, stored_training

ONE, TWO = "20260101-000000000-aaaaaaaa", "20260201-000000000-bbbbbbbb"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with a finished, an interrupted and a damaged training."""
    place = tmp_path / "models"
    folder = stored_training(place, ONE, started_at="2026-01-01T00:00:00Z", config={"seed": 7, "gamma": 0.9})
    stored_evaluation(folder, "test-200", "test", 0.125)
    stored_training(place, TWO, status="interrupted", started_at="2026-02-01T00:00:00Z")
    stored_training(place, "broken", started_at="2026-03-01T00:00:00Z")
    (place / "broken" / "run.json").write_text("{")
    return place


def test_list_shows_a_line_for_each_and_why_one_is_damaged(run_mayavi, models: Path) -> None:
    shown = run_mayavi("trainings", "list", "--models", str(models))
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].split()[:3] == ["training", "env", "trained"]
    assert lines[1].split()[0] == TWO
    assert "1,024 of 2,000  interrupted  2026-02-01 00:00:00" in lines[1]
    assert lines[2].split()[0] == ONE
    assert lines[2].split()[-2:] == ["0.125", "test"]
    assert lines[3].split() == ["broken", "damaged"]
    assert lines[4].startswith("broken: ")
    assert "cannot be read" in lines[4]

    told = json.loads(run_mayavi("trainings", "list", "--models", str(models), "--json").stdout)
    assert told["models"] == str(models)
    assert [each["run_id"] for each in told["trainings"]] == [TWO, ONE, "broken"]
    assert told["trainings"][1]["score"] == {"of": "test", "mean_reward": 0.125, "episodes": 200}
    only = run_mayavi("trainings", "list", "--models", str(models), "--status", "damaged", "--json")
    assert [each["run_id"] for each in json.loads(only.stdout)["trainings"]] == ["broken"]
    none = run_mayavi("trainings", "list", "--models", str(models), "--env", "vesting")
    assert (none.returncode, none.stdout) == (0, f"no such training in '{models}'\n")


def test_an_evaluation_of_fewer_steps_than_are_trained_is_told(run_mayavi, models: Path) -> None:
    folder = RunFolder(models / ONE)
    stored_evaluation(folder, "test-200", "test", 0.125, steps=1_024)
    note = (
        f"{ONE}: its newest evaluation is of 1,024 steps, and 2,048 are trained; "
        f"`mayavi eval {ONE} --models {models}` makes a new one\n"
    )
    for command in (("list",), ("show", ONE)):
        assert note in run_mayavi("trainings", *command, "--models", str(models)).stdout


def test_show_tells_settings_checkpoints_results_and_what_continues_it(run_mayavi, models: Path) -> None:
    shown = run_mayavi("trainings", "show", "aaaa", "--models", str(models))
    assert shown.returncode == 0, shown.stderr
    for line in (
        "status        finished",
        "environment   aave, on replica, world abababababababab…",
        "trained with  sb3 ppo, seed 7",
        "versions      mayavi 0.1.0, torch 2.9.1",
        f"continues     `mayavi train --resume {ONE} --models {models} --timesteps 4000` trains it further",
        "gamma      0.9",
        "final       2,048       0.2048  can be resumed",
        "test-200    test        200        0.125",
    ):
        assert line in shown.stdout
    told = json.loads(run_mayavi("trainings", "show", ONE, "--models", str(models), "--json").stdout)
    assert told["settings"]["gamma"] == 0.9
    assert told["settings"]["timesteps"] == 2_000
    assert [(each["name"], each["resumable"]) for each in told["checkpoints"]] == [
        ("512", False), ("1024", False), ("final", True),
    ]  # fmt: skip
    assert told["evaluations"]["test-200"]["mean_reward"] == 0.125
    broken = run_mayavi("trainings", "show", "broken", "--models", str(models))
    assert broken.returncode == 0, broken.stderr
    assert "status     damaged" in broken.stdout


def test_diff_exits_with_one_where_something_differs(run_mayavi, models: Path) -> None:
    same = run_mayavi("trainings", "diff", ONE, ONE, "--models", str(models))
    assert (same.returncode, same.stdout) == (0, "equal: the same settings, versions and results\n")
    other = run_mayavi("trainings", "diff", ONE, TWO, "--models", str(models))
    assert other.returncode == 1
    rows = {line.split()[0]: line.split()[1:] for line in other.stdout.splitlines() if line}
    assert rows["gamma"] == ["0.9", "0.99"]
    assert rows["status"] == ["finished", "interrupted"]
    told = json.loads(run_mayavi("trainings", "diff", ONE, TWO, "--models", str(models), "--json").stdout)
    assert told["settings"] == {"seed": [7, 0], "gamma": [0.9, 0.99]}
    assert told["equal"] is False


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("show", "20260101-x"), "unknown training '20260101-x'", "`mayavi trainings list`"),
        (("show", "brokn"), "unknown training 'brokn'", "did you mean 'broken'?"),
        (("show", "2026"), "'2026' fits 2 trainings", "type more of it"),
        (("diff", ONE, "broken"), "training broken is damaged", "one that can be read"),
        (("rm", ONE), "has to be confirmed", "--yes"),
        (("rm", ONE, "nothing", "--yes"), "unknown training 'nothing'", "the newest are"),
        (("rm",), "missing argument 'RUN…'", "--help"),
        (("list", "--status", "finishd"), "unknown status 'finishd'", "did you mean 'finished'?"),
    ],
)
def test_misuse_is_told_with_what_to_do_and_removes_nothing(
    run_mayavi, models: Path, words: tuple[str, ...], message: str, hint: str
) -> None:
    refused = run_mayavi("trainings", *words, "--models", str(models))
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert message in refused.stderr
    assert hint in refused.stderr
    assert {each.name for each in models.iterdir()} == {ONE, TWO, "broken"}


def test_a_folder_that_is_not_there_is_told(run_mayavi, tmp_path: Path) -> None:
    missing = run_mayavi("trainings", "list", "--models", str(tmp_path / "nowhere"))
    assert missing.returncode == 2
    assert f"there is no folder '{tmp_path / 'nowhere'}'" in missing.stderr
    empty = run_mayavi("trainings", "list", cwd=tmp_path)
    assert empty.returncode == 0
    assert "no trainings in 'data/models' yet: `mayavi train --env aave` makes one" in empty.stdout


def test_rm_removes_the_named_ones_and_refuses_a_running_one(run_mayavi, models: Path) -> None:
    from mayavi.rl.training_runs.folder import RunFolder

    with RunFolder(models / TWO).held():
        refused = run_mayavi("trainings", "rm", "broken", TWO, "--yes", "--models", str(models))
    assert refused.returncode == 2
    assert f"training {TWO} is running" in refused.stderr
    assert len(list(models.iterdir())) == 3
    done = run_mayavi("trainings", "rm", "broken", TWO, "bbbb", "--yes", "--models", str(models), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"removed": ["broken", TWO]}
    assert [each.name for each in models.iterdir()] == [ONE]


@pytest.mark.parametrize(("answer", "left"), [("n\n", {ONE, TWO, "broken"}), ("y\n", {TWO, "broken"})])
def test_rm_asks_on_a_terminal(start_mayavi, models: Path, answer: str, left: set[str]) -> None:
    ours, theirs = os.openpty()
    os.write(ours, answer.encode())
    try:
        done = start_mayavi("trainings", "rm", ONE, "--models", str(models), stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert "remove 1 training with all checkpoints and evaluations?" in done.stderr
    assert f"{ONE} · aave · sb3 ppo · finished" in done.stderr
    assert done.returncode == (0 if answer == "y\n" else 1)
    assert {each.name for each in models.iterdir()} == left


@pytest.mark.slow(0.3)
def test_no_framework_is_imported_to_list_them(models: Path) -> None:
    statement = (
        f"from mayavi.cli import main; assert main(['trainings', 'list', '--models', {str(models)!r}]) == 0; "
        f"assert main(['trainings', 'diff', {ONE!r}, {ONE!r}, '--models', {str(models)!r}]) == 0; "
        "import sys; print(sorted({'torch', 'ray', 'gymnasium', 'stable_baselines3', 'rich', 'mayavi._kernel'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
