"""docs/rl/backtest.md tells the truth: its example runs, its output is what its command prints, its keys exist."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mayavi.portfolio.backtest.backtest import backtest, rules
from mayavi.portfolio.backtest.document import document_of
from mayavi.portfolio.backtest.metrics import METRICS
from tests.portfolio.backtest.worlds import QUICK, making, past_market

PAGE = (Path(__file__).resolve().parents[3] / "docs/rl/backtest.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_rule_and_every_figure_is_described() -> None:
    assert set(rules(making()(1))) <= set(re.findall(r"`(\w+)`", section("The rules")))
    assert set(METRICS) <= set(re.findall(r"`(\w+)`", section("What is told")))


def test_every_key_of_the_file_is_described(tmp_path: Path) -> None:
    described = set(re.findall(r"`([\w-]+)`", section("The file")))
    for settings in ({}, {"data": str(past_market(tmp_path))}):
        done = backtest(making(**settings), [], ["equal_weight", "momentum"], replace(QUICK, episodes=3))
        document = document_of(done)
        assert set(document) <= described
        first = document["strategies"]["momentum"]
        for part in (
            document["env"], document["market"], document["settings"], first, first["metrics"]["sharpe"],
            first["episodes"][0], document["hindsight"], document["comparisons"][0], document["curves"]["momentum"],
        ):  # fmt: skip
            assert set(part) <= described, part


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/rl/backtest.md", "exec"), {})
    assert len(capsys.readouterr().out.split()) == 2


@pytest.mark.slow
def test_the_output_is_what_the_command_prints(run_mayavi) -> None:
    command = re.search(r"^    mayavi (backtest .*)$", PAGE, re.MULTILINE)
    output = re.search(r"```\n(rwa .*?)```", PAGE, re.DOTALL)
    assert command
    assert output
    done = run_mayavi(*command[1].split())
    assert done.returncode == 0, done.stderr
    assert done.stdout == output[1]
