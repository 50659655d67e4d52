"""`pool_depth`: positions of a pool grow or shrink through the position manager, and prices stay."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi.errors import ActionRefused, BadScenario
from mayavi.protocols import UniswapV3
from mayavi.protocols.uniswap.position import UniswapV3Position
from mayavi.scenarios.build.chain.pool_depth import pool_names, scale_pool, scale_pools
from mayavi.scenarios.build.chain.routes import pool_named
from mayavi.scenarios.loading import Scenario, load_scenario, load_text
from mayavi.scenarios.models.assumptions.found import find_assumptions
from mayavi.scenarios.sensitivity.plan import plan_moves
from tests.agents.stage import replica
from tests.scenarios.play import play

ROUTE, POOL = ("WETH", "USDC", 500), "WETH/USDC.500"
SALE = 1_000 * 10**18
ARBITRAGE = f"  arb: {{kind: arbitrageur, pool: {POOL}, capital: {{WETH: 10, USDC: 10_000}}}}\n"

SALE_OF_NOVA = """\
name: sale
chain: ethereum
steps: 2
step_blocks: 5
tokens: {NOVA: {supply: 1_000_000}}
pools: {NOVA/USDC.3000: {price: 1, liquidity: {NOVA: 100_000, USDC: 100_000}}}
agents:
  seller: {kind: vesting, token: 50_000 NOVA, pool: NOVA/USDC.3000, cliff: 1m}
"""


def assumptions_of(scenario: Scenario) -> set[str]:
    return {each.path for each in find_assumptions(scenario.config, {})}


@pytest.mark.parametrize("factor", ["0.5", "0.01", "2", "3.7"])
def test_all_ranges_of_a_pool_are_scaled_and_its_price_stays(factor: str) -> None:
    pool = pool_named(replica(), POOL)
    price, before = pool.sqrt_price_x96, pool.liquidity_profile()
    scale_pool(pool, Decimal(factor))
    assert pool.sqrt_price_x96 == price
    after = pool.liquidity_profile()
    assert [each[:2] for each in after] == [each[:2] for each in before]
    for old, new in zip(before, after, strict=True):
        assert new.liquidity == pytest.approx(old.liquidity * float(factor), rel=1e-9)


def test_half_the_depth_costs_a_seller_more_and_double_costs_less() -> None:
    proceeds = {}
    for depth in ("50%", "100%", "200%"):
        fork = replica()
        scale_pools(load_scenario("depeg_cascade", overrides=[f"pool_depth={depth}"]).config, fork)
        proceeds[depth] = UniswapV3(fork).quote_exact_input(ROUTE, SALE).amount_out
    assert proceeds["50%"] < proceeds["100%"] < proceeds["200%"]
    assert UniswapV3(replica()).quote_exact_input(ROUTE, SALE).amount_out == proceeds["100%"]


def test_a_named_pool_is_scaled_alone_and_one_number_scales_all() -> None:
    def depths(override: str) -> dict[str, float]:
        fork, whole = replica(), replica()
        scale_pools(load_scenario("depeg_cascade", overrides=[override]).config, fork)
        return {name: pool_named(fork, name).liquidity / pool_named(whole, name).liquidity for name in pool_names(fork)}

    one = depths(f"pool_depth.{POOL}=50%")
    assert one.pop(POOL) == pytest.approx(0.5)
    assert len(one) > 2
    assert set(one.values()) == {1.0}
    assert list(depths("pool_depth=2").values()) == pytest.approx([2.0] * (len(one) + 1))


def test_a_run_without_the_key_is_as_before() -> None:
    few = ["agents.borrowers.count=5", "prices.WETH.at=1"]
    usual, same = (play("depeg_cascade", steps=3, overrides=[*few, *more]) for more in ([], ["pool_depth=1"]))
    assert usual.actions == same.actions
    assert usual.snapshots == same.snapshots
    assert usual.kpis == same.kpis


def test_a_pool_of_the_scenario_keeps_its_own_liquidity() -> None:
    usual, scaled = (play("", text=SALE_OF_NOVA + ARBITRAGE, overrides=more) for more in ([], ["pool_depth=10%"]))
    assert usual.kpis["sold.seller.NOVA"] > 0
    assert usual.kpis["sold.seller.NOVA"] == scaled.kpis["sold.seller.NOVA"]
    assert usual.kpis["proceeds.seller.USDC"] == scaled.kpis["proceeds.seller.USDC"]


def test_sensitivity_moves_the_depth_of_pools_that_no_file_mentions() -> None:
    def load(overrides: object) -> object:
        return load_scenario("depeg_cascade", overrides=overrides)  # type: ignore[arg-type]

    base = load_scenario("depeg_cascade")
    moves, _ = plan_moves(base, load, only=["pool_depth"])  # type: ignore[arg-type]
    assert [move.overrides for move in moves] == [("pool_depth=0.5",), ("pool_depth=2",)]
    assert "pool_depth" not in assumptions_of(load_text(SALE_OF_NOVA))  # nobody trades in a pool of the chain
    written = load_text(SALE_OF_NOVA.replace("agents:", f"pool_depth: {{{POOL}: 50%}}\nagents:") + ARBITRAGE)
    moves, _ = plan_moves(written, lambda overrides: load_text(written.text, overrides=overrides), only=["pool_depth"])
    assert [move.overrides for move in moves] == [
        (f"pool_depth={{{POOL}: 25%}}",),
        (f"pool_depth={{{POOL}: 100%}}",),
    ]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("pool_depth=0", "pool_depth is 0, and must be above zero"),
        ("pool_depth={WETH/USDC.500: deep}", "pool_depth.WETH/USDC.500 is 'deep', not a number"),
        ("pool_depth={Curve.3pool: 50%}", "the depth of 'Curve.3pool' cannot be changed"),
        ("pool_depth={WETH: 50%}", "'WETH' is not a pool name of the form"),
        ("pool_depth=10%", "no agent trades in a Uniswap V3 pool of the chain, so pool_depth would change nothing"),
        ("pool_depth={NOVA/USDC.3000: 50%}", "the scenario creates the pool 'NOVA/USDC.3000' itself"),
    ],
)
def test_a_depth_that_makes_no_sense_is_refused(override: str, message: str) -> None:
    with pytest.raises(BadScenario, match=r"--set pool_depth") as caught:
        load_text(SALE_OF_NOVA, overrides=[override])
    assert message in caught.value.message


def test_an_unknown_pool_is_refused_with_the_nearest_names() -> None:
    scenario = load_text(SALE_OF_NOVA + ARBITRAGE, overrides=["pool_depth={WETH/USDX.500: 50%}"])
    with pytest.raises(BadScenario, match=r"pool_depth of 'WETH/USDX\.500': unknown pool") as caught:
        scale_pools(scenario.config, replica())
    assert scenario.blame(caught.value).message.startswith("--set pool_depth={WETH/USDX.500: 50%}: ")
    assert "WETH/USDC.500" in (caught.value.hint or "")


def test_a_chain_with_too_many_positions_is_not_searched() -> None:
    with pytest.raises(ActionRefused, match="at most 3 are searched"):
        UniswapV3Position.in_pool(pool_named(replica(), POOL), most=3)
