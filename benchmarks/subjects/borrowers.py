"""Thousands of Aave V3 borrowers on the Ethereum replica, in every mix of three collaterals and three debts.

One borrower of each mix is created through the contracts. The others copy its storage slots with varied amounts.
"""

from __future__ import annotations

import random
from itertools import product

from benchmarks.subjects.position import ACCOUNT_DATA, open_replica
from mayavi import Fork
from mayavi.evm.hashing import keccak256
from mayavi.protocols import AaveV3

COLLATERAL = {"WETH": 10**18, "WBTC": 10**7, "wstETH": 10**18}
DEBT = {"USDC": 100 * 10**6, "DAI": 100 * 10**18, "USDT": 100 * 10**6}
MIXES = [*product(range(1, 8), range(8))]
"""Collaterals and debts of each mix, as bit masks."""
MAPPINGS = 128
"""Slots tried for the mappings behind a borrower's position."""
LOW_HALF = (1 << 128) - 1

Slots = list[tuple[bytes, int, int]]
"""State of a mix: contract, slot of a mapping by account, value."""


def open_borrowers(count: int, leverage: int = 1, world: Fork | None = None) -> tuple[AaveV3, list[bytes]]:
    """Return a market on a frozen world, by default the replica, and its borrowers: `leverage` times the usual debt."""
    fork = open_replica() if world is None else world
    mixes = [position_of(fork, *mix, leverage) for mix in MIXES]
    fork.mine(10)
    rng = random.Random(1)
    accounts = [keccak256(b"borrower %d" % index)[:20] for index in range(count)]
    for account in accounts:
        for contract, mapping, value in rng.choice(mixes):
            fork.set_storage(contract, entry(account, mapping), varied(value, rng))
    return AaveV3(fork.frozen()), accounts


def position_of(fork: Fork, collateral: int, debt: int, leverage: int = 1) -> Slots:
    """Return the storage of a borrower with that mix."""
    market = AaveV3(fork)
    address = keccak256(b"mix %d %d" % (collateral, debt))[:20]
    account = market.account(address)
    for bit, (asset, amount) in enumerate(COLLATERAL.items()):
        if collateral >> bit & 1:
            fork.deal(asset, address, amount)
            account.supply(asset, amount)
    for bit, (asset, amount) in enumerate(DEBT.items()):
        if debt >> bit & 1:
            account.borrow(asset, leverage * amount)
    touched = fork.touched(market.pool.address, ACCOUNT_DATA.encode(address))
    read = {(contract, slot) for contract, slots in touched for slot in slots}
    return [
        (contract, mapping, fork.storage(contract, entry(address, mapping)))
        for contract, _ in touched
        for mapping in range(MAPPINGS)
        if (contract, entry(address, mapping)) in read
    ]


def entry(account: bytes, mapping: int) -> int:
    """Return the slot of `account` in the mapping at slot `mapping`."""
    return int.from_bytes(keccak256(account.rjust(32, b"\0") + mapping.to_bytes(32, "big")), "big")


def varied(value: int, rng: random.Random) -> int:
    """Vary the balance in an account's packed state (index above, balance below); other values are unchanged."""
    if not value >> 128:
        return value
    return value & ~LOW_HALF | (value & LOW_HALF) * rng.randrange(500, 1_500) // 1_000
