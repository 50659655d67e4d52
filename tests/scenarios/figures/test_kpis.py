"""What the figures of a run say, and what they warn of."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.agents.lending.borrower_population import BorrowerPopulation
from mayavi.errors import BadArgument, BadScenario
from mayavi.protocols.aave.market import AaveV3
from mayavi.scenarios.figures.kpis import kpi
from mayavi.scenarios.figures.notes import notes, notes_of_many
from mayavi.scenarios.figures.reasons import ReasonTally, gist
from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.starter import starter
from tests.scenarios.play import Played, play

QUICK = {"ethereum"}
"""Chains whose whole scenarios are played in the inner loop too."""


@pytest.mark.slow(0.3)
def test_every_account_of_a_population_can_be_followed_step_by_step() -> None:
    played = play("depeg_cascade", steps=3)
    followed = [row for row in played.snapshots if (row.subject, row.metric) == ("borrowers-17", "health_factor")]
    assert [row.step for row in followed] == [-1, 0, 1, 2]
    assert "health_factor.borrowers-17" not in played.kpis  # figures of a run are of all of them


@pytest.mark.slow(2)
def test_an_account_whose_collateral_is_gone_cannot_be_liquidated() -> None:
    played = play("depeg_cascade", steps=6, overrides=["prices.WETH={process: step, at: 2, size: -60%}"])
    last = {row.metric: int(row.value) for row in played.snapshots if row.subject == "borrowers"}
    assert last["liquidatable"] == played.kpis["liquidatable_accounts"] < last["health_factor_below_1"]


@pytest.mark.parametrize(
    "written",
    ["1", "0.9", "{uniform: [0.9, 2]}", "{choice: [1, 2]}", "{normal: {mean: 2, deviation: 1, between: [0, 3]}}"],
)
def test_a_health_factor_at_which_a_loan_is_liquidated_at_once_is_refused(written: str) -> None:
    with pytest.raises(BadScenario, match=r"agents\.borrowers\.health_factor is .* at its lowest"):
        play("depeg_cascade", overrides=[f"agents.borrowers.health_factor={written}"])


def test_what_only_the_draw_shows_is_refused_then() -> None:
    with pytest.raises(BadArgument, match="draws a health factor of"):
        play("depeg_cascade", overrides=["agents.borrowers.health_factor={normal: {mean: 1.2, deviation: 1}}"])


@pytest.mark.slow(1)
def test_accounts_the_market_does_not_lend_so_much_are_counted_and_told_of() -> None:
    played = play("depeg_cascade", steps=3, overrides=["agents.borrowers.health_factor={uniform: [1.001, 1.06]}"])
    limit = played.kpis["health_factor_limit.borrowers"]
    assert limit == pytest.approx(8300 * 10**18 // 8050, rel=1e-9)
    (crowd,) = (agent for agent in played.built.world.agents if isinstance(agent, BorrowerPopulation))
    below = sum(target < limit for target in crowd.targets_wad)
    assert 0 < below == played.kpis["accounts_at_limit.borrowers"] < 100
    told = notes(numbers(played))
    assert f"{below} of 100 accounts of borrowers start at the market's limit, a health factor of 1.031" in told[0]
    healthy = play("depeg_cascade", steps=3)
    assert healthy.kpis["accounts_at_limit.borrowers"] == 0
    assert all("jumps by" in note for note in notes(numbers(healthy)))


@pytest.mark.slow(0.4)
def test_a_pool_far_from_the_oracle_is_told_of() -> None:
    poor = ["agents.arbitrageur.capital={WETH: 1, USDC: 1}"]
    played = play("depeg_cascade", steps=4, overrides=poor)
    assert played.kpis["pool_gap.WETH/USDC.500"] > 0.3 * 10**18
    assert any(note.startswith("WETH/USDC.500 ends +") for note in notes(numbers(played)))
    own = notes(numbers(play("", text="name: mine\n" + starter("mine.yaml"), steps=8)))
    assert all("jumps by" in note for note in own)


@pytest.mark.parametrize(
    ("scenario", "chain"),
    [
        pytest.param(scenario, chain, marks=[pytest.mark.slow] if chain not in QUICK else [])
        for scenario in ("depeg_cascade", "compound_v3_borrower")
        for chain in load_scenario(scenario).config.chains
    ],
)
def test_the_pools_of_the_library_are_near_the_oracle(scenario: str, chain: str) -> None:
    found = notes(numbers(play(scenario, chain=chain)))
    assert [note for note in found if "jumps by" not in note] == []


@pytest.mark.slow(0.3)
def test_a_pool_that_follows_a_shock_changes_and_one_that_is_sold_into_is_pressed() -> None:
    shocked, sold = play("depeg_cascade", steps=4).kpis, play("vesting_cliff", steps=4).kpis
    assert {"pool_change.WETH/USDC.500", "liquidity_change.WETH/USDC.500"} <= shocked.keys()
    assert "price_impact.WETH/USDC.500" not in shocked
    assert "price_impact.NOVA/USDC.3000" in sold
    assert "pool_change.NOVA/USDC.3000" not in sold


def test_a_seller_who_never_gets_its_price_has_sold_nothing_and_at_no_price() -> None:
    never = ["agents.investors.sells=threshold", "agents.investors.threshold=5"]
    played = play("vesting_cliff", overrides=never)
    assert played.details("release")
    assert notes(numbers(played))[-1].startswith("investors sold no NOVA: ")
    assert (played.kpis["sold.investors.NOVA"], played.kpis["proceeds.investors.USDC"]) == (0, 0)
    assert "average_price.investors.NOVA/USDC" not in played.kpis


def test_what_a_seller_got_in_several_sales_is_added_up() -> None:
    slowly = ["agents.investors.sells=twap", "agents.investors.over=3", "agents.investors.cliff=6h"]
    played = play("vesting_cliff", steps=6, overrides=slowly)
    sales = played.details("sell")
    assert len(sales) == 3
    assert played.kpis["sold.investors.NOVA"] == sum(int(each["sold"]) for each in sales) == 5_000_000 * 10**18
    assert played.kpis["proceeds.investors.USDC"] == sum(int(each["received"]) for each in sales)


@pytest.mark.slow(0.3)
def test_a_liquidators_profit_is_what_is_left_after_the_gas_of_all_it_tried() -> None:
    played = play("depeg_cascade", steps=4)
    fees = sum(int(row.fee_wei) for row in played.actions if row.kind == "liquidate")
    assert any(row.status == "failed" and int(row.fee_wei) for row in played.actions if row.kind == "liquidate")
    cost = played.kpis["liquidator_profit_before_gas"] - played.kpis["liquidator_profit"]
    price = next(int(r.value) for r in reversed(played.snapshots) if (r.subject, r.metric) == ("AaveV3.WETH", "price"))
    assert cost == pytest.approx(fees * price // 10**18, rel=0.05)
    free = play("depeg_cascade", steps=4, overrides=["gas.base_fee=0", "gas.priority_fee=0"]).kpis
    assert free["liquidator_profit"] == free["liquidator_profit_before_gas"] > 0


@pytest.mark.slow(0.5)
def test_liquidators_who_sell_before_the_pool_follows_are_told_of() -> None:
    first = play("depeg_cascade", steps=4)
    assert -0.03 * 10**18 < first.kpis["liquidation_sale_gap"] < 0
    assert not any("liquidators sold" in note for note in notes(numbers(first)))
    late = play("depeg_cascade", steps=4, overrides=["agents.arbitrageur.priority_fee=0 gwei"])
    sold, brought = (sum(int(each[key]) for each in late.details("liquidate")) for key in ("seized_e8", "received_e8"))
    assert late.kpis["liquidation_sale_gap"] == (brought - sold) * 10**18 // sold > 0.3 * 10**18
    assert any(note.startswith("liquidators sold what they seized at +") for note in notes(numbers(late)))


@pytest.mark.slow(0.3)
def test_a_price_that_begins_far_from_the_oracles_is_told_of(tmp_path: Path) -> None:
    lines = [f"{1_700_000_000 + 3_600 * hour},{1_500 - hour}" for hour in range(6)]
    (tmp_path / "weth.csv").write_text("time,price\n" + "\n".join(lines))

    def gap(price: str) -> tuple[int | None, list[str]]:
        played = play("depeg_cascade", steps=4, overrides=[f"prices.WETH={price}", "agents.borrowers.count=3"])
        told = [note for note in notes(numbers(played)) if "begins" in note]
        return played.kpis.get("opening_gap.WETH"), told

    oracle = AaveV3(Fork.replica("ethereum")).price_usd_e8("WETH")
    file = f"process: path, file: {tmp_path / 'weth.csv'}"
    found, told = gap(f"{{{file}}}")
    assert found == (1_500 * 10**8 - oracle) * 10**18 // oracle < -0.4 * 10**18
    assert told == [
        "the price of WETH begins −41.5 % from the oracle's, so that the first step is a shock by itself; "
        "`anchored: true` for a file, or no `start`, begins where the market stands"
    ]
    assert gap(f"{{{file}, anchored: true}}") == (None, [])
    assert len(gap("{process: gbm, volatility: 10%, start: 4_000}")[1]) == 1
    near = gap("{process: gbm, volatility: 10%, start: 2_560}")
    assert near[0] is not None
    assert near[1] == []
    assert gap("{process: step, at: 0, size: -30%}") == (None, [])  # a shock that was asked for


def test_many_runs_tell_each_kind_of_doubt_once_and_how_many_have_it() -> None:
    far, near = {"pool_gap.A/B.500": 0.2, "never_opened.bob": 1.0}, {"pool_gap.A/B.500": 0.01, "never_opened.bob": 0.0}
    assert notes_of_many([near, near]) == []
    told = notes_of_many([near, far, {"pool_gap.A/B.500": -0.3, "never_opened.bob": 0.0}])
    assert [each.partition(":")[0] for each in told] == [
        "in 2 of 3 runs",
        "in 1 of 3 runs",
    ]
    assert "A/B.500 ends −30.0 % to +20.0 %" in told[0]
    assert "bob never opened its loan" in told[1]


def test_a_loan_that_never_opens_is_told_of_and_leaves_nothing_behind() -> None:
    played = play("aave_borrower", overrides=["agents.borrower.debt=170_000 USDC"])
    assert notes(numbers(played)) == ["borrower never opened its loan; `mayavi runs explain` shows why"]
    assert played.kpis["collateral"] == 0
    assert {(row.kind, row.status) for row in played.actions if row.agent == "borrower"} == {("open", "failed")}


def test_failures_of_one_kind_count_together_and_errors_keep_their_number() -> None:
    assert gist("no WETH can be withdrawn at a health factor of 0.9687") == gist(
        "no WETH can be withdrawn at a health factor of 0.51"
    )
    assert gist("5000000 USDC on WETH/USDC.500 of V3") == "… USDC on WETH/USDC.500 of V3"
    assert gist("AaveV3.Pool reverted: 46 COLLATERAL_CANNOT_BE_LIQUIDATED").endswith(
        ": 46 COLLATERAL_CANNOT_BE_LIQUIDATED"
    )
    assert gist("borrowers-17 has supplied no WETH") == "borrowers-17 has supplied no WETH"


def test_reasons_that_count_together_show_the_range_of_their_numbers() -> None:
    tally = ReasonTally()
    for paid, outside in ((0.9512, 0.98), (0.9031, 0.98), (0.9274, 0.98)):
        tally.add(f"the pool pays {paid} DAI for USDC, which is at {outside} outside")
    for address in ("0x" + "1" * 40, "0x" + "2" * 40):
        tally.add(f"{address} lacks 1,500 USDC")
    tally.add("AaveV3.Pool reverted: 46 COLLATERAL_CANNOT_BE_LIQUIDATED")
    assert tally.counts() == {
        "the pool pays 0.9031 to 0.9512 DAI for USDC, which is at 0.98 outside": 3,
        "… lacks 1,500 USDC": 2,
        "AaveV3.Pool reverted: 46 COLLATERAL_CANNOT_BE_LIQUIDATED": 1,
    }


def numbers(played: Played) -> dict[str, float]:
    return {row.name: row.number for row in played.built.kpis(played.built.world)}


def test_a_kpi_has_a_unit_that_is_known() -> None:
    assert kpi("gas", 21_000, "gas").number == 21_000
    assert kpi("amount", 1_500_000, "e6").number == 1.5
    with pytest.raises(BadArgument, match="the KPI 'shares' has the unit 'percent'"):
        kpi("shares", 1, "percent")
