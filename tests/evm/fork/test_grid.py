"""Calls × scenarios on a device give what the processor gives; rows that leave their path are the processor's."""

from __future__ import annotations

import pytest

from benchmarks.subjects.borrowers import open_borrowers
from mayavi import Fork
from mayavi.errors import CallReverted, UnknownName, UsageError
from mayavi.evm.devices import check_device_name
from mayavi.evm.fork.grid_totals import Measure
from mayavi.evm.words import Words
from tests.evm.assembler import assemble
from tests.evm.bytecode import word
from tests.evm.fork.view_batches import CONTRACT, X, fork_with
from tests.evm.native.devices import needs_device, without_device

DEVICES = ["emulated", pytest.param("cuda", marks=[pytest.mark.gpu, needs_device])]
# balance[x] · price, but x where the price is 7; the price is in slot 0, balances are in the slots of their numbers
VIEW = f"0 SLOAD DUP1 7 EQ @odd JUMPI {X} SLOAD MUL TIMESTAMP ADD 0 MSTORE 32 0 RETURN :odd {X} 0 MSTORE 32 0 RETURN"


def valued() -> Fork:
    """A contract of balances, a price of 3."""
    fork = fork_with(assemble(VIEW))
    fork.set_storage(CONTRACT, 0, 3)
    for account in range(1, 20):
        fork.set_storage(CONTRACT, account, 10**account)
    return fork


def by_processor(fork: Fork, calls: list[int], scenarios: list[tuple[int, int]]) -> list[int]:
    found: list[int] = []
    for price, now in scenarios:
        with fork.snapshot():
            fork.set_storage(CONTRACT, 0, price)
            fork.set_block(timestamp=now)
            found += fork.call_words(CONTRACT, bytes(32), {0: calls}, 1)[0].ints()
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_scenarios_change_slots_and_the_time(device: str) -> None:
    fork, calls = valued(), list(range(1, 20))
    grid = fork.grid(CONTRACT, bytes(32), {0: calls}, 1, [(CONTRACT, 0)], timestamp=True)
    assert grid.paths == 1
    scenarios = [(3, 1_000), (5, 2_000), (7, 3_000), (2**255 + 1, 4_000), *((9, now) for now in range(100))]
    (found,) = grid.run([[price for price, _ in scenarios], [now for _, now in scenarios]], device)
    assert found.ints() == by_processor(fork, calls, scenarios)
    assert fork.storage(CONTRACT, 0) == 3


def test_a_call_that_reads_a_changed_slot_by_its_number_is_the_processors() -> None:
    fork = valued()
    grid = fork.grid(CONTRACT, bytes(32), {0: [0, 1, 2]}, 1, [(CONTRACT, 0)], timestamp=True)
    (found,) = grid.run([[5, 6], [9, 9]], "emulated")
    assert found.ints() == by_processor(fork, [0, 1, 2], [(5, 9), (6, 9)])


def test_a_key_that_scenarios_change_is_the_processors() -> None:
    fork = fork_with(assemble(f"0 SLOAD {X} ADD SLOAD 0 MSTORE 32 0 RETURN"))
    for slot in range(1, 30):
        fork.set_storage(CONTRACT, slot, slot * slot)
    grid = fork.grid(CONTRACT, bytes(32), {0: [1, 2, 3]}, 1, [(CONTRACT, 0)])
    assert grid.paths == 0
    assert grid.run([[10, 20]], "emulated")[0].ints() == [121, 144, 169, 441, 484, 529]


@pytest.mark.parametrize("device", DEVICES)
def test_call_words_on_a_device(device: str) -> None:
    fork = valued()
    (found,) = fork.call_words(CONTRACT, word(0), {0: range(1, 20)}, 1, device=device)
    assert found.ints() == fork.call_words(CONTRACT, word(0), {0: range(1, 20)}, 1)[0].ints()


ODD = f"{X} 1 AND @odd JUMPI 0 0 REVERT :odd {X} 0 MSTORE 32 0 RETURN"


def test_a_call_that_fails_raises_or_gives_zeros() -> None:
    fork = fork_with(assemble(ODD))
    with pytest.raises(CallReverted):
        fork.call_words(CONTRACT, bytes(32), {0: range(10)}, 1, device="emulated")
    (found,) = fork.call_words(CONTRACT, bytes(32), {0: range(6)}, 1, device="emulated", check=False)
    assert found.ints() == [0, 1, 0, 3, 0, 5]


# after the selector: x & 3 words of output, the first of them x; one fails; x = 0 has none
LENGTHS = "4 CALLDATALOAD DUP1 13 EQ @bad JUMPI DUP1 0 MSTORE 3 AND 32 MUL 0 RETURN :bad 0 0 REVERT"


@pytest.mark.parametrize("device", DEVICES)
def test_call_many_on_a_device_gives_whole_outputs_of_any_length(device: str) -> None:
    fork = fork_with(assemble(LENGTHS))
    datas = [bytes(4) + word(x) for x in (5, 6, 9, 13, 7, 4, 5, 2**255 + 1)]
    expected = fork.call_many(CONTRACT, datas, check=False)
    assert fork.call_many(CONTRACT, datas, check=False, device=device) == expected
    assert [len(each or b"") for each in expected] == [32, 64, 32, 0, 96, 0, 32, 32]
    with pytest.raises(CallReverted, match="call 3 of 8"):
        fork.call_many(CONTRACT, datas, device=device)
    mixed = [datas[0], datas[1] + bytes(32)]
    assert fork.call_many(CONTRACT, mixed, device=device) == fork.call_many(CONTRACT, mixed)
    assert fork.call_many(CONTRACT, [], device=device) == []


LARGE = Measure(
    lambda builder, words: builder.pure(0x11, words[0], builder.constant(10**6)), lambda words: words[0] > 10**6
)
WHOLE = Measure(lambda builder, words: words[0], lambda words: words[0].array())


@pytest.mark.parametrize("device", [*DEVICES, None])
@pytest.mark.parametrize("first", [1, 0], ids=["all on a path", "one reads the price by its number"])
def test_totals_are_sums_over_calls(device: str | None, first: int) -> None:
    fork, calls = valued(), list(range(first, 20))
    grid = fork.grid(CONTRACT, bytes(32), {0: calls}, 1, [(CONTRACT, 0)], timestamp=True)
    scenarios = [(3, 1_000), (7, 3_000), (2**255 + 1, 4_000), *((9, now) for now in range(20))]
    large, whole = grid.totals(
        [LARGE, WHOLE], [[price for price, _ in scenarios], [now for _, now in scenarios]], device
    )
    for at, scenario in enumerate(scenarios):
        words = by_processor(fork, calls, [scenario])
        assert (large[at], whole[at]) == (sum(each > 10**6 for each in words), sum(words) % 2**256)
    if first:
        # the price of 7 has a path of its own, which was recorded as an extreme or is the processor's
        assert grid.left <= len(calls) if device else grid.left == len(calls) * len(scenarios)


def test_a_device_is_refused_if_specialised_execution_is_off() -> None:
    fork = valued()
    fork.specialise = "off"
    for read in (
        lambda: fork.call_words(CONTRACT, bytes(32), {0: [1]}, 1, device="emulated"),
        lambda: fork.call_many(CONTRACT, [word(1)], device="emulated"),
        lambda: fork.grid(CONTRACT, bytes(32), {0: [1]}, 1).totals([WHOLE], device="emulated"),
    ):
        with pytest.raises(UsageError, match="a device runs recorded paths, and specialise is off"):
            read()
    assert fork.grid(CONTRACT, bytes(32), {0: [2]}, 1).run(device=None)[0].ints() == [300 + fork.timestamp]


def test_mistakes_are_named() -> None:
    grid = valued().grid(CONTRACT, bytes(32), {0: [1]}, 1, [(CONTRACT, 0)])
    with pytest.raises(UsageError, match="scenarios have 0 columns, the grid wants 1"):
        grid.run()
    with pytest.raises(UnknownName, match="unknown device 'gpu'") as raised:
        grid.run([[1]], "gpu")
    assert raised.value.hint == "did you mean 'cuda'?  there are: cuda, cuda:1, …, emulated"
    for asked in (
        lambda: grid.run([[1]], "cpu"),
        lambda: grid.totals([WHOLE], [[1]], "cpu"),
        lambda: valued().call_many(CONTRACT, [word(1)], device="cpu"),
    ):
        with pytest.raises(UsageError, match="'cpu' is the processor, which is not a device here") as refused:
            asked()
        assert refused.value.hint == "take device=None for the processor; there are: cuda, cuda:1, …, emulated"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("GPU:1", "unknown device 'GPU:1'", "did you mean 'cuda'?  there are: auto, cpu, cuda, emulated"),
        ("emulator", "unknown device 'emulator'", "did you mean 'emulated'?"),
        ("cuda:x", "unknown device 'cuda:x'", "did you mean 'cuda'?"),
        ("cuda:1", "the device is 'cuda:1', and only the first GPU is taken", "CUDA_VISIBLE_DEVICES=1"),
        (None, "the device is None", "there are: auto, cpu, cuda, emulated"),
    ],
)
def test_names_of_devices_are_checked(name: str | None, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        check_device_name(name, ("auto", "cpu"), numbered=False)
    assert hint in str(raised.value.hint)
    for known in ("cuda", "cuda:12", "emulated"):
        check_device_name(known)


@without_device
def test_a_machine_without_a_driver_says_so() -> None:
    with pytest.raises(UsageError, match="no CUDA driver") as raised:
        valued().call_words(CONTRACT, bytes(32), {0: [1]}, 1, device="cuda")
    assert str(raised.value.hint).endswith("take device=None for the processor")
    for datas in ([word(1)], [bytes(4) + word(1), bytes(4) + word(2)]):
        with pytest.raises(UsageError, match="no CUDA driver"):
            valued().call_many(CONTRACT, datas, device="cuda")


@pytest.mark.parametrize("device", DEVICES)
def test_account_data_of_borrowers_on_price_paths(device: str) -> None:
    market, accounts = open_borrowers(30, leverage=6)
    fork, calldata = market.fork, market.pool.getUserAccountData.encode(bytes(20))
    slots = [(fork.address_of(f"Chainlink.{feed}"), 1) for feed in ("ETH/USD", "BTC/USD", "USDC/USD")]
    ether, bitcoin, dollar = (fork.storage(*slot) for slot in slots)
    now = fork.timestamp
    scenarios = [
        (ether, bitcoin, dollar, now),
        (ether // 3, bitcoin // 2, dollar, now + 3_600),
        (ether * 20, 1, dollar * 2, now + 10**7),
        (2**90, bitcoin, dollar, now),
    ]
    grid = fork.grid(market.pool.address, calldata, {4: accounts}, 6, slots, timestamp=True)
    found = grid.run([list(column) for column in zip(*scenarios, strict=True)], device)
    for at, (*prices, time) in enumerate(scenarios):
        with fork.snapshot():
            for (feed, slot), price in zip(slots, prices, strict=True):
                fork.set_storage(feed, slot, price)
            fork.set_block(timestamp=time)
            expected = fork.call_words(market.pool.address, calldata, {4: accounts}, 6)
        for one, other in zip(found, expected, strict=True):
            assert Words(one.words[30 * at : 30 * at + 30]).ints() == other.ints()
    factors = found[5].ints()
    assert any(factor < 10**18 for factor in factors[30:60])
