"""Check docs/how-to/evaluate.md: the example runs, the printed output matches, and every key exists."""

from __future__ import annotations

import re

import pytest

from mayavi.rl.evaluation.document import RESERVED
from mayavi.rl.evaluation.evaluate import EvaluationSettings
from mayavi.rl.evaluation.models import evaluate_baselines
from mayavi.rl.search.optimum import SearchSettings
from mayavi.statistics.bootstrap import Bootstrap
from tests.pages import page

PAGE = page("how-to/evaluate.md")


def test_every_key_of_the_file_is_described() -> None:
    quick = EvaluationSettings(2, bootstrap=Bootstrap(resamples=100), search=SearchSettings("beam", width=1))
    document = evaluate_baselines("aave", ["noop", "optimum"], quick, config={"horizon": 2})
    described = set(re.findall(r"`(\w+)`", PAGE.section("The file")))
    assert set(RESERVED) <= described
    assert set(document) - {"optimum"} <= described | {"noop"}
    for part in (document["noop"], document["comparisons"][0], document["settings"], document["env"]):
        assert set(part) <= described
    assert set(document["regret"]) - {"strategies"} <= described
    market = evaluate_baselines("market", ["noop"], quick, config={"horizon": 2, "borrowers": 2})
    assert set(market) | set(market["borrower"]) <= described | {"noop"}


@pytest.mark.slow
def test_the_example_and_the_output_are_real(run_mayavi) -> None:
    assert "repay_all" in PAGE.execute(PAGE.only_block("python"))
    for name in ("aave", "market"):
        command = PAGE.commands(f"mayavi eval - --env {name} ")[0]
        printed = run_mayavi(*command.split()[1:])
        assert printed.returncode == 0, printed.stderr
        assert printed.stdout == PAGE.block_starting(f"{name} · ")
