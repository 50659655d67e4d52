"""The same witness in every form that producers write."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import rlp

from mayavi._kernel import decode_header
from mayavi.errors import WitnessError
from mayavi.evm.hashing import keccak256
from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.evm.witness.spelling import header_of, transaction_of
from mayavi.replay.witness import validate_witness
from tests.evm.witness.rpc_form import encoded_header, rpc_block


@pytest.fixture(scope="module")
def documents(cases: Path) -> dict[int, Any]:
    folder = cases / "mainnet" / "witness"
    return {
        number: json.loads(gzip.decompress((folder / f"holesky-{number}.json.gz").read_bytes()))
        for number in (2_971_845, 2_971_846)
    }


@pytest.fixture
def given(documents: dict[int, Any]) -> Any:
    return copy.deepcopy(documents[2_971_846])


@pytest.fixture(scope="module")
def parent(documents: dict[int, Any]) -> dict[str, str]:
    """Header of the parent, in the names of JSON-RPC."""
    return header_of(documents[2_971_845]["header"])


def assert_exact(document: Any) -> BlockWitness:
    witness = BlockWitness.of(json.loads(json.dumps(document)))
    report = validate_witness(witness)
    assert report.first_difference is None
    assert report.transactions == 9
    return witness


def test_an_execution_witness_beside_a_block_of_json_rpc(given: Any, parent: dict[str, str]) -> None:
    """`debug_executionWitness` of Reth: lists of bytes, headers in RLP, keys that are not needed."""
    document = {
        "chainId": "0x4268",
        "block": rpc_block(given),
        "state": given["states"],
        "codes": given["codes"],
        "keys": ["0x" + "11" * 20],
        "headers": [encoded_header(parent)],
    }
    # The block reads an earlier hash: a whole answer has every header until there.
    document["blockHashes"] = given["block_hashes"]
    witness = assert_exact(document)
    assert witness.proven_hashes == {2_971_845, 2_971_844}
    assert witness.pre_state_root.hex() == parent["stateRoot"][2:]


def test_a_witness_with_ancestors_inside_an_object(given: Any, parent: dict[str, str]) -> None:
    document = {
        "block": {
            "header": given["header"],
            "body": {"transactions": given["transaction"], "ommers": [], "withdrawals": given["withdrawals"]},
        },
        "witness": {"state": given["states"], "codes": given["codes"], "ancestors": [parent]},
        "block_hashes": {str(2_971_845 - at): each for at, each in enumerate(given["block_hashes"])},
    }
    assert_exact(document)


def test_nodes_and_codes_under_their_hashes(given: Any) -> None:
    for name in ("states", "codes"):
        given[name] = {"0x" + keccak256(bytes.fromhex(each[2:])).hex(): each for each in given[name]}
    assert_exact(given)
    given["codes"]["0x" + "11" * 32] = "0x6001"
    with pytest.raises(WitnessError, match=r"code 0x1+ has another hash"):
        BlockWitness.of(given)


def test_bytes_as_lists_of_numbers_and_no_prefix(given: Any) -> None:
    given["states"] = [list(bytes.fromhex(each[2:])) for each in given["states"]]
    given["codes"] = [each[2:] for each in given["codes"]]
    assert_exact(given)


def test_encoded_transactions_and_an_encoded_block(given: Any) -> None:
    encoded = [encoded_transaction(each) for each in given["transaction"]]
    whole = dict(given)
    whole["transactions"] = encoded
    del whole["transaction"]
    assert_exact(whole)

    header = rlp.decode(bytes.fromhex(encoded_header(header_of(given["header"]))[2:]))
    inside = [rlp.decode(raw) if raw[0] >= 0xC0 else raw for raw in (bytes.fromhex(each[2:]) for each in encoded)]
    withdrawals = [
        [
            number(each["index"]),
            number(each["validatorIndex"]),
            bytes.fromhex(each["address"][2:]),
            number(each["amount"]),
        ]
        for each in given["withdrawals"]
    ]
    del whole["header"], whole["transactions"], whole["withdrawals"]
    whole["block"] = "0x" + rlp.encode([header, inside, [], withdrawals]).hex()
    assert_exact(whole)


def number(value: Any) -> int:
    return value if isinstance(value, int) else int(value, 16)


def encoded_transaction(given: Any) -> str:
    """EIP-2718 encoding by the `rlp` package."""
    tx = json.loads(transaction_of(given).encoded)
    to = bytes.fromhex((tx["to"] or "0x")[2:])
    access = [
        [bytes.fromhex(each["address"][2:]), [bytes.fromhex(key[2:]) for key in each["storageKeys"]]]
        for each in tx.get("accessList", [])
    ]
    parity, r, s = (int(tx[name], 16) for name in ("yParity", "r", "s"))
    common = [int(tx["gas"], 16), to, int(tx["value"], 16), bytes.fromhex(tx["input"][2:])]
    nonce = int(tx["nonce"], 16)
    if tx["type"] == "0x0":
        v = int(tx["chainId"], 16) * 2 + 35 + parity
        return "0x" + rlp.encode([nonce, int(tx["gasPrice"], 16), *common, v, r, s]).hex()
    fees = [int(tx["maxPriorityFeePerGas"], 16), int(tx["maxFeePerGas"], 16)]
    fields = [int(tx["chainId"], 16), nonce, *fees, *common, access]
    if tx["type"] == "0x3":
        fields += [int(tx["maxFeePerBlobGas"], 16), [bytes.fromhex(each[2:]) for each in tx["blobVersionedHashes"]]]
    return "0x" + (bytes([int(tx["type"], 16)]) + rlp.encode([*fields, parity, r, s])).hex()


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("blockNumber", "0x1", "block number: expected 1, got 2971846"),
        ("blockNumber", "zz", "transaction 2: 'zz' is not a number"),
        ("transactionIndex", "0x7", "transaction index: expected 7, got 2"),
        ("blockHash", "0x" + "22" * 32, "block hash: expected 0x2222"),
        ("gasPrice", "0x1", "gas price: expected"),
    ],
)
def test_what_a_node_adds_to_a_transaction_must_be_right(given: Any, member: str, value: str, message: str) -> None:
    block = rpc_block(given)
    block["transactions"][2][member] = value
    with pytest.raises(WitnessError, match=message):
        BlockWitness.of({"block": block, **given, "header": None, "transaction": None}).verify()


def test_the_parent_may_be_given_twice_and_states_the_hash_before_it(given: Any, parent: dict[str, str]) -> None:
    given |= {"headers": [encoded_header(parent)], "parent_header": parent}
    before = bytes.fromhex(parent["parentHash"][2:])
    assert BlockWitness.of(given).block_hashes()[2_971_844] == before
    given["block_hashes"] = []
    assert BlockWitness.of(given).block_hashes() == {
        2_971_845: bytes.fromhex(given["header"]["parent_hash"][2:]),
        2_971_844: before,
    }


def test_an_answer_of_json_rpc_is_unwrapped(given: Any) -> None:
    assert_exact({"jsonrpc": "2.0", "id": 1, "result": given})


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("stateRoot", "0x" + "11" * 32, "pre-state root"),
        ("timestamp", "0x6764cd00", "hash of block 2971845"),
    ],
)
def test_a_parent_that_is_another_is_refused(
    given: Any, parent: dict[str, str], member: str, value: str, message: str
) -> None:
    changed = parent | {member: value}
    given["ancestors"] = [changed]
    if member == "stateRoot":  # with a hash that fits, so that only the root is wrong
        given["header"]["parent_hash"] = "0x" + keccak256(bytes.fromhex(encoded_header(changed)[2:])).hex()
        given["block_hashes"][0] = given["header"]["parent_hash"]
    with pytest.raises(WitnessError, match=message):
        BlockWitness.of(given).verify()


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("baseFeePerGas", "0x8", "base fee"),
        ("timestamp", "0x6764cd01", "timestamp"),
        ("gasLimit", "0x1000000", "gas limit"),
        ("excessBlobGas", "0x40000", "excess blob gas"),
    ],
)
def test_the_block_must_follow_the_rules_from_its_parent(
    given: Any, parent: dict[str, str], member: str, value: str, message: str
) -> None:
    changed = parent | {member: value}
    given["ancestors"] = [changed]
    given["header"]["parent_hash"] = "0x" + keccak256(bytes.fromhex(encoded_header(changed)[2:])).hex()
    given["block_hashes"][0] = given["header"]["parent_hash"]
    with pytest.raises(WitnessError, match=rf": {message}: expected"):
        BlockWitness.of(given).verify()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda given: given.pop("header"), "there is no block"),
        (lambda given: given.pop("states"), "there are no trie nodes"),
        (lambda given: given.pop("transaction"), "the block has no 'transactions'"),
        (lambda given: given.pop("pre_state_root"), "neither a pre-state root nor the header of the parent"),
        (lambda given: given["header"].pop("miner"), "the header has no 'miner'"),
        (lambda given: given["header"].update(number="x"), "header, 'number': 'x' is not a number"),
        (lambda given: given["states"].append("0xzz"), "trie node 767: '0xzz' is neither hex text nor a list of bytes"),
        (lambda given: given["transaction"][3].pop("r"), "transaction 3: there is no 'r'"),
        (
            lambda given: given["transaction"][3].update(v="0x7"),
            "transaction 3: v 7 is not a valid value of a signature",
        ),
        (lambda given: given["withdrawals"][1].pop("amount"), "withdrawal 1: there is no 'amount'"),
        (lambda given: given.update(prev_state_root="0x" + "11" * 32), "given under two names"),
        (lambda given: given.update(ommers=[{}]), "the block has ommers"),
    ],
)
def test_what_is_missing_or_malformed_is_named(given: Any, change: Any, message: str) -> None:
    change(given)
    with pytest.raises(WitnessError, match=message):
        BlockWitness.of(given, "case")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda given: given.update(block_hashez=given.pop("block_hashes")),
            "'blockhashez': did you mean 'blockhashes'",
        ),
        (lambda given: given["header"].update(minner=1), "'minner': did you mean 'miner'"),
        (lambda given: given["transaction"][0].update(hasj="0x"), "transaction 0: unknown member 'hasj': did you mean"),
    ],
)
def test_a_misspelt_name_is_refused_and_an_unknown_one_is_not(given: Any, change: Any, message: str) -> None:
    given["producer"] = "someone"
    given["header"]["size"] = "0x220"
    given["transaction"][0]["effectiveTip"] = 7
    assert_exact(given)
    change(given)
    with pytest.raises(WitnessError, match=message):
        BlockWitness.of(given)


def test_any_value_of_a_wrong_type_is_an_error_and_no_crash(given: Any, parent: dict[str, str]) -> None:
    given |= {"ancestors": [dict(parent)], "keys": ["0x11"]}
    junk = [None, -1, 2**300, "zz", "0x", [], {}, [[]], 1.5, True, "0x" + "11" * 40, [256]]

    def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        yield path
        if isinstance(value, dict | list):
            for key in value if isinstance(value, dict) else range(min(2, len(value))):
                yield from places(value[key], (*path, key))

    tried = 0
    for at, (*path, last) in enumerate(list(places(given))[1:]):
        holder = given
        for key in path:
            holder = holder[key]
        before, holder[last] = holder[last], junk[at % len(junk)]
        with suppress(WitnessError):
            BlockWitness.of(given).verify()
        holder[last] = before
        tried += 1
    assert tried > 90


def test_headers_are_decoded_exactly(parent: dict[str, str]) -> None:
    raw = bytes.fromhex(encoded_header(parent)[2:])
    assert header_of(json.loads(decode_header(raw))) == parent
    with pytest.raises(ValueError, match="not a header"):
        decode_header(raw + b"\x00")
