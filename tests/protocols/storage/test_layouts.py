"""Storage layouts unpack the words of real contracts to what their own views answer."""

from __future__ import annotations

from pathlib import Path

from mayavi.evm.hashing import keccak256
from mayavi.protocols.storage.compound import COMET
from mayavi.protocols.storage.layout import Layout
from mayavi.protocols.storage.packed_word import unpack
from mayavi.protocols.storage.uniswap import V3_POOL, tick_slots
from mayavi.validation.contracts.comet_driver import PRICES, USERS
from mayavi.validation.contracts.comet_markets import (
    DEPLOYER,
    MARKET,
    calldata,
    real_code,
    real_market,
    real_parameters,
)
from mayavi.worlds import open_world

POOL = "UniswapV3.WETH/USDC.500"
LENDER, BORROWER = USERS[:2]


def values(layout: Layout, name: str, word: int) -> list[int]:
    fields = layout.word(name)
    assert fields is not None
    return list(unpack(fields, word).values())


def entry(base: int, *keys: bytes) -> int:
    """Slot of an entry of a mapping, or of a mapping in it."""
    place = base.to_bytes(32)
    for key in keys:
        place = keccak256(key.rjust(32, b"\0") + place)
    return int.from_bytes(place)


def test_a_uniswap_pool() -> None:
    fork = open_world("base").copy()
    pool = fork.contract(
        POOL,
        [
            "slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)",
            "observations(uint256) view returns (uint32, int56, uint160, bool)",
            "ticks(int24) view returns (uint128, int128, uint256, uint256, int56, uint160, uint32, bool)",
            "liquidity() view returns (uint128)",
        ],
    )
    price, tick, *rest = pool.slot0()
    assert values(V3_POOL, "slot0", fork.storage(POOL, 0)) == [price, tick, *map(int, rest)]
    assert values(V3_POOL, "liquidity", fork.storage(POOL, 4)) == [pool.liquidity()] != [0]
    assert values(V3_POOL, "observations[0]", fork.storage(POOL, 8)) == list(map(int, pool.observations(0)))
    spacing = 10
    start = tick - tick % spacing
    found = next(each for each in range(start, start - 100_000, -spacing) if pool.ticks(each)[0])
    gross, net, fees0, fees1, *outside = pool.ticks(found)
    slots = {name: fork.storage(POOL, slot) for slot, name in tick_slots([found]).items()}
    shown = [values(V3_POOL, name, word) for name, word in slots.items()]
    assert shown == [[gross, net], [fees0], [fees1], list(map(int, outside))]
    assert net


def test_a_comet_market_of_mainnet(cases: Path) -> None:
    code = real_code(cases)
    parameters = real_parameters(code)
    market = real_market(code, parameters, PRICES)
    base, collateral = parameters.base_token, parameters.assets[2].address

    def send(text: str, *arguments: object, sender: bytes, to: bytes = MARKET) -> None:
        assert market.send(calldata(text, *arguments), sender, to).result == "success", text

    for token, holder, amount in ((base, LENDER, 10**13), (collateral, BORROWER, 10**20)):
        send("mint(address,uint256)", holder, amount, sender=DEPLOYER, to=token)
        send("approve(address,uint256)", MARKET, 2**256 - 1, sender=holder, to=token)
        send("supply(address,uint256)", token, amount, sender=holder)
    send("withdraw(address,uint256)", base, 5_000 * 10**6, sender=BORROWER)
    market.fork.mine(1, 10**6)
    for account in (LENDER, BORROWER):
        send("accrueAccount(address)", account, sender=LENDER)
    send("allow(address,bool)", LENDER, True, sender=BORROWER)
    totals = market.view("totalsBasic()(uint64,uint64,uint64,uint64,uint104,uint104,uint40,uint8)")
    words = [market.fork.storage(MARKET, slot) for slot in (0, 1)]
    assert values(COMET, "indexes", words[0]) + values(COMET, "totals", words[1]) == list(totals)
    lent, owed = (
        market.view("userBasic(address)(int104,uint64,uint64,uint16,uint8)", user) for user in (LENDER, BORROWER)
    )
    assert owed[0] < 0 < lent[0]
    assert lent[2] > 0, "the lender earned rewards"

    def stored(base_slot: int, *keys: bytes) -> list[int]:
        word = market.fork.storage(MARKET, entry(base_slot, *keys))
        return values(COMET, COMET.mappings[base_slot] + "[0x12]" * len(keys), word)

    assert stored(5, LENDER) == list(lent[:4])
    assert stored(5, BORROWER) == list(owed[:4])
    assert stored(6, BORROWER, collateral) == [10**20]
    assert stored(2, collateral) == [10**20]
    assert stored(3, BORROWER, LENDER) == [1]
