"""docs/rl/evaluation.md tells the truth: its example runs, its output is what its command prints, its keys exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mayavi.rl.evaluation.document import RESERVED
from mayavi.rl.evaluation.evaluate import EvaluationSettings
from mayavi.rl.evaluation.models import evaluate_baselines
from mayavi.rl.search.optimum import SearchSettings
from mayavi.statistics.bootstrap import Bootstrap

PAGE = (Path(__file__).resolve().parents[3] / "docs/rl/evaluation.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_key_of_the_file_is_described() -> None:
    quick = EvaluationSettings(2, bootstrap=Bootstrap(resamples=100), search=SearchSettings("beam", width=1))
    document = evaluate_baselines("aave", ["noop", "optimum"], quick, config={"horizon": 2})
    described = set(re.findall(r"`(\w+)`", section("The file")))
    assert set(RESERVED) <= described
    assert set(document) - {"optimum"} <= described | {"noop"}
    for part in (document["noop"], document["comparisons"][0], document["settings"], document["env"]):
        assert set(part) <= described
    assert set(document["regret"]) - {"strategies"} <= described
    market = evaluate_baselines("market", ["noop"], quick, config={"horizon": 2, "borrowers": 2})
    assert set(market) | set(market["borrower"]) <= described | {"noop"}


@pytest.mark.slow
def test_the_example_and_the_output_are_real(run_mayavi, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/rl/evaluation.md", "exec"), {})
    assert "repay_all" in capsys.readouterr().out
    for name in ("aave", "market"):
        command = re.search(rf"^    mayavi (eval - --env {name} .*)$", PAGE, re.MULTILINE)
        output = re.search(rf"```\n({name} · .*?)```", PAGE, re.DOTALL)
        assert command is not None
        assert output is not None
        printed = run_mayavi(*command[1].split())
        assert printed.returncode == 0, printed.stderr
        assert printed.stdout == output[1]
