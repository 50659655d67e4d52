"""Single mainnet transactions, replayed in their place: exact, decoded, and with changed inputs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from mayavi.errors import MissingStateError, UsageError
from mayavi.evm.address import checksum
from mayavi.evm.receipt import CallFrame
from mayavi.replay.case import read_block_json
from mayavi.replay.transactions.decoding import signature_book
from mayavi.replay.transactions.outcome_difference import OutcomeDifference, outcome_differences
from mayavi.replay.transactions.token_flows import Holding, net_flows, token_transfers
from mayavi.replay.transactions.trace_view import TraceView
from mayavi.replay.transactions.transaction import TransactionReplay, replay_from_case
from mayavi.replay.transactions.what_if import run_what_if

CURVE = "536fca86ab22ed2d41a7e6a910e28e16fe05fde52c3fc392de4a905d02270793"
"""Exchange of USDC for ether over Curve's 3pool and tricrypto2, in block 17,666,333."""
COMET = "b58ee66d2bca9f591fa79208f20dc8b2bf9613d8a36365638cd1a5608d8cab74"
"""Permission given on Compound's cUSDCv3, in block 19,932,703."""
UNIVERSAL = "dc16f811a017bb028e8f5e20806f8588d9ac98b9024adc2666086cc9d45d0fe1"
"""Five Uniswap V3 swaps by the universal router, in block 18,988,207."""
SANDWICH = "81adad691deb51fe0137833aa0ede53106934b9894f2877dc831b3d41083460b"
"""Swaps of a bot with an access list, the first transaction of block 18,988,207."""
SWAPS = {
    UNIVERSAL: 5,
    "e4131071ecd7da3de7ece7ea6b53bd69965e311192837d89615778871fd5a66e": 1,
    "ad63e24d2252dece4ba9e8f972c2e10cf744b83639513ca74d2bc13181003cba": 1,
    "66f310ab0e457676c6ddbb14496c1e93886e7edbee415495b15c36ae67ee6293": 1,
    "faa2c4fb6543dac3efbfa69ba19c7100fae056143dc5d01d4cd7994a6361d31d": 1,
}
"""Transactions of block 18,988,207 and their number of Uniswap swaps."""
BLOBS = 19_933_122
"""Block with a blob transaction."""
USDC = bytes.fromhex("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")
WETH = bytes.fromhex("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2")
SENDER = bytes.fromhex("9aef7c447f6bc8d010b22aff52d5b67785ed942c")
ROUTER = "0x99a58482BD75cbab83b27EC03CA68fF489b5788f"


@cache
def replayed(folder: Path, name: str) -> TransactionReplay:
    return replay_from_case(folder, bytes.fromhex(name))


@pytest.fixture(scope="module")
def blocks(cases: Path) -> Path:
    return cases / "mainnet" / "blocks"


def functions(call: CallFrame | None, view: TraceView) -> list[str]:
    decoded = [view.book.call(frame) for frame in (call.walk() if call else ())]
    return [each.function.name for each in decoded if each]


def gas_of(call: CallFrame | None, name: str) -> int:
    decoded = [(frame, signature_book().call(frame)) for frame in (call.walk() if call else ())]
    return sum(frame.gas_used for frame, each in decoded if each and each.function.name == name)


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("name", SWAPS)
def test_uniswap_swaps_are_exact_and_their_calls_named(blocks: Path, name: str) -> None:
    replay = replayed(blocks, name)
    assert replay.difference is None
    assert replay.expected is not None
    assert replay.outcome.gas_used == replay.expected.gas_used
    assert replay.notes == []
    view = TraceView(replay)
    assert functions(replay.outcome.call, view).count("swap") == SWAPS[name]
    swaps = [line for line in view.event_lines(replay.outcome) if "Swap(" in line]
    assert len(swaps) == SWAPS[name]


@pytest.mark.slow
def test_a_curve_exchange_shows_calls_transfers_balances_and_slots(blocks: Path) -> None:
    replay = replayed(blocks, CURVE)
    view = TraceView(replay)
    assert replay.difference is None
    assert view.verdict() == "status, gas and 8 logs equal the chain's"
    called = functions(replay.outcome.call, view)
    assert called[0] == "exchange_multiple"
    assert called.count("exchange") == 2
    calls = "\n".join(view.call_lines(replay.outcome))
    assert "Curve.3pool.exchange(i: 1, j: 2, dx: 10,744,968,379, min_dy: 0)" in calls
    assert "10,744.968379 USDC  sender → 0x99a5…788f" in view.transfer_lines(replay.outcome)
    assert "sender  -10,744.968379 USDC" in view.balance_lines(replay.outcome)
    slots = "\n".join(view.storage_lines(replay.outcome))
    assert "balance of sender (0x5527d3…da93): 10,744.968379 USDC → 0 USDC" in slots
    assert "allowance of sender to 0x99a5…788f (0x52758d…631e): 10,744.968379 USDC → 0 USDC" in slots
    assert "balances[1] (0xb10e2d…0cf7): 104,224,381,672,927 → 104,235,126,641,306" in slots
    assert "unlimited less 988,710,772.341872 USDC → unlimited less" in slots
    assert "precompile" not in calls
    assert "identity" in next(line for line in calls.splitlines() if "Curve.3pool.exchange" in line)
    assert not any(line.strip().startswith("STATICCALL identity") for line in calls.splitlines())


@pytest.mark.slow(0.6)
def test_native_balances_add_up_to_the_burned_fee(blocks: Path) -> None:
    replay = replayed(blocks, CURVE)
    changes = [each.after - each.before for each in replay.outcome.changes if each.field == "balance"]
    base_fee = replay.block.header.base_fee
    assert base_fee is not None
    assert -sum(changes) == replay.outcome.gas_used * base_fee


@pytest.mark.slow(0.5)
def test_a_comet_permission_is_named_in_call_and_slot(blocks: Path) -> None:
    replay = replayed(blocks, COMET)
    view = TraceView(replay)
    assert replay.difference is None
    assert functions(replay.outcome.call, view) == ["allow"] * 3
    (line,) = [line for line in view.storage_lines(replay.outcome) if "isAllowed" in line]
    assert line.strip() == "isAllowed[sender][0xa397…00c7] (0xbfe11d…d1da): false → true"


@pytest.mark.slow(0.5)
def test_pool_slots_are_named_and_unpacked_by_their_layout(blocks: Path) -> None:
    lines = TraceView(replayed(blocks, UNIVERSAL)).storage_lines(replayed(blocks, UNIVERSAL).outcome)
    shown = [line.strip() for line in lines]
    for text in (
        "slot0 (0x0): sqrtPriceX96 4,037,122,994,909,428,373,020,429 → 4,036,942,954,977,584,037,486,573,"
        " tick -197,701 → -197,702, observationIndex 44 → 45",
        "liquidity (0x4): 53,064,720,628,301,269,866 → 10,903,516,177,996,592,858",
        "feeGrowthGlobal1X128 (0x2): 3652.21699 → 3652.21722",
    ):
        assert text in shown
    (observation,) = [line for line in shown if line.startswith("observations[45]")]
    assert (
        "blockTimestamp 2024-01-11 21:37:35 → 2024-01-12 03:42:23, tickCumulative -16,945,763,539,207 →" in observation
    )
    assert any(line.startswith("ticks[-120960].outside") and "seconds 0 → 1,705,030,943" in line for line in shown)
    assert not [line for line in shown if ": 0x" in line], "nothing is left in hex"


@pytest.mark.slow(0.4)
def test_unpacked_prices_and_ticks_are_those_of_the_swap_events(blocks: Path) -> None:
    replay = replayed(blocks, UNIVERSAL)
    view = TraceView(replay)
    stored = {
        each["contract"]: each["fields"]
        for each in view.outcome_json(replay.outcome)["storage"]
        if each["slot"] == "0x0"
    }
    events = [(log.address, view.book.event(log)) for log in replay.outcome.logs]
    swaps = {checksum(address): event.args for address, event in events if event and event.name == "Swap"}
    assert len(swaps) == 5
    for pool, swap in swaps.items():
        assert int(stored[pool]["sqrtPriceX96"]["after"]) == swap.sqrtPriceX96
        if "tick" in stored[pool]:
            assert int(stored[pool]["tick"]["after"]) == swap.tick


def test_slots_of_a_pool_of_volatile_coins_agree_with_its_calls(blocks: Path) -> None:
    replay = replayed(blocks, CURVE)
    view = TraceView(replay)
    slots = {
        line.split(" (")[0].strip(): line.split("): ")[1]
        for line in view.storage_lines(replay.outcome)
        if "): " in line
    }
    (found,) = [
        view.book.call(frame)
        for frame in (replay.outcome.call.walk() if replay.outcome.call else ())
        if (call := view.book.call(frame)) and call.function.name == "newton_D"
    ]
    assert found is not None
    assert slots["D"].endswith(f" → {found.returned:,}")
    assert slots["last_prices_timestamp"].endswith("2023-07-10 22:50:11")
    assert slots["balances[2]"].startswith("24,667,343,163,367,441,035,060 →")
    assert any("ExchangeMultiple(buyer: sender" in line for line in view.event_lines(replay.outcome))


def test_commands_of_the_universal_router_are_named(blocks: Path) -> None:
    replay = replayed(blocks, UNIVERSAL)
    first = TraceView(replay).call_lines(replay.outcome)[0]
    assert "execute(commands: [WRAP_ETH, 3 × V3_SWAP_EXACT_OUT, UNWRAP_WETH], inputs: [" in first


def test_the_trace_of_an_access_list_has_the_gas_of_the_receipt(blocks: Path) -> None:
    replay = replayed(blocks, SANDWICH)
    assert replay.difference is None
    assert replay.outcome.gas_used == 394_728
    assert replay.notes == []
    assert replay.outcome.call is not None
    total = replay.outcome.call.gas_used + replay.outcome.gas_before_calls - replay.outcome.gas_refunded
    assert total == replay.outcome.gas_used
    assert TraceView(replay).call_lines(replay.outcome)[-1].startswith("gas 394,728 = ")


@pytest.mark.slow(0.5)
def test_a_blob_transaction_is_traced_with_the_gas_of_the_receipt_and_its_sender_pays_for_blobs(blocks: Path) -> None:
    (name,) = [each["hash"] for each in read_block_json(blocks, BLOBS)["transactions"] if each["type"] == "0x3"]
    replay = replayed(blocks, name[2:])
    assert (replay.difference, replay.notes) == (None, [])
    paid = {each.address: each.before - each.after for each in replay.outcome.changes if each.field == "balance"}
    assert paid[replay.transaction.sender] - replay.transaction.value > TraceView(replay).fee_wei, (
        "blob gas is not free"
    )


def test_the_least_price_of_calldata_is_named(blocks: Path) -> None:
    outcome = replayed(blocks, CURVE).outcome
    assert not outcome.is_at_floor
    floor = replace(outcome, gas_used=500_000)
    assert floor.is_at_floor
    line = TraceView(replayed(blocks, CURVE)).call_lines(floor)[-1]
    assert line.startswith("gas 500,000: the least that its calldata costs; it spent 467,559 in calls + 25,936")


def test_ten_times_the_amount_gets_less_than_ten_times_the_ether(blocks: Path) -> None:
    """The figures of docs/how-to/replay-history.md."""
    replay = replayed(blocks, CURVE)
    tried = run_what_if(
        replay,
        [
            "balance.USDC.sender=107449683790",
            f"call.USDC=approve(address,uint256) {ROUTER} 107449683790 from sender",
            "arg._amount=107_449_683_790",
        ],
    )
    assert tried.changed.success
    gained = {each.address: each.after - each.before for each in tried.changed.changes if each.field == "balance"}
    assert gained[WETH] == -57_279_470_999_499_763_319
    assert gained[SENDER] == 57_272_691_303_958_271_903, "less the fee"
    flows = net_flows(token_transfers(tried.changed.logs))
    assert flows[Holding(SENDER, USDC)] == -107_449_683_790
    found = {each.what: each for each in outcome_differences(TraceView(replay), tried)}
    assert found["gas used"].original == "404,295"
    shown = [each for each in outcome_differences(TraceView(replay), tried) if each.what == "sender"]
    assert shown[0].difference == "+51.549761071336830321 ETH"
    assert shown[1].difference == "-96,704.715411 USDC"
    gas = [
        {name: gas_of(side.call, name) for name in ("newton_y", "newton_D")} for side in (tried.original, tried.changed)
    ]
    assert gas == [{"newton_y": 22_800, "newton_D": 32_105}, {"newton_y": 17_604, "newton_D": 25_410}]
    assert sum(gas[1].values()) - sum(gas[0].values()) == tried.changed.gas_used - tried.original.gas_used == -11_891
    shortfall = 1 + gained[WETH] / (10 * 5_729_915_372_958_816_512)
    assert 0.0003 < shortfall < 0.0004


def difference(replay: TransactionReplay, *changes: str) -> dict[str, OutcomeDifference]:
    tried = run_what_if(replay, changes)
    return {each.what: each for each in outcome_differences(TraceView(replay), tried)}


def test_a_balance_too_small_fails_the_transaction_with_its_reason(blocks: Path) -> None:
    found = difference(replayed(blocks, CURVE), "balance.USDC.sender=10.5 USDC")
    assert found["status"].changed == "failed: ERC20: transfer amount exceeds balance"


def test_words_slots_gas_and_the_block_can_be_changed(blocks: Path) -> None:
    replay = replayed(blocks, CURVE)
    assert difference(replay, "gas=60_000")["status"].changed.startswith("failed: ")
    assert difference(replay, "gas=20_000")["status"].changed.startswith("failed: invalid transaction: ")
    words = 9 + 12  # route and parameters come before the amount
    assert difference(replay, f"word.{words}=1_000_000")["gas used"].original == "404,295"
    assert difference(replay, "storage.0x99a58482BD75cbab83b27EC03CA68fF489b5788f.0x77=1") == {}
    assert difference(replay, f"block.timestamp={replay.block.header.timestamp + 3600}")


def test_amounts_may_have_units_of_a_token_or_of_the_native_coin(blocks: Path) -> None:
    replay = replayed(blocks, CURVE)
    assert difference(replay, "arg._amount=10_744.968379 USDC") == {}
    assert difference(replay, "arg._amount=10,000 USDC") == difference(replay, "arg._amount=10_000_000_000") != {}
    assert run_what_if(replay, ["value=1.5ether"]).transaction.value == 15 * 10**17


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("value=1.5", "write 1.5 ether"),
        ("arg._expected=1.5", "write 1.5 ether"),
        ("balance.USDC.sender=1.5", "write 1.5 USDC"),
    ],
)
def test_a_fraction_without_a_unit_is_answered_with_what_to_write(blocks: Path, text: str, remedy: str) -> None:
    with pytest.raises(UsageError) as error:
        run_what_if(replayed(blocks, CURVE), [text])
    assert remedy in str(error.value.hint)


def test_an_unknown_name_is_answered_with_where_names_are_listed(blocks: Path) -> None:
    with pytest.raises(UsageError) as error:
        run_what_if(replayed(blocks, CURVE), ["balance.FOO.sender=1"])
    assert "`mayavi world info ethereum --names` lists the names" in str(error.value.hint)
    assert "fork.labels" not in str(error.value.hint)


def test_fees_are_charged_as_in_the_block(blocks: Path) -> None:
    replay = replayed(blocks, CURVE)
    base_fee = replay.block.header.base_fee
    assert base_fee is not None
    cheaper = run_what_if(replay, ["block.base_fee=0"])
    paid = [
        next(each.before - each.after for each in side.changes if each.field == "balance" and each.address == SENDER)
        for side in (cheaper.original, cheaper.changed)
    ]
    assert paid[0] - paid[1] == replay.outcome.gas_used * base_fee
    poor = run_what_if(replay, ["balance.sender=1"])
    assert poor.changed.reason.startswith("invalid transaction: lack of funds")
    assert f"balance.{checksum(SENDER)}=10 ether" in poor.note
    assert run_what_if(replay, ["block.base_fee=1_000_000_000_000"]).changed.call is None
    assert run_what_if(replay, ["arg._amount=1"]).note == ""


def test_no_change_makes_no_difference(blocks: Path) -> None:
    assert difference(replayed(blocks, CURVE), "arg._amount=10_744_968_379", "value=0") == {}


def test_state_beyond_the_case_is_named_and_not_taken_for_empty(blocks: Path) -> None:
    replay = replayed(blocks, CURVE)
    with pytest.raises(MissingStateError, match="0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419") as error:
        run_what_if(replay, ["price.Chainlink.ETH/USD=1000"])
    assert "give --rpc" in str(error.value.hint)
    with pytest.raises(MissingStateError, match="is not in case 17666333"):
        run_what_if(replay, ["sender=0x00000000000000000000000000000000000a11ce"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("amount=5", "unknown override 'amount'"),
        ("value", "changes nothing"),
        ("value=five", "'five' is not a whole number"),
        ("value=1.5", "'1.5' is not a whole number of wei"),
        ("arg._amount=1.5", "'1.5' is not a whole number"),
        ("arg._amount=5 GOLD", "'GOLD' is neither a unit of the native coin nor a token with a name"),
        ("value=5 dollars", "'dollars' is not a unit"),
        ("arg._amont=5", "has no argument '_amont'"),
        ("arg.9=5", "none at position 9"),
        ("arg._route=5", "is of type address"),
        ("arg._amount.1=5", "has no part '1'"),
        ("word.99=5", "the calldata has 27 words"),
        ("storage.0x99a58482BD75cbab83b27EC03CA68fF489b5788f=5", "names no slot"),
        ("block.colour=5", "no field 'colour'"),
        ("call.USDC=approve 5", "is not a call"),
        ("call.USDC=approve(address,uint256) 5 from sender", "takes 2 arguments, got 1"),
        ("balance.GOLD.sender=5", "unknown address or contract 'GOLD'"),
    ],
)
def test_a_malformed_change_is_explained(blocks: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run_what_if(replayed(blocks, CURVE), [text])


def test_a_transaction_that_no_case_has_is_named(blocks: Path) -> None:
    with pytest.raises(UsageError, match=f"no case in .* has transaction 0x{'12' * 32}"):
        replay_from_case(blocks, b"\x12" * 32)
