"""Pools with hooks: one that sets the fee of every swap, and counts them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from mayavi.compilers.artifact import Artifact
from mayavi.compilers.vyper_file import compile_vyper
from mayavi.errors import CallReverted
from mayavi.evm.hashing import keccak_text
from mayavi.protocols import UniswapV4
from mayavi.protocols.uniswap_v4.pool_key import DYNAMIC_FEE
from tests.protocols.uniswap_v4.worlds import ALICE, LP, open_world

HOOK = bytes.fromhex("400c000000000000000000000000000000000080")
"""Its last 14 bits say what it does: bit 7, it is called before swaps."""
SOURCE = """
# pragma version 0.4.3
struct PoolKey:
    currency0: address
    currency1: address
    fee: uint24
    tickSpacing: int24
    hooks: address

struct SwapParams:
    zeroForOne: bool
    amountSpecified: int256
    sqrtPriceLimitX96: uint160

swaps: public(uint256)
fee: public(uint24)

@external
def set_fee(fee: uint24):
    self.fee = fee

@external
def beforeSwap(sender: address, key: PoolKey, params: SwapParams, data: Bytes[64]) -> (bytes4, int256, uint24):
    assert self.fee < 1000000, "the hook is closed"
    self.swaps += 1
    return SELECTOR, 0, self.fee | 4194304
"""
BEFORE_SWAP = "beforeSwap(address,(address,address,uint24,int24,address),(bool,int256,uint160),bytes)"
RANGE = (10**20, 250_000 * 10**6)


@cache
def _hook(folder: Path) -> Artifact:
    file = folder / "FeeHook.vy"
    file.write_text(SOURCE.replace("SELECTOR", f"0x{keccak_text(BEFORE_SWAP)[:4].hex()}"), encoding="utf-8")
    return compile_vyper(file, say=lambda _: None)


@pytest.fixture
def uniswap(tmp_path_factory: pytest.TempPathFactory) -> UniswapV4:
    """A pool whose hook sets its fee, and one with the same liquidity and a fee of 1.7 %."""
    uniswap = open_world()
    uniswap.fork.create_at(HOOK, _hook(tmp_path_factory.getbasetemp()).linked({}))
    for fee in ((DYNAMIC_FEE, 60, HOOK), (17_000, 60)):
        pool = uniswap.create_pool("ETH", "USDC", fee, 2_500)
        uniswap.mint(pool, *pool.full_range, RANGE, sender=LP)
    return uniswap


@pytest.mark.parametrize("pair", [("ETH", "USDC"), ("USDC", "ETH")])
def test_a_hook_sets_the_fee_of_quote_and_swap(uniswap: UniswapV4, pair: tuple[str, str]) -> None:
    fork, amount = uniswap.fork, 10**18 if pair[0] == "ETH" else 10**9
    hook = fork.contract(HOOK, ["set_fee(uint24 fee)", "swaps() view returns (uint256)"])
    hook.set_fee(17_000)
    hooked, plain = (*pair, (DYNAMIC_FEE, 60, HOOK)), (*pair, (17_000, 60))
    quote = uniswap.quote_exact_input(hooked, amount)
    assert quote.amount_out == uniswap.quote_exact_input(plain, amount).amount_out
    assert uniswap.swap_exact_input(hooked, amount, sender=ALICE).amount_out == quote.amount_out
    assert hook.swaps() == 1
    bought = uniswap.quote_exact_output(hooked, quote.amount_out // 2)
    assert uniswap.swap_exact_output(hooked, quote.amount_out // 2, sender=ALICE).amount_in == bought.amount_in


def test_a_hook_that_refuses_is_named(uniswap: UniswapV4) -> None:
    uniswap.fork.contract(HOOK, ["set_fee(uint24 fee)"]).set_fee(1_000_000)
    route = ("ETH", "USDC", (DYNAMIC_FEE, 60, HOOK))
    for act in (
        lambda: uniswap.quote_exact_input(route, 10**18),
        lambda: uniswap.swap_exact_input(route, 10**18, sender=ALICE),
    ):
        with pytest.raises(CallReverted, match="reverted: the hook is closed"):
            act()
