"""Check docs/how-to/backtest.md: the example runs, the printed output matches, and every key exists."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mayavi.portfolio.backtest.backtest import backtest, rules
from mayavi.portfolio.backtest.document import document_of
from mayavi.portfolio.backtest.metrics import METRICS
from tests.pages import page
from tests.portfolio.backtest.worlds import QUICK, making, past_market

PAGE = page("how-to/backtest.md")


def test_every_rule_and_every_figure_is_described() -> None:
    assert set(rules(making()(1))) <= set(re.findall(r"`(\w+)`", PAGE.section("The rules")))
    assert set(METRICS) <= set(re.findall(r"`(\w+)`", PAGE.section("Metrics")))


@pytest.mark.slow(1)
def test_every_key_of_the_file_is_described(tmp_path: Path) -> None:
    described = set(re.findall(r"`([\w-]+)`", PAGE.section("The file")))
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


def test_the_example_runs() -> None:
    assert len(PAGE.execute(PAGE.only_block("python")).split()) == 2


@pytest.mark.slow
def test_the_output_is_what_the_command_prints(run_mayavi) -> None:
    command = PAGE.commands("mayavi backtest ")[0]
    done = run_mayavi(*command.split()[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout == PAGE.block_starting("rwa ")
