"""What a market refused is counted and said with the figures it touches, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

import mayavi
from mayavi.scenarios.figures.limits import refused_by
from mayavi.scenarios.figures.notes import notes
from tests.scenarios.play import Played, play

LOAN = """\
name: loan
chain: ethereum
steps: 2
step_time: 1h
parameters: {}
agents:
  alice: {kind: borrower, protocol: aave_v3, collateral: 10 WETH, debt: 1_000 USDC}
"""


def refused(played: Played) -> dict[str, int]:
    return {name: value for name, value in played.kpis.items() if name in ("limited.cap", "limited.liquidity")}


@pytest.mark.parametrize(
    ("overrides", "limit", "words"),
    [
        (["parameters={aave_v3.WETH: {supply_cap: 1}}"], "limited.cap", "a supply cap, borrow cap or debt ceiling"),
        (["parameters={aave_v3.USDC: {borrow_cap: 1}}"], "limited.cap", "of the market (1 account)"),
        (
            ["agents.alice.protocol=compound_v3", "parameters={compound_v3.cUSDCv3.WETH: {supply_cap: 1}}"],
            "limited.cap",
            "of the market (1 account)",
        ),
        (
            [
                "parameters={aave_v3.WETH: {supply_cap: 0}, aave_v3.USDC: {borrow_cap: 0}}",
                "agents.alice.collateral=800_000 WETH",
                "agents.alice.debt=1_000_000_000 USDC",
            ],
            "limited.liquidity",
            "the tokens that the market has not lent out (1 account)",
        ),
    ],
)
def test_what_the_market_refuses_is_counted_by_account_and_noted(overrides: list[str], limit: str, words: str) -> None:
    played = play("", text=LOAN, overrides=overrides)
    assert [row.status for row in played.actions] == ["failed", "failed"]
    assert refused(played) == {limit: 1}  # twice refused, one account
    (note,) = [each for each in notes(played.kpis) if "what the market refused" in each]
    assert words in note


def test_a_run_that_nothing_refuses_has_neither_figure_nor_note() -> None:
    played = play("", text=LOAN)
    assert [row.status for row in played.actions] == ["success"]
    assert refused(played) == {}
    assert not [each for each in notes(played.kpis) if "refused" in each]


def test_other_failures_are_no_limits() -> None:
    assert refused_by("borrow of AaveV3.Pool reverted: 36 COLLATERAL_CANNOT_COVER_NEW_BORROW") is None
    assert refused_by("SupplyCapExceeded()") == "cap"


@pytest.mark.slow(0.4)
def test_a_sweep_counts_runs_without_a_refusal_as_zero(tmp_path: Path) -> None:
    """The price of WETH decides whether the loan fits under the cap on borrowing, so only some seeds are refused."""
    text = """\
name: more
chain: ethereum
steps: 3
step_time: 10d
prices: {WETH: {process: gbm, volatility: 150%}}
parameters: {aave_v3.USDC: {borrow_cap: 712_900_000}}
agents:
  alice: {kind: borrower, protocol: aave_v3, collateral: 10 WETH, debt: 9_000 USDC, behaviour: band, band: [1.5, 2.6]}
  bob: {kind: borrower, protocol: aave_v3, collateral: 1_000 WETH, debt: 85_000 USDC, behaviour: hold}
"""
    file = tmp_path / "more.yaml"
    file.write_text(text)
    swept = mayavi.sweep(file, seeds=range(8), jobs=1, store=tmp_path / "runs.duckdb")
    having = sum("limited.cap" in run.kpis for run in swept.runs)
    assert 0 < having < 8
    assert swept.summary["limited.cap"].count == 8
    assert swept.summary["limited.cap"].mean.value == having / 8
