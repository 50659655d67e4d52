"""A Prague block with everything: system calls, deposits, withdrawal and consolidation requests, withdrawals."""

from __future__ import annotations

import hashlib
import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mayavi import Fork
from mayavi._kernel import Block, Evm, Witness
from mayavi.evm.chains import blob_fee_fraction_at, deposit_contract_of
from tests.evm.assembler import assemble
from tests.evm.witness.oracle_state import OracleAccount, OracleState

NUMBER, TIMESTAMP, BASE_FEE, TIP = 22_500_000, 1_746_700_000, 1_000, 10
BEACON_ROOTS = bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02")
HISTORY = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")
EXITS = bytes.fromhex("00000961ef480eb55e80d19ad83579a64c007002")
MERGERS = bytes.fromhex("0000bbddc7ce488642fb579f8b00f3a590007251")
DEPOSITS = bytes.fromhex("00000000219ab540356cbb839cbe05303d7705fa")
MINER, PAYEE = b"\x77" * 20, b"\x55" * 20
DEPOSIT_TOPIC = "0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5"
EMITTER = assemble(f"CALLDATASIZE 0 0 CALLDATACOPY {DEPOSIT_TOPIC} CALLDATASIZE 0 LOG1 STOP")
KEY, OTHER_KEY, CREDENTIALS, SIGNATURE = b"\xa1" * 48, b"\xb2" * 48, b"\xc3" * 32, b"\xd4" * 96
AMOUNT, INDEX = (32 * 10**9).to_bytes(8, "little"), (7).to_bytes(8, "little")


def deposit_data(*fields: bytes) -> bytes:
    """ABI encoding of five byte strings, as the deposit contract logs them."""
    heads, tails = b"", b""
    for each in fields:
        heads += (32 * len(fields) + len(tails)).to_bytes(32, "big")
        tails += len(each).to_bytes(32, "big") + each + bytes(-len(each) % 32)
    return heads + tails


def point_after(x: int) -> int:
    """The first number from `x` on that is the x of a point of secp256k1."""
    p = 2**256 - 2**32 - 977
    return next(each for each in count(x) if pow(each**3 + 7, (p - 1) // 2, p) == 1)


def transaction(index: int, to: bytes, data: bytes, value: int = 0) -> bytes:
    """A transaction with a made-up signature, which some address must have given."""
    fields = {
        "type": "0x2",
        "chainId": "0x1",
        "nonce": "0x0",
        "gas": hex(500_000),
        "to": "0x" + to.hex(),
        "value": hex(value),
        "input": "0x" + data.hex(),
        "maxFeePerGas": hex(BASE_FEE + TIP),
        "maxPriorityFeePerGas": hex(TIP),
        "accessList": [],
        "r": hex(point_after(0x5000 + 100 * index)),
        "s": hex(0x6000 + index),
        "yParity": "0x0",
    }
    return json.dumps(fields).encode()


def block_of(*transactions: bytes) -> Block:
    header = {
        "parentHash": "0x" + "ab" * 32,
        "sha3Uncles": "0x" + "00" * 32,
        "miner": "0x" + MINER.hex(),
        **dict.fromkeys(("stateRoot", "transactionsRoot", "receiptsRoot", "mixHash"), "0x" + "00" * 32),
        **dict.fromkeys(("withdrawalsRoot", "requestsHash"), "0x" + "00" * 32),
        "logsBloom": "0x" + "00" * 256,
        "difficulty": "0x0",
        "number": hex(NUMBER),
        "gasLimit": hex(30_000_000),
        "gasUsed": "0x0",
        "timestamp": hex(TIMESTAMP),
        "extraData": "0x",
        "nonce": "0x" + "00" * 8,
        "baseFeePerGas": hex(BASE_FEE),
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": "0x" + "cd" * 32,
    }
    withdrawals = [
        {"index": "0x1", "validatorIndex": "0x2", "address": "0x" + PAYEE.hex(), "amount": "0x5"},
        {"index": "0x2", "validatorIndex": "0x3", "address": "0x" + "66" * 20, "amount": "0x0"},
    ]
    return Block.from_parts(json.dumps(header).encode(), list(transactions), json.dumps(withdrawals).encode())


@pytest.fixture(scope="module")
def predeploys(cases: Path) -> dict[bytes, bytes]:
    """Code of the system contracts, as mainnet has it."""
    fork = Fork.from_witness(cases / "mainnet" / "witness" / "mainnet-23587691.json.gz")
    return {address: fork.code(address) for address in (BEACON_ROOTS, HISTORY, EXITS, MERGERS)}


def state_before(predeploys: dict[bytes, bytes], senders: list[bytes]) -> OracleState:
    contracts = {address: OracleAccount(1, 0, code) for address, code in predeploys.items()}
    people = {address: OracleAccount(balance=10**18) for address in senders}
    return OracleState({DEPOSITS: OracleAccount(1, 0, EMITTER), **contracts, **people})


def execute(state: OracleState, block: Block) -> tuple[Evm, dict[str, Any]]:
    evm = Evm.from_witness(1, "prague", Witness(state.root, state.nodes(), state.codes))
    return evm, evm.replay(block, blob_fee_fraction_at(1, TIMESTAMP), deposit_contract_of(1))


@pytest.fixture
def block() -> Block:
    return block_of(
        transaction(0, DEPOSITS, deposit_data(KEY, CREDENTIALS, AMOUNT, SIGNATURE, INDEX)),
        transaction(1, EXITS, KEY + (9).to_bytes(8, "big"), value=1),
        transaction(2, MERGERS, KEY + OTHER_KEY, value=1),
    )


def test_requests_are_collected_in_order_and_hashed(block: Block, predeploys: dict[bytes, bytes]) -> None:
    senders = block.claims()["signers"]
    _, result = execute(state_before(predeploys, senders), block)
    assert result["failure"] is None
    assert [success for success, _, _ in result["receipts"]] == [True, True, True]
    assert result["requests"] == [
        b"\x00" + KEY + CREDENTIALS + AMOUNT + SIGNATURE + INDEX,
        b"\x01" + senders[1] + KEY + (9).to_bytes(8, "little"),
        b"\x02" + senders[2] + KEY + OTHER_KEY,
    ]
    each = b"".join(hashlib.sha256(request).digest() for request in result["requests"])
    assert result["requests_hash"] == hashlib.sha256(each).digest()


def test_system_calls_withdrawals_and_fees_are_in_the_state_root(block: Block, predeploys: dict[bytes, bytes]) -> None:
    senders = block.claims()["signers"]
    state = state_before(predeploys, senders)
    evm, result = execute(state, block)
    assert result["system_calls"] == [("EIP-4788 beacon root", True), ("EIP-2935 parent hash", True)]
    assert result["withdrawals_applied"] == 2

    accounts = state.accounts
    gas = [used for _, used, _ in result["receipts"]]
    for sender, used, value in zip(senders, gas, (0, 1, 1), strict=True):
        accounts[sender] = OracleAccount(1, 10**18 - used * (BASE_FEE + TIP) - value)
    accounts[MINER] = OracleAccount(balance=sum(gas) * TIP)
    accounts[PAYEE] = OracleAccount(balance=5 * 10**9)  # the other withdrawal is of nothing: no account comes to be
    accounts[HISTORY].slots[(NUMBER - 1) % 8191] = int("ab" * 32, 16)
    accounts[BEACON_ROOTS].slots |= {
        TIMESTAMP % 8191: TIMESTAMP,
        TIMESTAMP % 8191 + 8191: int("cd" * 32, 16),
    }
    for contract, payload in ((EXITS, KEY + (9).to_bytes(8, "big")), (MERGERS, KEY + OTHER_KEY)):
        accounts[contract].balance = 1
        words = [payload[at : at + 32].ljust(32, b"\x00") for at in range(0, len(payload), 32)]
        sender = senders[1] if contract == EXITS else senders[2]
        queue = [int.from_bytes(sender, "big"), *(int.from_bytes(word, "big") for word in words)]
        accounts[contract].slots |= {4 + at: word for at, word in enumerate(queue)}
    assert evm.state_root() == state.root


def test_a_block_without_requests_has_the_hash_of_nothing(predeploys: dict[bytes, bytes]) -> None:
    _, result = execute(state_before(predeploys, []), block_of())
    assert (result["requests"], result["requests_hash"]) == ([], hashlib.sha256(b"").digest())


def test_a_malformed_deposit_or_an_absent_contract_makes_the_block_invalid(predeploys: dict[bytes, bytes]) -> None:
    short = block_of(transaction(0, DEPOSITS, deposit_data(KEY, CREDENTIALS, AMOUNT, SIGNATURE, INDEX)[:-32]))
    _, result = execute(state_before(predeploys, short.claims()["signers"]), short)
    assert result["failure"] == (None, "a deposit's log is not laid out as EIP-6110 says")
    absent = {address: code for address, code in predeploys.items() if address != MERGERS}
    _, result = execute(state_before(absent, []), block_of())
    assert result["failure"] is not None
    assert "there is no contract at 0x0000BBdDc7CE488642fb579F8B00f3a590007251" in result["failure"][1]


def test_the_opening_calls_are_skipped_where_their_contract_does_not_exist(predeploys: dict[bytes, bytes]) -> None:
    absent = {address: code for address, code in predeploys.items() if address not in (HISTORY, BEACON_ROOTS)}
    _, result = execute(state_before(absent, []), block_of())
    assert result["failure"] is None
    assert [done for _, done in result["system_calls"]] == [False, False]
