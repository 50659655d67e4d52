"""Paths of views that are kept between batches give what single calls give, whatever has changed meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mayavi import Fork
from mayavi.errors import ReplayDiffers, UsageError
from mayavi.evm.hashing import keccak256
from mayavi.evm.specialise import SPECIALISE
from tests.evm.assembler import assemble, returning
from tests.evm.bytecode import word
from tests.evm.fork.view_batches import CONTRACT, LIBRARY, OTHER, X

ENTRY = f"{X} 0 MSTORE 9 32 MSTORE 64 0 KECCAK256 SLOAD"
"""The calldata's entry in the mapping at slot 9."""
HEALTH = returning(f"{ENTRY} DUP1 1 SLOAD MUL 32 0 0 0 0x{LIBRARY.hex()} GAS STATICCALL POP 0 MLOAD ADD"
                   " SWAP1 1 AND @odd JUMPI 3 ADD 5 SLOAD ADD :odd TIMESTAMP ADD")  # fmt: skip
"""Balance times slot 1, the library's answer, three more for an even balance, and the time."""
ACCOUNTS = 300
BATCHES = 8


def entry(account: int) -> int:
    return int.from_bytes(keccak256(word(account) + word(9)), "big")


def world() -> Fork:
    """Many accounts with balances, frozen: every slot is one that nobody has written since."""
    fork = Fork.empty(hardfork="osaka")
    fork.set_block(number=1_000, timestamp=50_000)
    fork.set_code(CONTRACT, HEALTH)
    fork.set_code(LIBRARY, returning("2 SLOAD"))
    fork.set_storage(CONTRACT, 1, 7)
    fork.set_storage(LIBRARY, 2, 100)
    for account in range(ACCOUNTS):
        fork.set_storage(CONTRACT, entry(account), account * account + 5)
    return fork.frozen()


def read(fork: Fork, threads: int = 1) -> list[int]:
    return fork.call_words(CONTRACT, word(0), {0: np.arange(ACCOUNTS)}, 1, threads=threads)[0].ints()


def expected(fork: Fork) -> list[int]:
    return [int.from_bytes(fork.call(CONTRACT, word(account))) for account in range(ACCOUNTS)]


def warm(fork: Fork) -> None:
    """Read until the paths are machine code."""
    for _ in range(BATCHES):
        assert read(fork) == expected(fork)
        fork.finish_compiling()


def counts(fork: Fork) -> dict[str, Any]:
    (site,) = fork.statistics()
    return site


def test_later_batches_are_answered_by_code() -> None:
    fork = world()
    warm(fork)
    site = counts(fork)
    assert (site["calls"], site["paths"], site["compiled"]) == (BATCHES * ACCOUNTS, 2, 2)
    assert site["hits"] == site["calls"] - sum(site["misses"].values())
    before = site["native"]
    assert read(fork) == expected(fork)
    assert counts(fork)["native"] == before + ACCOUNTS


def test_what_calls_read_may_change() -> None:
    fork = world()
    warm(fork)
    fork.mine(5)
    for account in range(0, ACCOUNTS, 7):
        fork.set_storage(CONTRACT, entry(account), 2**200 + account)
    assert read(fork) == expected(fork)
    assert counts(fork)["resets"] == 0


@pytest.mark.parametrize("where", [(CONTRACT, 1), (LIBRARY, 2)])
def test_a_write_to_a_folded_slot_is_seen(where: tuple[bytes, int]) -> None:
    fork = world()
    warm(fork)
    fork.set_storage(*where, 11)
    assert read(fork) == expected(fork)
    assert counts(fork)["resets"] == 1
    warm(fork)
    fork.set_storage(*where, 12)  # from now on it is an input
    before = counts(fork)
    assert read(fork) == expected(fork)
    after = counts(fork)
    assert (after["resets"], after["native"] - before["native"]) == (1, ACCOUNTS)


def test_new_code_is_seen() -> None:
    fork = world()
    warm(fork)
    fork.set_code(LIBRARY, returning("2 SLOAD 1000 ADD"))
    warm(fork)
    assert counts(fork)["resets"] == 1
    fork.set_code(CONTRACT, returning(X))
    assert read(fork) == list(range(ACCOUNTS))


def test_forks_of_a_world_share_paths_and_see_their_own_state() -> None:
    fork = world()
    warm(fork)
    other = fork.copy()
    recorded = counts(fork)["recordings"]
    assert read(other) == expected(other)
    assert counts(other)["recordings"] == recorded
    other.set_storage(CONTRACT, 1, 8)
    other.set_code(LIBRARY, b"")
    for _ in range(3):
        assert read(other) == expected(other)
        assert read(fork) == expected(fork)


def test_snapshots_take_changes_back() -> None:
    fork = world()
    warm(fork)
    told = read(fork)
    with fork.snapshot():
        fork.set_storage(CONTRACT, 1, 9)
        fork.set_storage(CONTRACT, entry(3), 1)
        fork.mine(3)
        assert read(fork) == expected(fork) != told
    assert read(fork) == told


@pytest.mark.parametrize("seed", range(3))
def test_every_change_between_batches_is_seen(seed: int) -> None:
    """What a call read in the batch before is read again if it was written meanwhile, or taken back."""
    fork = world()
    told = fork.copy()
    told.specialise = "off"
    warm(fork)
    rng = random.Random(seed)

    def agree() -> None:
        assert read(fork) == read(told)

    def write(accounts: int) -> None:
        for _ in range(accounts):
            account, value = rng.randrange(ACCOUNTS), rng.choice([0, rng.getrandbits(40), rng.getrandbits(200)])
            for each in (fork, told):
                each.set_storage(CONTRACT, entry(account), value)

    def take_back() -> None:
        with fork.snapshot(), told.snapshot():
            write(rng.randrange(9))
            agree()
            write(rng.randrange(9))
        agree()

    def look_elsewhere() -> None:
        twin = fork.copy()
        twin.set_storage(CONTRACT, entry(rng.randrange(ACCOUNTS)), rng.getrandbits(64))
        assert read(twin) == expected(twin)

    def wait() -> None:
        for each in (fork, told):
            each.mine(1, 12)

    changes: list[Callable[[], object]] = [
        lambda: write(rng.randrange(4)),
        take_back,
        look_elsewhere,
        wait,
        lambda: write(6_000),
    ]
    for _ in range(40):
        rng.choices(changes, [8, 4, 2, 4, 0.5])[0]()
        agree()
    for each in (fork, told):
        each.set_code(LIBRARY, returning("2 SLOAD 1000 ADD"))
    agree()
    assert counts(fork)["native"] > 20 * ACCOUNTS


def test_wider_values_than_seen_are_answered_too() -> None:
    fork = world()
    warm(fork)
    for account in range(ACCOUNTS):
        fork.set_storage(CONTRACT, entry(account), 2**256 - 1 - account)
    for _ in range(2 * BATCHES):
        assert read(fork) == expected(fork)
        fork.finish_compiling()
    before = counts(fork)["native"]
    assert read(fork) == expected(fork)
    assert counts(fork)["native"] == before + ACCOUNTS


@pytest.mark.parametrize("mode", ["off", "on", "check"])
def test_every_mode_and_number_of_threads_gives_the_same(mode: str) -> None:
    fork = world()
    fork.specialise = mode
    assert fork.copy().specialise == mode
    accounts = np.arange(6_000) % ACCOUNTS
    single = expected(fork)
    for threads in (1, 2, 1, 2):
        (column,) = fork.call_words(CONTRACT, word(0), {0: accounts}, 1, threads=threads)
        assert column.ints() == [single[account] for account in accounts]
        fork.finish_compiling()
    assert bool(fork.statistics()) == (mode != "off")


def test_a_lost_guard_is_found() -> None:
    fork = world()
    fork.specialise = "check"
    fork._evm.seed_fault()
    with pytest.raises(ReplayDiffers, match="differs from the interpreted one"):
        warm(fork)


def test_the_environment_variable_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Fork.empty().specialise == "on"
    monkeypatch.setenv(SPECIALISE, "off")
    assert Fork.empty().specialise == "off"
    monkeypatch.setenv(SPECIALISE, "fast")
    with pytest.raises(UsageError, match="MAYAVI_SPECIALISE is 'fast'"):
        Fork.empty()


def test_a_view_that_is_not_modelled_stays_right() -> None:
    fork = Fork.empty(hardfork="osaka")
    fork.set_code(CONTRACT, returning(f"{X} BALANCE GAS 1 LT ADD"))
    fork.set_balance(OTHER, 5)
    places = [int.from_bytes(OTHER, "big"), *range(50)]
    for _ in range(3):
        (column,) = fork.call_words(CONTRACT, word(0), {0: places}, 1)
        assert column.ints() == [6, *[1] * 50]


def test_failed_calls_fail_as_before() -> None:
    fork = Fork.empty(hardfork="osaka")
    fork.set_code(CONTRACT, assemble(f"{X} 3 AND @fails JUMPI {X} 0 MSTORE 32 0 RETURN :fails 0 0 REVERT"))
    for _ in range(3):
        (column,) = fork.call_words(CONTRACT, word(0), {0: range(200)}, 1, check=False)
        assert column.ints() == [each if not each & 3 else 0 for each in range(200)]


FIRST = "4 CALLDATALOAD 0 MSTORE 9 32 MSTORE 64 0 KECCAK256 SLOAD"
"""The entry of the first argument in the mapping at slot 9."""


@pytest.mark.parametrize(("rounds", "by_code"), [(0, 0), (40, 1)], ids=["short", "long"])
def test_a_single_call_goes_through_code_only_if_its_site_is_long(rounds: int, by_code: int) -> None:
    fork = world()
    fork.set_code(CONTRACT, returning(FIRST + " 4 CALLDATALOAD XOR DUP1 MUL 3 ADD" * rounds))
    selector, told = b"\1\2\3\4", fork.copy()
    told.specialise = "off"
    for _ in range(BATCHES):
        fork.call_words(CONTRACT, selector + word(0), {4: np.arange(ACCOUNTS)}, 1)
        fork.finish_compiling()
    before = counts(fork)
    data = selector + word(8)
    assert fork.call(CONTRACT, data) == told.call(CONTRACT, data)
    after = counts(fork)
    assert (after["hits"] - before["hits"], after["native"] - before["native"]) == (1, by_code)


def test_outputs_keep_their_order_whichever_way_they_were_found() -> None:
    fork = world()
    fork.set_code(CONTRACT, assemble(f"{X} 7 SWAP1 MOD @fine JUMPI 0 0 REVERT :fine {ENTRY} 0 MSTORE 32 0 RETURN"))
    warm_ones = [account for account in range(ACCOUNTS) if account % 7]
    for _ in range(BATCHES):
        fork.call_words(CONTRACT, word(0), {0: warm_ones}, 1)
        fork.finish_compiling()
    mixed = [5, 14, ACCOUNTS + 1, 6, 7, 2**200, 5, 1]  # known, failing and new ones
    expected = [None if account % 7 == 0 else fork.call(CONTRACT, word(account)) for account in mixed]
    assert fork.call_many(CONTRACT, [*map(word, mixed)], check=False) == expected
    (read,) = fork.call_words(CONTRACT, word(0), {0: mixed * 3}, 1, check=False)
    assert read.ints() == [int.from_bytes(each or b"") for each in expected] * 3
    with pytest.raises(UsageError, match=r"call 0 of 24 of .* returns 32 bytes, not 2 words"):
        fork.call_words(CONTRACT, word(0), {0: mixed * 3}, 2, check=False)
