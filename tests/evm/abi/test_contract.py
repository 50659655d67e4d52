"""Contracts by name, on a real fork: calls, transactions, overloads, events, errors, and what happens on a slip."""

from __future__ import annotations

import json
import pickle

import eth_abi
import pytest
from eth_utils import keccak, to_checksum_address

from mayavi.errors import (
    AmbiguousName,
    BadAbi,
    BadArgument,
    BadCalldata,
    BadInteger,
    CallReverted,
    UnknownName,
    UsageError,
)
from mayavi.evm.abi.contract import Contract, Error, Event, Function, Interface
from mayavi.evm.fork import Fork
from mayavi.evm.receipt import Log

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
BOB = bytes.fromhex("b0b0000000000000000000000000000000000002")
PLACE = bytes.fromhex("c0de000000000000000000000000000000000003")

# Three contracts in a line of bytecode each.
ECHO = bytes.fromhex("36600490038060045f375ff3")  # returns what follows the selector
REFUSE = bytes.fromhex("6024358060445f375ffd")  # reverts with its only argument, some bytes
ANNOUNCE = bytes.fromhex("60043536602490038060245f375fa100")  # logs its arguments, the first being the topic

ECHO_ABI = [
    "function one(uint256 x) view returns (uint256)",
    "function two(uint256 x, address who) view returns (uint256 x, address who)",
    "function text(string) pure returns (string)",
    "function nothing() view",
    "function store(uint256 x) returns (uint256)",
    "function mint(uint256 x) view returns (uint256)",
    "function mint(address a, uint256 x) view returns (address a, uint256 x)",
    "function mint(bytes32 a, uint256 x) view returns (bytes32 a, uint256 x)",
    "function address() view",
]


@pytest.fixture
def fork() -> Fork:
    return Fork.empty()


@pytest.fixture
def echo(fork: Fork) -> Contract:
    fork.set_code(PLACE, ECHO)
    return Contract(PLACE, ECHO_ABI, fork, name="Echo")


def test_a_single_value_comes_back_as_itself_and_several_with_their_names(echo):
    assert echo.one(7) == 7
    both = echo.two(7, ALICE)
    assert both == (7, ALICE)
    assert (both.x, both.who) == (7, ALICE)
    assert echo.text("grüezi") == "grüezi"
    assert echo.nothing() is None


def test_addresses_are_taken_as_text_too(echo):
    assert echo.two(1, "0x" + ALICE.hex()).who == ALICE


def test_a_function_that_writes_is_sent_and_gives_a_receipt(echo):
    receipt = echo.store(5, sender=ALICE)
    assert receipt.success
    assert receipt.gas_used > 21_000
    assert echo.store.call(5, sender=ALICE) == 5
    assert echo.one.send(5, sender=ALICE).success


def test_calldata_alone_needs_no_fork():
    token = Contract(PLACE, ["function transfer(address to, uint256 amount) returns (bool)"])
    expected = keccak(text="transfer(address,uint256)")[:4] + eth_abi.encode(["address", "uint256"], [BOB, 5])
    assert token.transfer.encode(BOB, 5) == expected
    assert token.transfer.function.decode_input(expected) == (BOB, 5)
    with pytest.raises(UsageError, match="bound to no fork"):
        token.transfer(BOB, 5)


def test_overloads_are_chosen_by_number_of_arguments_or_by_full_signature(echo):
    assert echo.mint(3) == 3
    assert echo["mint(address,uint256)"](ALICE, 3) == (ALICE, 3)
    assert echo["mint(bytes32, uint)"](b"\1" * 32, 3).a == b"\1" * 32


def test_an_ambiguous_overload_lists_the_signatures(echo):
    with pytest.raises(AmbiguousName) as caught:
        echo.mint(ALICE, 3)
    assert "'mint' with 2 arguments has 2 signatures: mint(address,uint256), mint(bytes32,uint256)" in str(caught.value)
    assert 'contract["mint(address,uint256)"]' in caught.value.hint
    with pytest.raises(BadArgument, match=r"no function 'mint' takes 3 arguments: mint\(uint256\), mint"):
        echo.mint(1, 2, 3)
    with pytest.raises(AmbiguousName, match="function 'mint' has 3 signatures"):
        echo.interface.function("mint")


def test_an_unknown_function_gets_near_names(echo):
    with pytest.raises(UnknownName) as caught:
        echo.ona(1)
    assert str(caught.value) == "unknown function of Echo 'ona'"
    assert caught.value.hint == "did you mean 'one'?"
    assert not hasattr(echo, "ona")
    with pytest.raises(UnknownName, match=r"unknown function of Echo 'one\(uint8\)'"):
        echo["one(uint8)"]


def test_square_brackets_reach_a_function_whose_name_is_taken(echo):
    assert echo.address == PLACE
    assert echo["address"]() is None


def test_only_four_names_belong_to_the_object_itself(fork):
    fork.set_code(PLACE, ECHO)
    empty = Contract(PLACE, [], fork)
    own = {name for name in dir(empty) if not name.startswith("__")}
    assert {name for name in own if not name.startswith("_Contract__")} == {"address", "interface", "fork", "events"}
    taken = sorted({*own, "name", "label", "_label", "abi"} - {"address", "interface"})
    contract = Contract(
        PLACE, [f"function {name}(uint256) view returns (uint256)" for name in taken], fork, name="Echo"
    )
    for name in taken:
        assert contract[name](7) == 7
        if name not in own:
            assert getattr(contract, name)(7) == 7


def test_a_contract_prints_its_name_or_address(fork):
    token = ["function name() view returns (string)"]
    assert str(Contract(PLACE, token, name="Gold")) == "Gold"
    assert str(Contract(PLACE, token)) == to_checksum_address(PLACE)
    fork.labels["Gold.Vault"] = to_checksum_address(PLACE)
    assert str(Contract(PLACE, token, fork)) == "Gold.Vault"
    assert repr(Contract(PLACE, token, name="Gold")) == f"<contract Gold at {to_checksum_address(PLACE)}>"


@pytest.mark.parametrize(("args", "got"), [((), 0), ((1, ALICE, 3), 3)])
def test_a_wrong_argument_count_says_expected_and_got(echo, args, got):
    with pytest.raises(BadArgument) as caught:
        echo.two(*args)
    assert str(caught.value) == f"two(uint256,address) takes 2 arguments, got {got}"


def test_arguments_by_name_are_refused_with_the_options_there_are(echo):
    with pytest.raises(BadArgument, match="'x' is not an option of a call") as failure:
        echo.one(x=7)
    assert "arguments go by position" in failure.value.hint


def test_a_wrong_argument_names_function_argument_type_and_range(echo):
    with pytest.raises(BadInteger) as caught:
        echo.two(2**256, ALICE)
    assert str(caught.value).startswith("two(uint256,address): argument 'x' (uint256) is 1157")
    assert str(caught.value).endswith("outside 0 to 2**256 - 1")


def test_output_of_another_shape_is_refused(fork, echo):
    liar = Contract(PLACE, ["function one(uint256) view returns (uint256, uint256)"], fork)
    with pytest.raises(BadCalldata, match=r"one\(uint256\): \(uint256,uint256\) needs at least 64 bytes, got 32"):
        liar.one(1)
    with pytest.raises(BadCalldata, match=r"nothing\(\): \(\) takes 0 bytes, got 32"):
        Function.parse("nothing()").decode(bytes(32))


def test_a_revert_is_explained_with_the_errors_of_the_contract(fork):
    fork.set_code(PLACE, REFUSE)
    error = Error.parse("TooMuch(uint256 asked, address by)")
    abi = ["function refuse(bytes with) view", "function refuseToo(bytes with)", f"error {error.text}"]
    vault = Contract(PLACE, abi, fork, name="Vault")
    payload = error.selector + error.inputs.encode((5, ALICE))
    for refuse in (vault.refuse, vault.refuseToo):
        with pytest.raises(CallReverted) as caught:
            refuse(payload)
        name = refuse.function.name
        assert str(caught.value) == f"{name} of Vault reverted: TooMuch(5, {to_checksum_address(ALICE)})"
        assert (caught.value.reason.name, caught.value.reason.args) == ("TooMuch", (5, ALICE))
        assert caught.value.output == payload
        assert caught.value.gas_used > 21_000


def test_a_revert_known_everywhere_needs_no_abi_and_brings_its_hint(fork):
    fork.set_code(PLACE, REFUSE)
    pool = Contract(PLACE, ["function refuse(bytes with) view"], fork)
    with pytest.raises(CallReverted) as caught:
        pool.refuse(Error.parse("Error(string)").selector + eth_abi.encode(["string"], ["36"]))
    assert "reverted: 36 COLLATERAL_CANNOT_COVER_NEW_BORROW: the debt would exceed" in str(caught.value)
    assert "borrow less or supply more" in caught.value.hint


def test_events_of_a_receipt_are_decoded_in_order(fork):
    fork.set_code(PLACE, ANNOUNCE)
    abi = ["function announce(bytes32 topic, uint256 x)", "event Ping(uint256 x)", "event Pong(uint256 y)"]
    contract = Contract(PLACE, abi, fork)
    ping, pong = contract.interface.event("Ping"), contract.interface.event("Pong")
    receipts = [contract.announce(topic, number) for topic, number in [(ping.topic, 7), (pong.topic, 8)]]
    assert [log.args.x for log in contract.events(receipts[0])] == [7]
    assert [str(log) for log in contract.events(receipts[1])] == ["Pong(y=8)"]
    assert contract.events(receipts[0], "Pong") == []
    assert contract.events(contract.announce(b"\7" * 32, 1)) == []
    assert Contract(BOB, abi, fork).events(receipts[0]) == []
    with pytest.raises(UnknownName, match="unknown event 'Pin'"):
        contract.events(receipts[0], "Pin")


def test_indexed_fields_come_from_topics_and_dynamic_ones_as_their_hash():
    event = Event.parse(
        "Filed(address indexed who, string indexed title, uint256 size, (uint8,uint8) indexed tags, bytes x)"
    )
    hashes = keccak(text="title"), keccak(b"tags")
    topics = (keccak(text="Filed(address,string,uint256,(uint8,uint8),bytes)"), bytes(12) + ALICE, *hashes)
    data = eth_abi.encode(["uint256", "bytes"], [9, b"body"])
    decoded = event.decode(Log(PLACE, topics, data))
    assert decoded.args == (ALICE, hashes[0], 9, hashes[1], b"body")
    assert (decoded.args.who, decoded.args.size, decoded.address, decoded.name) == (ALICE, 9, PLACE, "Filed")
    assert str(decoded).startswith(f"Filed(who={to_checksum_address(ALICE)}, title=0x")


def test_events_of_one_topic_are_told_apart_by_their_indexed_fields():
    fungible = "event Transfer(address indexed from, address indexed to, uint256 value)"
    unique = "event Transfer(address indexed from, address indexed to, uint256 indexed id)"
    topics = [Event.parse(fungible).topic, bytes(12) + ALICE, bytes(12) + BOB]
    amount = (5).to_bytes(32)
    assert Interface.of([fungible]).decode_log(Log(PLACE, tuple(topics), amount)).args.value == 5
    assert Interface.of([fungible]).decode_log(Log(PLACE, (*topics, amount), b"")) is None
    assert Interface.of([unique]).decode_log(Log(PLACE, (*topics, amount), b"")).args.id == 5


def test_a_log_that_does_not_fit_its_event_is_refused():
    event = Event.parse("Ping(uint256 x)")
    with pytest.raises(BadCalldata):
        event.decode(Log(PLACE, (event.topic,), b""))
    with pytest.raises(BadCalldata, match="is not Ping"):
        event.decode(Log(PLACE, (b"\1" * 32,), bytes(32)))


def test_an_anonymous_event_has_no_topic_of_its_own():
    event = Event.parse("event Raw(uint8 indexed kind, uint256 x) anonymous")
    assert event.topic is None
    assert event.decode(Log(PLACE, ((3).to_bytes(32),), (4).to_bytes(32))).args == (3, 4)


def test_an_abi_is_taken_in_every_common_form():
    entries = [{"type": "function", "name": "f", "inputs": [], "outputs": [], "stateMutability": "view"}]
    artifact = {"contractName": "Thing", "abi": entries, "bytecode": "0x"}
    for abi in (entries, artifact, json.dumps(entries), json.dumps(artifact), ["f() view"], "f() view"):
        assert Interface.of(abi).function("f").reads
    assert Interface.of(artifact).name == "Thing"
    same = Interface.of(entries)
    assert Interface.of(same) is same


@pytest.mark.parametrize("abi", ["[", "{}", {"bytecode": "0x"}, [5], ["f("]])
def test_a_broken_abi_is_refused(abi):
    with pytest.raises(BadAbi):
        Interface.of(abi)


def test_constructor_arguments_have_no_selector():
    interface = Interface.of(["constructor(address owner, uint8 decimals)"])
    assert interface.constructor.encode(ALICE, 6) == eth_abi.encode(["address", "uint8"], [ALICE, 6])
    assert Interface.of([]).constructor.encode() == b""
    with pytest.raises(BadArgument, match=r"constructor\(address,uint8\) takes 2 arguments, got 0"):
        interface.constructor.encode()


def test_calldata_is_decoded_by_its_own_function_alone():
    function = Function.parse("g(address)")
    assert function.decode_input(function.encode(ALICE)) == (ALICE,)
    with pytest.raises(BadCalldata, match="calldata starts with 0x01020304"):
        function.decode_input(b"\1\2\3\4" + bytes(32))
    with pytest.raises(BadCalldata, match=r"g\(address\): \(address\) needs at least 32 bytes, got 31"):
        function.decode_input(function.selector + bytes(31))


def test_functions_keep_working_after_pickling_and_when_held():
    function = Function.parse("transfer(address to, uint256 amount) returns (bool)")
    held_encode, held_decode = function.encode, function.decode
    expected = function.encode(BOB, 1)
    assert held_encode(BOB, 1) == function.encode(BOB, 1) == expected
    assert held_decode((1).to_bytes(32)) is function.decode((1).to_bytes(32)) is True
    copy = pickle.loads(pickle.dumps(function))
    assert copy.encode(BOB, 1) == expected


def test_contracts_and_decoded_logs_travel_between_processes():
    abi = [
        "function swap((address to, uint24 fee)[] legs) view returns (uint256 a, (bool ok) b)",
        "event Ping((uint8 a) x)",
        "error Bad((uint8 a) x)",
    ]
    contract = Contract(PLACE, abi, name="Router")
    log = Log(PLACE, (contract.interface.event("Ping").topic,), (1).to_bytes(32))
    before = contract.swap.encode([(ALICE, 5)])
    copy = pickle.loads(pickle.dumps(contract))
    assert copy.swap.encode([(ALICE, 5)]) == before
    assert pickle.loads(pickle.dumps(contract.events([log])))[0].args.x.a == 1
    assert copy.events([log])[0].args.x.a == 1


def test_tab_completion_offers_the_functions(echo):
    assert {"one", "two", "mint", "events"} <= set(dir(echo))
    assert repr(echo) == f"<contract Echo at {to_checksum_address(PLACE)}>"


def test_signatures_given_again_are_not_parsed_again():
    texts = ["transfer(address to, uint256 amount)", "event Ping(uint256 x)"]
    assert Interface.of(texts) is Interface.of(tuple(texts))
    assert Interface.of(texts, "Token") is not Interface.of(texts)
    assert Interface.of(texts[:1]) is not Interface.of(texts)
