"""Text of `mayavi replay incident`: amounts, differences, failures, and lines that fit a terminal."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi.cli.console import output
from mayavi.cli.printing import incident
from mayavi.cli.printing.incident import amount, describe_failures, difference, print_wrapped
from mayavi.scenarios.incidents.measures import Failures
from mayavi.scenarios.incidents.replay import replay_incident

HEALTHY = "liquidationCall of AaveV2.Pool reverted: 42 HEALTH_FACTOR_NOT_BELOW_THRESHOLD: not below 1"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns without colours."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    for module in (output, incident):
        monkeypatch.setattr(module, "is_terminal", lambda stream: True)


def test_large_amounts_have_no_decimals() -> None:
    assert amount(Decimal("2642548.4975"), "CRV") == "2,642,548 CRV"
    assert amount(Decimal("999.257"), "CRV") == "999.26 CRV"
    assert amount(Decimal("0.9351"), "ETH") == "0.935100 ETH"
    assert amount(Decimal("12.5"), "%") == "1,250.00 %"


def test_differences_of_percentages_are_points() -> None:
    assert difference(Decimal("0.0059"), "%") == "+0.59 points"
    assert difference(Decimal("-0.0239"), "%") == "−2.39 points"
    assert difference(Decimal(29), "CRV") == "+29 CRV"
    assert difference(None, "%") == "–"


def test_failures_are_counted_with_their_commonest_reason() -> None:
    recorded = Failures(29, 385, ("liquidate",), {HEALTHY: 29})
    assert describe_failures(recorded, recorded_calls=True) == (
        "29 of 385 recorded calls reverted, all of them: 42 HEALTH_FACTOR_NOT_BELOW_THRESHOLD"
    )
    swaps = {f"a swap of {size} USDC for CRV reverted: Too little received": 2 for size in (5, 6)}
    mixed = Failures(1005, 1200, ("liquidate",), {**swaps, HEALTHY: 3, "out of funds": 998})
    assert describe_failures(mixed) == (
        "1,005 of 1,200 actions of kind liquidate failed, most often (998 times): out of funds"
    )
    assert "most often (4 times): Too little received" in describe_failures(
        Failures(7, 9, ("liquidate",), {**swaps, HEALTHY: 3})
    )


@pytest.mark.usefixtures("terminal")
def test_paragraphs_are_wrapped_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_wrapped("an account that borrows " * 10, indent="  ")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(len(line) <= 80 and line.startswith("  ") for line in lines)


@pytest.mark.slow(1)
@pytest.mark.usefixtures("terminal")
def test_no_number_is_broken_at_80_columns(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    changes = ["agents.investors.share=0%", "pools.EIGEN/USDC.3000.liquidity_factor=0.5"]
    report = replay_incident("eigen_2025_10", counterfactuals=changes, store=tmp_path / "runs.duckdb")
    capsys.readouterr()
    incident.print_report(report)
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if len(line) > 80] == []
    for shown in ("20,189,050 EIGEN", "18,697,690 EIGEN", "+1.88 points", "interaction"):
        assert shown in text
    words = text.split()
    assert words.count("foundation:") == words.count("investors:") == 4  # no word is broken either
    ids = [run.run_id for each in report.counterfactuals for run in each.runs.values()]
    assert len(ids) == 3
    assert all(each in text for each in ids)
