"""Our StableSwap contracts against Curve's 3pool, a later two-coin pool, and a Python model.

The 3pool comes from recorded mainnet blocks and runs beside ours on the same tokens (USDT with its real code, which can
charge for transfers). Every operation runs on all pools, which must agree on everything visible.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mayavi.replay.case import read_bytecodes
from mayavi.validation.contracts.stableswap_operations import (
    KINDS,
    DifferenceError,
    Pool,
    compare,
    compare_answers,
    run_episodes,
)
from mayavi.validation.contracts.stableswap_pools import (
    ACCOUNTS,
    LP_TOKEN,
    POOL_CODE,
    EvmPool,
    Operation,
    OurPool,
    RealPool,
    RealTwoCoinPool,
    Situation,
)
from mayavi.worlds.artifacts import ArtifactStore
from tests.contracts.stableswap_model_pool import ModelPool
from tests.evm.assembler import assemble

SEED = 20_200_906
THREE, TWO = (18, 6, 6), (18, 6)
Tally = Counter[tuple[str, bool]]


@pytest.fixture(scope="session")
def codes(cases: Path) -> dict[str, bytes]:
    return read_bytecodes(cases / "mainnet" / "blocks")


@pytest.fixture(scope="session")
def artifacts() -> ArtifactStore:
    return ArtifactStore()


def three_coins(count: int, codes: dict[str, bytes], artifacts: ArtifactStore) -> Tally:
    def make(situation: Situation) -> tuple[EvmPool, Sequence[Pool]]:
        return RealPool(situation, codes, artifacts), [OurPool(situation, codes, artifacts), ModelPool(situation)]

    return run_episodes(SEED, count, THREE, make)


def two_coins(count: int, codes: dict[str, bytes], artifacts: ArtifactStore) -> Tally:
    def make(situation: Situation) -> tuple[EvmPool, Sequence[Pool]]:
        return OurPool(situation, codes, artifacts), [ModelPool(situation)]

    return run_episodes(SEED, count, TWO, make, measured=lambda episode: episode % 2 == 0)


@pytest.mark.slow(1)
def test_three_coins_are_the_3pool_in_300_operations(codes: dict[str, bytes], artifacts: ArtifactStore) -> None:
    assert three_coins(300, codes, artifacts).total() == 300


@pytest.mark.slow(20)
def test_three_coins_are_the_3pool_in_5000_operations(codes: dict[str, bytes], artifacts: ArtifactStore) -> None:
    """Return values, balances, LP tokens, events, virtual price, administration and reverts."""
    tally = three_coins(5_000, codes, artifacts)
    assert tally.total() == 5_000
    assert_every_kind_was_tried(tally)


@pytest.mark.slow(1)
def test_two_coins_are_the_model_in_300_operations(codes: dict[str, bytes], artifacts: ArtifactStore) -> None:
    """The model replaces missing bytecode; with three coins it is verified against the 3pool above."""
    assert two_coins(300, codes, artifacts).total() == 300


@pytest.mark.slow(15)
def test_two_coins_are_the_model_in_5000_operations(codes: dict[str, bytes], artifacts: ArtifactStore) -> None:
    tally = two_coins(5_000, codes, artifacts)
    assert tally.total() == 5_000
    assert_every_kind_was_tried(tally)


def assert_every_kind_was_tried(tally: Tally) -> None:
    assert {kind for kind in KINDS if not tally[kind, True]} == set(), "never went through"
    assert {kind for kind in KINDS if not tally[kind, False]} == set(), "never reverted"


# -- the comparison can fail -------------------------------------------------------------------------------------------


@pytest.mark.slow(0.5)
@pytest.mark.parametrize(
    "change",
    [
        {"fee": Situation.fee + 1},
        {"admin_fee": Situation.admin_fee + 1},
        {"amp": Situation.amp + 1},
        {"measured": False},
        {"kill_deadline": Situation.now},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_parameter_is_detected(
    change: dict[str, Any], codes: dict[str, bytes], artifacts: ArtifactStore
) -> None:
    def make(situation: Situation) -> tuple[EvmPool, Sequence[Pool]]:
        usual = Situation()
        return RealPool(usual, codes, artifacts), [OurPool(replace(usual, **change), codes, artifacts)]

    with pytest.raises(DifferenceError):
        run_episodes(SEED, 1_000, THREE, make)


@pytest.mark.parametrize("change", [{"fee": Situation.fee + 1}, {"amp": Situation.amp + 1}], ids=["fee", "amp"])
def test_a_changed_parameter_of_two_coins_is_detected(
    change: dict[str, int], codes: dict[str, bytes], artifacts: ArtifactStore
) -> None:
    def make(situation: Situation) -> tuple[EvmPool, Sequence[Pool]]:
        usual = Situation(decimals=TWO)
        return OurPool(replace(usual, **change), codes, artifacts), [ModelPool(usual)]

    with pytest.raises(DifferenceError):
        run_episodes(SEED, 1_000, TWO, make)


def test_the_pool_under_test_is_the_recorded_one(codes: dict[str, bytes]) -> None:
    assert len(codes[POOL_CODE]) == 21_199


# -- what the chain itself answered ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RealPool, OurPool])
def test_the_chains_own_quotes_are_exact(
    kind: type[EvmPool], cases: Path, codes: dict[str, bytes], artifacts: ArtifactStore
) -> None:
    """18 answers of `get_dy` and the virtual price of the 3pool at block 24,407,242."""
    folder = cases / "mainnet" / "quotes"
    state = json.loads((folder / "curve_tripool_block_24407242.json").read_text())
    entries = json.loads((folder / "curve_tripool_get_dy.json").read_text())["entries"]
    situation = Situation(
        amp=state["a_coefficient"], fee=state["fee"], admin_fee=state["admin_fee"], now=state["block_timestamp"]
    )
    pool = pool_holding(kind(situation, codes, artifacts), state["balances"])
    symbols = [token["symbol"] for token in state["tokens"]]
    answers = {}
    for key in entries:
        _, _, pair, dx = key.split("|")
        i, j = map(symbols.index, pair.split("->"))
        answers[key] = {"value": pool.ask("get_dy", i, j, int(dx))}
    assert len(entries) == 18
    assert answers == entries
    pool.fork.deal(LP_TOKEN, ACCOUNTS["alice"], state["lp_token_total_supply"])
    assert pool.ask("get_virtual_price") == state["virtual_price"]


def pool_holding(pool: EvmPool, balances: Sequence[int]) -> EvmPool:
    """Return `pool` after a first deposit of exactly `balances` by alice."""
    for i, amount in enumerate(balances):
        pool.apply(Operation("hold", "alice", (i, amount)))
    assert pool.apply(Operation("add_liquidity", "alice", (tuple(balances), 0))).success
    return pool


# -- a two-coin pool of a later family ---------------------------------------------------------------------------------


def test_two_coins_agree_with_a_later_two_coin_pool_to_the_last_digits(
    codes: dict[str, bytes], artifacts: ArtifactStore
) -> None:
    """The pool behind crvUSD/USDC rounds D at another place, so the last digits may differ."""
    situation = Situation(decimals=TWO, amp=500, measured=False)
    balances = (17_267_000 * 10**18, 3_792_000 * 10**6)
    ours, real = (pool_holding(kind(situation, codes, artifacts), balances) for kind in (OurPool, RealTwoCoinPool))
    operations = [
        Operation("hold", "bob", (0, 10**25)),
        Operation("hold", "bob", (1, 10**13)),
        *(Operation("exchange", "bob", (0, 1, 10**k, 0)) for k in range(18, 25)),
        *(Operation("exchange", "bob", (1, 0, 10**k, 0)) for k in range(6, 13)),
        *(Operation("add_liquidity", "bob", (amounts, 0)) for amounts in [(10**22, 0), (0, 10**11), (10**21, 10**9)]),
        *(Operation("remove_liquidity_one_coin", "bob", (10**21, k, 0)) for k in (0, 1)),
        Operation("remove_liquidity_imbalance", "bob", ((10**20, 10**9), 2**255)),
        Operation("remove_liquidity", "bob", (10**21, (0, 0))),
    ]
    for operation in operations:
        assert ours.apply(operation).success
        assert real.apply(operation).success
        seen = ours.observe()
        for name, value in real.observe().items():
            if value is None:  # balances of a third coin
                assert seen[name] is None
            else:
                assert abs(seen[name] - value) <= 10, f"{operation}: {name}"


# -- single rules, readable --------------------------------------------------------------------------------------------


@pytest.fixture
def pair(codes: dict[str, bytes], artifacts: ArtifactStore) -> tuple[EvmPool, EvmPool]:
    """Return the 3pool and ours, each with a million of every coin."""
    balances = [10**6 * 10**decimals for decimals in THREE]
    real, ours = (pool_holding(kind(Situation(), codes, artifacts), balances) for kind in (RealPool, OurPool))
    for user in ("bob", "owner"):
        for i in range(3):
            for pool in (real, ours):
                pool.apply(Operation("hold", user, (i, 10**30)))
    return real, ours


def test_a_fee_that_usdt_takes_is_not_credited(pair: tuple[EvmPool, EvmPool]) -> None:
    real, ours = pair
    assert compare(Operation("tether_fee", "tether", (19, 49)), real, [ours])
    before = real.observe()["balances 2"]
    assert compare(Operation("exchange", "bob", (2, 0, 10**9, 0)), real, [ours])
    assert real.observe()["balances 2"] - before == 10**9 - 10**9 * 19 // 10_000


@pytest.mark.parametrize("dx", [2**256 // 10**30, 2**256 // 10**30 + 1, 2**256 // 10**12, 2**256 - 1])
def test_quotes_overflow_at_the_same_size(pair: tuple[EvmPool, EvmPool], dx: int) -> None:
    real, ours = pair
    for i, j in [(0, 1), (1, 2), (2, 0)]:
        for quote in ("get_dy", "get_dy_underlying"):
            compare_answers((quote, i, j, dx), real, [ours])


def test_a_killed_pool_gives_back_in_proportion_and_does_nothing_else(pair: tuple[EvmPool, EvmPool]) -> None:
    real, ours = pair
    assert compare(Operation("kill_me", "owner", ()), real, [ours])
    for name, args in [
        ("exchange", (0, 1, 10**18, 0)),
        ("add_liquidity", ((10**18, 10**6, 10**6), 0)),
        ("remove_liquidity_one_coin", (10**18, 0, 0)),
        ("remove_liquidity_imbalance", ((10**18, 0, 0), 2**255)),
    ]:
        assert not compare(Operation(name, "alice", args), real, [ours])
    assert compare(Operation("remove_liquidity", "alice", (10**18, (0, 0, 0))), real, [ours])


MILLION = 10**6
TRADES: dict[str, Operation] = {
    "exchange": Operation("exchange", "bob", (0, 1, MILLION, 0)),
    "exchange the other way": Operation("exchange", "bob", (1, 0, MILLION, 0)),
    "add_liquidity": Operation("add_liquidity", "alice", ((10**18, 0, 0), 0)),
    "remove_liquidity": Operation("remove_liquidity", "alice", (10**18, (0, 0, 0))),
    "remove_liquidity_imbalance": Operation("remove_liquidity_imbalance", "alice", ((10**18, 0, 0), 2**255)),
    "remove_liquidity_one_coin": Operation("remove_liquidity_one_coin", "alice", (10**18, 0, 0)),
}


@pytest.mark.parametrize("outer", TRADES.values(), ids=TRADES)
def test_a_coin_that_calls_back_finds_every_trade_locked(pair: tuple[EvmPool, EvmPool], outer: Operation) -> None:
    """Coin 0 is replaced by one that trades with the pool during transfers, and holds LP tokens for it."""
    for pool in pair:
        pool.fork.deal(LP_TOKEN, pool.coins[0], 10**19)
    assert came_back(pair, outer, Operation("get_virtual_price", "", ())) == [True, True]
    for inner in TRADES.values():
        assert came_back(pair, outer, inner) == [False, False], inner


def came_back(pair: tuple[EvmPool, EvmPool], outer: Operation, inner: Operation) -> list[bool]:
    """Whether coin 0's call within `outer` succeeded, in each pool; `outer` itself must."""
    found = []
    for pool in pair:
        with pool.fork.snapshot():
            coin = pool.coins[0]
            pool.fork.set_code(coin, calling_back(pool.calldata(inner)))
            for slot in (0, 1):
                pool.fork.set_storage(coin, slot, 0)
            assert pool.apply(outer).success
            assert pool.fork.storage(coin, 0) == 1, "the coin was not moved"
            found.append(pool.fork.storage(coin, 1) == 1)
    return found


def calling_back(data: bytes) -> bytes:
    """Return a token that accepts everything and calls its caller once; slot 1 records the success."""
    words = [data[at : at + 32].ljust(32, b"\0") for at in range(0, len(data), 32)]
    written = " ".join(f"0x{word.hex()} {32 * index} MSTORE" for index, word in enumerate(words))
    call = f"1 0 SSTORE {written} 0 0 {len(data)} 0 0 CALLER GAS CALL 1 SSTORE"
    return assemble(f"0 SLOAD @again JUMPI {call} :again 1 0 MSTORE 32 0 RETURN")
