"""Morpho in scenarios: the depeg, what depositors lose to the unit, parameters, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mayavi
from mayavi import Fork
from mayavi.agents.lending.morpho import MorphoLending
from mayavi.agents.liquidation.flash_loans import flash_lender
from mayavi.errors import BadScenario, MayaviError
from mayavi.protocols import Erc20, MorphoBlue, UniswapV3
from mayavi.scenarios.build.build import Built, build, set_up
from mayavi.scenarios.build.chain.creation import account
from mayavi.scenarios.build.chain.morpho import depositor_of
from mayavi.scenarios.loading import load_scenario
from mayavi.sim.store import Store
from mayavi.sim.store.explanation import explain

FEW = ["agents.loopers.count=8", "agents.stakers.count=3", "steps=8"]
SDAI, WSTETH = "sDAI/USDC.96.5", "wstETH/USDC.86"


def play(*overrides: str, seed: int = 7) -> tuple[Built, dict[str, int], list[Any]]:
    """Run the scenario; return it, its KPIs as exact integers, and all actions."""
    scenario = load_scenario("morpho_depeg", overrides=[*FEW, *overrides])
    built = build(scenario.config, Fork.replica("ethereum"), seed)
    actions: list[Any] = []
    for _ in range(built.steps):
        done, _ = built.scheduler.tick()
        actions += done
    return built, {row.name: int(row.value) for row in built.kpis(built.world)}, actions


@pytest.fixture(scope="module")
def played() -> tuple[Built, dict[str, int], list[Any]]:
    return play()


def test_depositors_lose_the_bad_debt_to_the_unit(played: tuple[Built, dict[str, int], list[Any]]) -> None:
    built, kpis, _ = played
    vault = MorphoBlue(built.world.fork).vault("steakUSDC")
    figures, subject = built.snapshots.latest, "MetaMorpho.steakUSDC"
    held = {name: figures[subject, f"in_{name}"].value for name in (SDAI, WSTETH, "WBTC/USDC.86")}
    total = figures[subject, "total_assets"].value
    assert total == sum(held.values()) < 60_000_000 * 10**6
    # The vault is the only supplier: it has what the markets have, by their own rounding.
    for name, assets in held.items():
        if (f"Morpho.{name}", "supplied") in figures:
            assert 0 <= figures[f"Morpho.{name}", "supplied"].value - assets <= 1
    # The loss is larger than the interest, so that no fee is due, and no shares are minted.
    shares, offset = vault.total_supply, 10**12
    price = 10**36 * (total + 1) // (shares + offset) // 10**6
    assert kpis["share_price.steakUSDC"] == figures[subject, "share_price"].value == price
    assert kpis["share_price_change.steakUSDC"] == price - 10**18 < 0
    # sDAI's market lost its bad debt, and earned interest in eight hours.
    lost = 20_000_000 * 10**6 - held[SDAI]
    assert 0 < kpis["bad_debt"] // 100 - lost < 1_000 * 10**6
    depositor = account(depositor_of("steakUSDC"))
    assert vault.balance_of(depositor) == shares


def test_realised_bad_debt_is_counted_by_account(played: tuple[Built, dict[str, int], list[Any]]) -> None:
    built, kpis, _ = played
    lost = built.tally.market_losses_e8
    assert kpis["bad_debt"] == sum(lost.values())
    assert kpis["bad_debt_accounts"] == len(lost) == 8
    assert all(name.startswith("loopers-") for name in lost)
    rows = {row.account: int(row.bad_debt) for row in built.accounts.rows}
    assert sum(rows.values()) == kpis["bad_debt"]


@pytest.mark.slow(0.5)
def test_an_explanation_names_the_bad_debt(tmp_path: Path) -> None:
    run = mayavi.run("morpho_depeg", seed=7, overrides=FEW, store=tmp_path / "runs.duckdb")
    told = "\n".join(explain(Store(run.store_path), run.run_id, "loopers-0").why())
    assert "loopers-0 was liquidated by liquidators" in told
    assert "bad debt left behind: $" in told
    assert "smallest units" not in told


@pytest.mark.slow(0.3)
def test_liquidators_need_no_capital_with_flash_loans_of_morpho(
    played: tuple[Built, dict[str, int], list[Any]],
) -> None:
    _, kpis, actions = play("agents.liquidators.flash_loan=true", "agents.liquidators.capital={}")
    done = [row for row in actions if row.kind == "liquidate" and row.status == "success"]
    assert done
    for row in done:
        facts = json.loads(row.details)
        assert row.transactions == 1
        paid, received, profit = (int(facts[name]) for name in ("paid", "received", "profit"))
        assert profit == received - paid > 0  # the loan is free
    assert kpis["liquidated_accounts"] == played[1]["liquidated_accounts"]
    assert kpis["bad_debt"] == pytest.approx(played[1]["bad_debt"], rel=0.01)


def test_a_flash_loan_is_no_larger_than_what_morpho_holds(played: tuple[Built, dict[str, int], list[Any]]) -> None:
    fork = played[0].world.fork.copy()
    blue = MorphoBlue(fork)
    lender = flash_lender(MorphoLending(blue.market(SDAI)))
    held = Erc20(fork, "USDC").balance_of(blue.address)
    assert held > 0
    assert lender.funds(["USDC", "DAI"]) == {"USDC": held, "DAI": 0}


@pytest.mark.slow(0.5)
def test_the_same_seed_gives_the_same_run(played: tuple[Built, dict[str, int], list[Any]]) -> None:
    assert play()[1] == played[1]
    assert play(seed=8)[1] != played[1]


@pytest.mark.parametrize(("world", "price"), [("ethereum", 1.0518), ("ethereum@2025-12", 1.1693)])
def test_the_pool_of_the_collateral_begins_at_the_price_of_the_world(world: str, price: float) -> None:
    fork = Fork.replica(world).copy()
    set_up(load_scenario("morpho_depeg", overrides=FEW).config, fork)
    assert float(UniswapV3(fork).pool("sDAI", "USDC", 500).price("sDAI")) == pytest.approx(price, abs=1e-4)


def test_a_new_pool_without_a_price_needs_feeds_of_both_tokens() -> None:
    tokens = "tokens={NOVA: {supply: 1000}}"
    pools = "pools={NOVA/USDC.500: {liquidity: {NOVA: 1, USDC: 1}}}"
    with pytest.raises(BadScenario, match=r"NOVA/USDC.500 has no price, and no feed gives one"):
        play(tokens, pools)


@pytest.mark.slow(0.3)
def test_a_slow_fall_leaves_depositors_unharmed() -> None:
    _, kpis, _ = play("prices.sDAI={process: ramp, at: 1, steps: 6, size: -4%}")
    assert kpis["bad_debt"] == 0
    assert kpis["share_price_change.steakUSDC"] >= 0
    assert kpis["liquidated_accounts"] > 0


@pytest.mark.slow(0.3)
def test_parameters_are_set_by_their_owners() -> None:
    built, _, _ = play(
        f"parameters.morpho.{WSTETH}.fee=10%",
        "parameters.morpho.steakUSDC.fee=20%",
        f"parameters.morpho.steakUSDC.{SDAI}={{at: 2, supply_cap: 1000}}",
        f"parameters.morpho.steakUSDC.{WSTETH}={{at: 3, supply_cap: 90000000}}",
    )
    blue = MorphoBlue(built.world.fork)
    vault = blue.vault("steakUSDC")
    assert blue.market(WSTETH).state().fee_wad == 10**17
    assert vault.fee_wad == 2 * 10**17
    assert vault.cap(SDAI) == 1_000 * 10**6
    assert vault.cap(WSTETH) == 90_000_000 * 10**6


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (f"parameters.morpho.{WSTETH}.fee=30%", "max fee exceeded"),
        ("parameters.morpho.steakUSDC.fee=60%", "MaxFeeExceeded"),
        ("parameters.morpho.steakETH.fee=1%", "unknown MetaMorpho vault 'steakETH'"),
        ("parameters.morpho.wstETH/USDC.77.fee=1%", "unknown Morpho market 'wstETH/USDC.77'"),
        (f"parameters.morpho.{WSTETH}.lltv=90%", "the LLTV of a Morpho market never changes"),
        (f"parameters.morpho.{WSTETH}.ltv=1%", "'ltv' is not a parameter of morpho.wstETH/USDC.86"),
        (f"parameters.morpho.steakUSDC.{WSTETH}.fee=1%", "is not a parameter of morpho.steakUSDC.wstETH/USDC.86"),
        ("agents.loopers.market=cUSDCv3", "is not the name of one"),
        ("agents.loopers.market=wstETH/USDC.77", "unknown Morpho market 'wstETH/USDC.77'"),
        ("agents.loopers.collateral=wstETH", "sDAI/USDC.96.5 takes as collateral sDAI, not wstETH"),
        ("agents.loopers.debt=DAI", "sDAI/USDC.96.5 lends USDC, not DAI"),
        ("agents.loopers.emode=1", "a Morpho market has one collateral and one debt"),
        ("morpho.markets={wstETH: {}}", "not the name of a Morpho market"),
        ("morpho.vaults.steakUSDC={caps: {rETH/USDC.86: 1}}", "which is not a market here"),
        ("morpho.vaults.steakUSDC.deposits=1000000000", "and its caps allow"),
        ("morpho.vaults.steakUSDC.queue=[sDAI/USDC.96.5]", "has a queue of sDAI/USDC.96.5, and caps for"),
        ("morpho.vaults.steakUSDC.fee=60%", "MaxFeeExceeded"),
    ],
)
def test_what_morpho_refuses_is_refused_with_its_reason(override: str, message: str) -> None:
    with pytest.raises(MayaviError) as caught:
        play(override)
    text = f"{caught.value.message} {caught.value.hint or ''}"
    assert message in text


@pytest.mark.slow(0.3)
def test_a_market_of_another_lltv_is_created() -> None:
    markets = f"{{{SDAI}: , {WSTETH}: , WBTC/USDC.86: , DAI/USDC.90: {{supplied: 1000}}}}"
    built, _, _ = play(f"morpho.markets={markets}")
    market = MorphoBlue(built.world.fork).market("DAI/USDC.90")
    assert market.lltv_wad == 9 * 10**17
    assert market.state().supply_assets == 1_000 * 10**6
