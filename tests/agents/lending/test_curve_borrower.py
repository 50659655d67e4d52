"""A leveraged stablecoin borrower watches the peg and exits when it breaks."""

from __future__ import annotations

import pytest

from mayavi.agents import CurveBorrowerAgent
from mayavi.agents.trading.exchange import CurveExchange
from mayavi.errors import BadArgument
from mayavi.evm.fork import Fork
from mayavi.evm.units import WAD
from mayavi.protocols import CurveStableSwap, Erc20, PriceFeed
from mayavi.protocols.health import NO_DEBT
from tests.agents.stage import Stage, details, of, replica

MILLION_USDC = 10**12


def looper(**options: object) -> CurveBorrowerAgent:
    given = {
        "collateral": "USDC",
        "amount": MILLION_USDC,
        "debt": "DAI",
        "pool": "Curve.3pool",
        "target": "1.05",
        "loops": 5,
    }
    return CurveBorrowerAgent("looper", **{**given, **options})  # type: ignore[arg-type]


def depegged(fork: Fork, millions: int) -> None:
    """Sell that many million USDC into the pool."""
    seller = bytes([0x5E]) * 20
    fork.deal("USDC", seller, millions * MILLION_USDC)
    CurveStableSwap(fork).exchange("USDC", "DAI", millions * MILLION_USDC, sender=seller)


def test_each_loop_adds_collateral_and_the_health_factor_stays_above_its_target() -> None:
    supplied = []
    for loops in (0, 1, 5):
        agent = looper(loops=loops)
        Stage(replica(), [agent])
        account = agent.loan.lending.account(agent.address)
        supplied.append(account.supplied("USDC"))
        factor = account.health().health_factor_wad
        assert factor == NO_DEBT if loops == 0 else factor >= 105 * WAD // 100
        assert account.debt("DAI") == pytest.approx((supplied[-1] - MILLION_USDC) * 10**12, rel=5e-3)
        assert Erc20(agent.loan.fork, "DAI").balance_of(agent.address) == 0
    assert supplied[0] in (MILLION_USDC, MILLION_USDC - 1)
    assert supplied[1] == pytest.approx(1.74 * MILLION_USDC, rel=0.02)
    assert supplied[2] > 2.8 * MILLION_USDC


def test_while_the_peg_holds_it_rests_and_tells_the_price() -> None:
    stage = Stage(replica(), [looper()])
    row = of(stage.step(), "looper")
    assert row.kind == "rest"
    assert "one USDC brings 0.999" in details(row)["note"]


def test_on_a_depeg_it_is_out_with_no_debt_and_has_made_it_worse() -> None:
    agent = looper()
    stage = Stage(replica(), [agent])
    depegged(stage.fork, 50)
    exchange = CurveExchange(stage.fork, "Curve.3pool", "USDC", "DAI")
    peg = exchange.peg_ppm()
    assert 900_000 < peg < 990_000
    row = of(stage.step(), "looper")
    facts = details(row)
    assert (row.kind, row.status) == ("exit", "success"), row.reason
    assert (facts["peg_ppm"], facts["debt_left"], facts["health_factor_after_wad"]) == (peg, 0, NO_DEBT)
    account = agent.loan.lending.account(agent.address)
    assert account.debt("DAI") == account.supplied("USDC") == 0
    # What is left is its million, less the depeg on what it had borrowed.
    left = Erc20(stage.fork, "USDC").balance_of(agent.address)
    assert 0.9 * MILLION_USDC < left == facts["withdrawn"] < MILLION_USDC
    assert exchange.peg_ppm() < peg
    assert details(of(stage.step(), "looper"))["note"] == "it is out"


def test_a_coin_that_brings_almost_nothing_is_not_sold() -> None:
    stage = Stage(replica(), [looper()])
    depegged(stage.fork, 90)
    row = of(stage.step(), "looper")
    assert row.kind == "rest"
    assert "it is too late" in details(row)["note"]


def test_below_its_lower_edge_it_repays_through_curve_back_to_its_target() -> None:
    agent = looper(depeg="0.5", low="1.02")
    stage = Stage(replica(), [agent])
    factor = agent.loan.lending.account(agent.address).health().health_factor_wad
    PriceFeed(stage.fork, "Chainlink.USDC/USD").move_by(f"-{1 - 1.01 * WAD / factor:.6f}")
    row = of(stage.step(), "looper")
    facts = details(row)
    assert (row.kind, row.status) == ("deleverage", "success"), row.reason
    assert facts["health_factor_after_wad"] == pytest.approx(105 * WAD // 100, rel=2e-4)


def test_what_makes_no_sense_is_refused() -> None:
    for wrong in ({"amount": 0}, {"loops": -1}, {"target": "1.01"}, {"depeg": 2}):
        with pytest.raises(BadArgument):
            looper(**wrong)
