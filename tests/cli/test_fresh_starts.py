"""Every command prints in a new interpreter what its fork prints: no fault at import, no state left over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import RunMayavi

COMMANDS = [
    ("--help", 0),
    ("--version", 0),
    ("doctor --json", 0),
    ("demo", 0),
    ("position 0x00000000000000000000000000000000000a11ce --chain base", 0),
    ("run aave_borrower --seed 7 --steps 2 --json", 0),
    ("run depeg_casade", 2),
    ("sweep aave_borrower --seeds 0:2 --steps 2 --jobs 1 --json", 0),
    ("sensitivity aave_borrower --seeds 0:1 --steps 2 --jobs 1 --only agents.borrower.cash --json", 0),
    ("exposure depeg_cascade --seeds 0:1 --steps 3 --set agents.borrowers.count=2 --json", 0),
    ("runs list --json", 0),
    ("runs show nowhere", 2),
    ("artifact nowhere", 2),
    ("scenarios list", 0),
    ("scenarios show aave_borrower", 0),
    ("validate determinism aave_borrower", 0),
    ("validate --only quotes --json", 0),
    ("validate --only quots", 2),
    ("world list", 0),
    ("world info ethereum --json", 0),
    ("snapshot info /nowhere --json", 2),
    ("specialise show nothing --env rwa --steps 1 --json", 2),
    ("train --env aavee", 2),
    ("eval nowhere", 2),
    ("trainings list --json", 0),
    ("trainings show nowhere", 2),
    ("eval - --env compound --episodes 2 --json", 0),
    ("backtest rwa --simulated --episodes 2 --json", 0),
]

VARIES = [
    (re.compile(r"[0-9]{8}-[0-9]{9}-[a-z0-9]{8}"), "RUN"),
    (re.compile(r"\b[0-9]+(\.[0-9]+)? m?s\b"), "TIME"),
    (re.compile(r'"timings": \{[^}]*\}'), "TIMES"),
    (re.compile(r'"[a-z_]*seconds[a-z_]*": [0-9.e-]+'), "TIME"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(Z|\+00:00)?"), "WHEN"),
]


def settled(text: str) -> str:
    """`text` without what differs from run to run: ids, times and durations."""
    for pattern, name in VARIES:
        text = pattern.sub(name, text)
    return text


@pytest.mark.slow(1)
@pytest.mark.parametrize(("words", "code"), COMMANDS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_fresh_start_prints_what_a_fork_prints(
    run_mayavi: RunMayavi, start_mayavi: RunMayavi, tmp_path: Path, words: str, code: int
) -> None:
    results = []
    for name, run in (("started", start_mayavi), ("forked", run_mayavi)):
        folder = tmp_path / name
        folder.mkdir()
        finished = run(*words.split(), cwd=folder)
        assert finished.returncode == code, finished.stderr
        results.append(settled(finished.stdout.replace(str(folder), "FOLDER")))
    assert results[0] == results[1]
