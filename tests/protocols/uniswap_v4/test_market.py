"""Pools by key and id, their state, swaps with limits, refusals in words, deployment."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi import Fork
from mayavi.errors import ActionRefused, BadArgument, CallReverted, InsufficientBalance, UnknownName
from mayavi.evm.address import ZERO_ADDRESS
from mayavi.protocols import Erc20, UniswapV4
from mayavi.protocols.uniswap_v4.pool_key import DYNAMIC_FEE, PoolKey, Route
from mayavi.worlds.deploy.uniswap_v4 import ADDRESSES, deploy_uniswap_v4
from tests.protocols.uniswap_v4.worlds import ALICE, LP, POOLS, open_world, pool_on
from tests.states import state_of

ETH_USDC = ("ETH", "USDC", 500)
POOR = bytes.fromhex("b0b0000000000000000000000000000000000002")


@pytest.fixture
def uniswap() -> UniswapV4:
    return open_world()


def test_a_pool_is_found_by_its_key_in_either_order_and_by_its_id(uniswap: UniswapV4) -> None:
    pool = uniswap.pool("USDC", "ETH", 500)
    assert pool.key == uniswap.pool("ETH", "USDC", (500, 10)).key
    assert (pool.key.currency0, pool.currency0.symbol, pool.currency1.symbol) == (ZERO_ADDRESS, "ETH", "USDC")
    assert uniswap.pool_by_id(pool.id).key == pool.key
    assert uniswap.pool_by_id("0x" + pool.id.hex()).key == pool.key
    assert str(pool) == "pool UniswapV4.ETH/USDC.500.10"
    with pytest.raises(UnknownName, match="knows no pool"):
        uniswap.pool_by_id(bytes(32))
    with pytest.raises(BadArgument, match="32 bytes"):
        uniswap.pool_by_id("0x1234")


def test_pools_that_differ_in_spacing_alone_are_different(uniswap: UniswapV4) -> None:
    prices = {
        uniswap.pool("WETH", "USDC", (500, spacing)).price("WETH").quantize(Decimal(1)) for spacing in (1, 10, 200)
    }
    assert prices == {2500, 2505, 2495}


def test_the_state_is_that_of_the_view(uniswap: UniswapV4) -> None:
    pool = uniswap.pool(*ETH_USDC)
    slot = pool.slot
    assert (slot.lp_fee, slot.protocol_fee, slot.tick) == (500, 0, pool.tick)
    assert abs(pool.price("ETH") - 2500) < Decimal("1e-15")
    assert abs(pool.price("USDC") * pool.price("ETH") - 1) < Decimal("1e-30")
    assert pool.liquidity > 0
    assert pool.fee_growth_x128 == (0, 0)
    uniswap.swap_exact_input(ETH_USDC, 10**18, sender=ALICE)
    assert pool.price("ETH") < 2500
    assert pool.fee_growth_x128[0] == 10**18 * 500 // 10**6 * 2**128 // pool.liquidity


def test_a_new_pool_begins_at_its_price(uniswap: UniswapV4) -> None:
    pool = uniswap.create_pool("UNI", "ETH", (777, 7), "0.0025")
    assert abs(pool.price("UNI") - Decimal("0.0025")) < Decimal("1e-18")
    assert pool.liquidity == 0
    with pytest.raises(ActionRefused, match="already"):
        uniswap.create_pool("ETH", "UNI", (777, 7), 400)
    with pytest.raises(BadArgument, match="above zero"):
        uniswap.create_pool("UNI", "ETH", (778, 7), 0)
    with pytest.raises(BadArgument, match="not a price"):
        uniswap.create_pool("UNI", "ETH", (778, 7), "dear")


def test_a_price_limit_sells_less(uniswap: UniswapV4) -> None:
    pool = uniswap.pool(*ETH_USDC)
    limit = pool.sqrt_price_x96 * 99 // 100
    swap = uniswap.swap_exact_input(ETH_USDC, 10**21, sender=ALICE, sqrt_price_limit_x96=limit)
    assert 0 < swap.amount_in < 10**21
    assert pool.sqrt_price_x96 == limit
    with pytest.raises(CallReverted, match="wrong side"):
        uniswap.swap_exact_input(ETH_USDC, 10**18, sender=ALICE, sqrt_price_limit_x96=limit * 2)
    with pytest.raises(CallReverted, match="single pool"):
        uniswap.swap_exact_input(("ETH", 500, "USDC", (8, 1), "USDT"), 10**18, sender=ALICE, sqrt_price_limit_x96=limit)


def test_ether_comes_out_and_what_is_left_comes_back(uniswap: UniswapV4) -> None:
    fork = uniswap.fork
    before = fork.balance(ALICE)
    sold = uniswap.swap_exact_input(("USDC", "ETH", 500), 10**9, sender=ALICE, recipient=POOR)
    assert fork.balance(POOR) == sold.amount_out
    bought = uniswap.swap_exact_output(ETH_USDC, 10**9, sender=ALICE, max_amount_in=10**20)
    assert fork.balance(ALICE) == before - bought.amount_in  # forks charge no fees by default


def test_a_refused_swap_changes_nothing_and_says_why(uniswap: UniswapV4) -> None:
    fork = uniswap.fork
    uniswap.swap_exact_input(ETH_USDC, 10**15, sender=ALICE)  # deploys the router
    before = state_of(fork)
    fork.labels["poor"] = "0x" + POOR.hex()
    with pytest.raises(InsufficientBalance, match="0 ETH"):
        uniswap.swap_exact_input(ETH_USDC, 10**18, sender=POOR)
    with pytest.raises(InsufficientBalance, match="0 USDC"):
        uniswap.swap_exact_input(("USDC", "ETH", 500), 10**6, sender=POOR)
    quote = uniswap.quote_exact_input(ETH_USDC, 10**18)
    with pytest.raises(CallReverted, match="a swap of 1 ETH for USDC reverted: Too little received"):
        uniswap.swap_exact_input(ETH_USDC, 10**18, sender=ALICE, min_amount_out=quote.amount_out + 1)
    with pytest.raises(CallReverted, match="Too much requested"):
        uniswap.swap_exact_output(ETH_USDC, 10**9, sender=ALICE, max_amount_in=1)
    with pytest.raises(CallReverted, match="Transaction too old"):
        uniswap.swap_exact_input(ETH_USDC, 10**18, sender=ALICE, deadline=fork.timestamp - 1)
    with pytest.raises(CallReverted, match="not enough liquidity"):
        uniswap.swap_exact_input(ETH_USDC, 10**24, sender=ALICE)
    with pytest.raises(CallReverted, match=r"NotEnoughLiquidity.*liquidity ends before that amount"):
        uniswap.quote_exact_input(ETH_USDC, 10**24)
    with pytest.raises(UnknownName, match=r"there is no pool UniswapV4.ETH/USDC.100.1"):
        uniswap.quote_exact_input(("ETH", "USDC", 100), 10**18)
    with pytest.raises(ActionRefused, match="moves nothing"):
        uniswap.quote_exact_input(ETH_USDC, 0)
    assert state_of(fork) == before


@pytest.mark.parametrize(
    ("route", "message"),
    [
        (("ETH", "USDC"), "not a route"),
        ("ETH", "not a route"),
        (("ETH", "ETH", 500), "itself"),
        (("ETH", "USDC", 444), "implies no tick spacing"),
        (("ETH", "USDC", (500, 0)), "not a tick spacing"),
        (("ETH", "USDC", 1_000_001), "not a fee"),
        (("ETH", "USDC", ()), "not a fee"),
    ],
)
def test_bad_routes_are_refused(uniswap: UniswapV4, route: tuple[object, ...], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        uniswap.quote_exact_input(route, 1)


def test_keys_carry_hooks_and_dynamic_fees(uniswap: UniswapV4) -> None:
    key = PoolKey.of(uniswap.fork, "ETH", "USDC", (DYNAMIC_FEE, 60, ALICE))
    assert (key.fee, key.tick_spacing, key.hooks) == (DYNAMIC_FEE, 60, ALICE)
    route = Route.of(uniswap.fork, ("ETH", (DYNAMIC_FEE, 60, ALICE), "USDC"))
    assert route.keys == (key,)
    with pytest.raises(CallReverted, match="HookAddressNotValid"):
        uniswap.create_pool("ETH", "USDC", (DYNAMIC_FEE, 60), 2500)


def test_positions_grow_shrink_collect_and_end(uniswap: UniswapV4) -> None:
    pool = uniswap.pool(*ETH_USDC)
    held = pool.currency0.balance_of(LP), pool.currency1.balance_of(LP)
    minted = uniswap.mint(pool, -199_000, -197_000, (10**19, 25_000 * 10**6), sender=LP)
    position = minted.position
    assert (position.ticks, position.owner, position.liquidity) == ((-199_000, -197_000), LP, minted.liquidity)
    assert minted.amounts[0] <= 10**19
    assert minted.amounts[1] <= 25_000 * 10**6
    assert max(minted.amounts[0] * 10**9 // 10**19, minted.amounts[1] * 10**9 // (25_000 * 10**6)) >= 10**9 - 1
    for route in (ETH_USDC, ("USDC", "ETH", 500)):
        uniswap.swap_exact_input(route, 10**18 if route[0] == "ETH" else 10**9, sender=ALICE)
    fees = position.collect()
    assert all(fees)
    position.increase((10**18, 2_500 * 10**6))
    assert position.liquidity > minted.liquidity
    part = position.decrease(position.liquidity // 2)
    assert all(part)
    position.burn()
    assert pool.currency0.balance_of(LP) >= held[0] - 10**18  # only price moves cost it anything
    with pytest.raises(UnknownName, match="no position"):
        uniswap.position(position.token_id)
    assert Erc20(uniswap.fork, "USDC").allowance(LP, "Permit2") == 0


def test_bad_positions_are_refused(uniswap: UniswapV4) -> None:
    pool, before = uniswap.pool(*ETH_USDC), state_of(uniswap.fork)
    with pytest.raises(BadArgument, match="not a multiple of the tick spacing"):
        uniswap.mint(pool, -199_001, -197_000, (1, 1), sender=LP)
    with pytest.raises(ActionRefused, match="add no liquidity"):
        uniswap.mint(pool, -199_000, -197_000, (0, 10**9), sender=LP)
    with pytest.raises(BadArgument, match="no range from tick -197000 to -198000"):
        uniswap.mint(pool, -197_000, -198_000, (10**18, 10**9), sender=LP)
    with pytest.raises(BadArgument, match="give two"):
        uniswap.mint(pool, -199_000, -197_000, (10**18,), sender=LP)
    with pytest.raises(InsufficientBalance):
        uniswap.mint(pool, -199_000, -197_000, (10**18, 10**9), sender=POOR)
    assert state_of(uniswap.fork) == before


def test_a_quote_estimates_the_gas_of_the_swap_without_its_transfers(uniswap: UniswapV4) -> None:
    quote = uniswap.quote_exact_input(("WETH", "USDC", 500), 10**18)
    assert 30_000 < quote.gas_estimate < 80_000


def test_it_stands_at_its_real_addresses_and_only_under_the_rules_of_cancun() -> None:
    fork = Fork.replica("ethereum", hardfork="cancun")
    with pytest.raises(UnknownName, match="no Uniswap V4 is known"):
        UniswapV4(fork)
    labels = deploy_uniswap_v4(fork)
    assert {f"UniswapV4.{name}": address for name, address in ADDRESSES[1].items()}.items() <= labels.items()
    digest = fork.digest()
    assert deploy_uniswap_v4(fork) == labels
    assert fork.digest() == digest
    with pytest.raises(ActionRefused, match="rules of Cancun"):
        deploy_uniswap_v4(Fork.replica("ethereum"))


@pytest.mark.parametrize("chain", ["base", "arbitrum", "polygon"])
def test_it_runs_on_other_chains(chain: str) -> None:
    fork = Fork.replica(chain, hardfork="cancun")
    deploy_uniswap_v4(fork)
    uniswap = UniswapV4(fork)
    fork.set_balance(LP, 10**24)
    fork.deal("USDC", LP, 10**12)
    pool = uniswap.create_pool("ETH", "USDC", 500, 2000)
    uniswap.mint(pool, *pool.full_range, (10**20, 2 * 10**11), sender=LP)
    quote = uniswap.quote_exact_input(ETH_USDC, 10**18)
    assert uniswap.swap_exact_input(ETH_USDC, 10**18, sender=LP).amount_out == quote.amount_out


def test_every_pool_of_the_world_is_there(uniswap: UniswapV4) -> None:
    assert len({pool_on(uniswap, made).id for made in POOLS}) == len(POOLS) == 20
