"""The gate tells a seed that changes nothing, because nothing is drawn, from one that is not heeded."""

from __future__ import annotations

import pytest

from mayavi.scenarios import registry
from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.run.determinism import Outcome, compared
from mayavi.scenarios.run.randomness import draws

CALM = ["prices.WETH={process: constant}"]


@pytest.mark.parametrize("name", [each for each in registry.names() if each != "svm_launch_replay"])
def test_every_scenario_of_the_library_leaves_something_to_chance(name: str) -> None:
    assert draws(load_scenario(name).config)


@pytest.mark.parametrize(
    ("scenario", "overrides", "drawn"),
    [
        ("aave_borrower", CALM, False),
        ("aave_borrower", ["prices.WETH={process: gbm, volatility: 0}"], False),
        ("aave_borrower", ["prices.WETH={process: step, at: 1, size: -5%}"], False),
        (
            "aave_borrower",
            ["prices.WETH={process: step, at: 1, size: -5%, then: {process: gbm, volatility: 1%}}"],
            True,
        ),
        ("depeg_cascade", CALM, True),
        ("depeg_cascade", [*CALM, "agents.borrowers.size_usd=5", "agents.borrowers.health_factor=1.5"], False),
        ("vesting_cliff", ["agents.traders.trades_a_step=0"], False),
    ],
)
def test_what_is_drawn_is_seen_in_the_scenario(scenario: str, overrides: list[str], drawn: bool) -> None:
    assert draws(load_scenario(scenario, overrides=overrides).config) is drawn


def test_a_seed_that_is_not_heeded_where_something_is_drawn_is_found() -> None:
    one, other = Outcome("aa", "world", []), Outcome("bb", "world", [])
    assert compared(one, one, "another")
    assert compared(one, other, "another") == compared(one, one, "either") == compared(one, other, "either") == ""
    assert compared(one, Outcome("aa", "another", []), "the same")
