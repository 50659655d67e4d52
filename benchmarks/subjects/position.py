"""Borrower used by all timings: 1 WETH supplied, 1,000 USDC borrowed on Aave V3 of a replica of Ethereum."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mayavi import Fork
from mayavi.evm.abi.contract import Function

REPOSITORY = Path(__file__).resolve().parents[2]
BENCH_CACHE = REPOSITORY / ".cache" / "bench"

BORROWER = bytes.fromhex("b0220e2000000000000000000000000000000001")
VARIABLE_RATE = 2
USDC_E6 = 10**6

APPROVE = Function.parse("approve(address spender, uint256 amount) returns (bool)")
BALANCE_OF = Function.parse("balanceOf(address owner) view returns (uint256)")
SUPPLY = Function.parse("supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)")
ACCOUNT_DATA = Function.parse(
    "getUserAccountData(address user) view returns (uint256,uint256,uint256,uint256,uint256,uint256)"
)
BORROW = Function.parse(
    "borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)"
)
REPAY = Function.parse(
    "repay(address asset, uint256 amount, uint256 interestRateMode, address onBehalfOf) returns (uint256)"
)


@dataclass(frozen=True)
class Call:
    """Call with encoded calldata, and its function and arguments."""

    name: str
    to: bytes
    function: Function
    arguments: tuple[object, ...]
    writes: bool

    @cached_property
    def data(self) -> bytes:
        """Calldata."""
        return self.function.encode(*self.arguments)


@dataclass(frozen=True)
class Position:
    """World of the borrower, modified and frozen, and the timed calls."""

    written: Fork
    frozen: Fork
    dump: bytes
    pool: bytes
    usdc: bytes
    calls: list[Call]


def seconds_a_call(fork: Fork, call: Call, count: int) -> float:
    """Return the seconds of one interpreted call through `fork`, from `count` calls in a plain loop.

    The loop is inlined: a function around each call would be timed too.
    """
    fork.specialise = "off"
    make, to, data = fork.call, call.to, call.data
    for _ in range(count):
        make(to, data, BORROWER)
    began = time.perf_counter()
    for _ in range(count):
        make(to, data, BORROWER)
    return (time.perf_counter() - began) / count


def open_replica(world: str = "ethereum", hardfork: str | None = None) -> Fork:
    """Open a replica of Ethereum; it is built in the checkout, as in the tests, if it is missing."""
    os.environ.setdefault("MAYAVI_CACHE_DIR", str(REPOSITORY / ".cache" / "mayavi"))
    return Fork.replica(world, hardfork=hardfork)


def open_position(world: str = "ethereum", hardfork: str | None = None) -> Position:
    """Return the replica with the position open and ten blocks of interest."""
    fork = open_replica(world, hardfork)
    pool, weth, usdc = (fork.address_of(name) for name in ("AaveV3.Pool", "WETH", "USDC"))
    fork.deal("WETH", BORROWER, 10**18)
    for token in (weth, usdc):
        fork.send(token, APPROVE.encode(pool, 2**256 - 1), BORROWER)
    fork.send(pool, SUPPLY.encode(weth, 10**18, BORROWER, 0), BORROWER)
    fork.send(pool, BORROW.encode(usdc, 1_000 * USDC_E6, VARIABLE_RATE, 0, BORROWER), BORROWER)
    fork.mine(10)
    state = fork.freeze()
    frozen = Fork.from_state(state, labels=fork.labels, source=fork.source)
    calls = [
        Call("balanceOf", usdc, BALANCE_OF, (BORROWER,), writes=False),
        Call("getUserAccountData", pool, ACCOUNT_DATA, (BORROWER,), writes=False),
        Call("repay", pool, REPAY, (usdc, USDC_E6, VARIABLE_RATE, BORROWER), writes=True),
        Call("borrow", pool, BORROW, (usdc, USDC_E6, VARIABLE_RATE, 0, BORROWER), writes=True),
    ]
    return Position(fork, frozen, state.dump(), pool, usdc, calls)
