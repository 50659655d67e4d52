"""State tests: one transaction on a pre-state, by each combination of calldata, gas limit and value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.answers import data, fields, hash32, quantity
from mayavi.evm.state import Block, Evm, is_before, logs_hash
from mayavi.evm.witness.values import as_list
from mayavi.validation.official.accounts import Account, read_accounts, world_of
from mayavi.validation.official.blockchain import ANCESTORS, BLOB_FEE_FRACTION
from mayavi.validation.official.collisions import EIP_7610, creates_over_storage
from mayavi.validation.official.findings import Findings
from mayavi.validation.official.networks import rules_of
from mayavi.validation.official.sends import MOST_GAS, Sent, check_sends

MOST_DATA = 1 << 24
ZERO_HASH = "0x" + "00" * 32


@dataclass(frozen=True, slots=True)
class StateCase:
    """One transaction of a test under the rules of one hard fork, and what must come of it."""

    where: str
    encoded: bytes
    exception: str
    """Why the transaction must be refused; empty if it must not."""
    root: bytes
    logs: bytes
    sender: bytes
    sent: Sent | None
    """The transaction as it can be sent; None for one that cannot: with an access list, or blobs."""


def check_state_test(name: str, test: dict[str, Any], found: Findings) -> None:
    """Execute every case by the interpreter and by recorded paths, and compare state root and logs."""
    accounts = read_accounts(test["pre"])
    found.counts["state tests"] += 1
    for network, listed in fields(test["post"]).items():
        entries = as_list(listed)
        rules = rules_of(network)
        if rules is None:
            found.left_out[f"cases of state tests of {network}, whose rules the kernel does not have"] += len(entries)
            continue
        header = _header(fields(test["env"]), rules.first)
        world = world_of(accounts, rules.first)
        base = Evm.from_state(world)
        _tell_ancestors(base, header)
        exact = []
        for case in _cases(name, network, fields(test["transaction"]), entries):
            found.counts[f"state cases of {network}"] += 1
            gas_used = _check_case(case, base, header, accounts, found)
            if gas_used is None:
                continue
            if gas_used > MOST_GAS:
                found.left_out[f"transactions of more than {MOST_GAS:,} gas, which are interpreted alone"] += 1
            elif case.sent is None:
                found.left_out["transactions with an access list or blobs, which are interpreted alone"] += 1
            else:
                exact.append((case.where, case.sent, case.root, case.logs))
        check_sends(world, rules.first, _environment(header), exact, found)


def _cases(name: str, network: str, transaction: dict[str, Any], entries: list[Any]) -> Iterator[StateCase]:
    """Yield the cases of one hard fork."""
    for entry in map(fields, entries):
        chosen: dict[str, Any] = fields(entry["indexes"])
        at = chosen["data"], chosen["gas"], chosen["value"]
        exception = str(entry.get("expectException", ""))
        yield StateCase(
            where=f"{name}, {network}, data {at[0]}, gas {at[1]}, value {at[2]}",
            encoded=data(entry["txbytes"], None, MOST_DATA),
            exception=exception,
            root=hash32(entry["hash"]),
            logs=hash32(entry["logs"]),
            sender=data(transaction["sender"], 20),
            sent=None if exception else _sent(transaction, *at),
        )


def _sent(transaction: dict[str, Any], data_at: int, gas_at: int, value_at: int) -> Sent | None:
    if transaction.get("blobVersionedHashes") or transaction.get("authorizationList"):
        return None
    if any(transaction.get("accessLists", [])[data_at : data_at + 1]):
        return None
    priced = "maxFeePerGas" in transaction
    return Sent(
        sender=data(transaction["sender"], 20),
        to=data(transaction["to"], 20) if transaction["to"] else None,
        data=data(transaction["data"][data_at], None, MOST_DATA),
        gas=quantity(transaction["gasLimit"][gas_at]),
        value=quantity(transaction["value"][value_at]),
        gas_price=quantity(transaction["maxFeePerGas" if priced else "gasPrice"]),
        priority_fee=quantity(transaction["maxPriorityFeePerGas"]) if priced else None,
    )


def _check_case(
    case: StateCase, base: Evm, header: dict[str, Any], accounts: dict[bytes, Account], found: Findings
) -> int | None:
    """Interpret a case with all checks on; returns the gas it used, or None if it was refused or not exact."""
    evm = base.copy()
    block, refusal, result = None, "", None
    try:
        block = Block.from_parts(json.dumps(header).encode(), [case.encoded])
        result = evm.replay(block, BLOB_FEE_FRACTION)
        refusal = result["failure"][1] if result["failure"] else ""
    except ValueError as error:
        refusal = str(error)
    root = evm.state_root()
    if case.exception:
        if not refusal:
            found.differs(case.where, f"the transaction must be refused for {case.exception}, and was executed")
        elif found.expect(case.where, "state root", case.root, root):
            found.counts["state cases refused"] += 1
        return None
    if refusal or block is None or result is None:
        found.differs(case.where, f"the transaction was refused: {refusal}")
        return None
    logs = logs_hash(result["receipts"][0][2])
    if (root, logs) != (case.root, case.logs) and creates_over_storage(base.copy(), block, accounts, BLOB_FEE_FRACTION):
        found.left_out[EIP_7610] += 1
        return None
    same = found.expect(case.where, "sender", case.sender, block.claims()["signers"][0])
    same &= found.expect(case.where, "state root", case.root, root)
    same &= found.expect(case.where, "hash of the logs", case.logs, logs)
    found.counts["state cases to their root"] += 1
    return result["receipts"][0][1] if same else None


def _header(env: dict[str, Any], hardfork: str) -> dict[str, Any]:
    """Header of the block around the transaction; what no transaction reads is zero."""
    base_fee = None if is_before(hardfork, "london") else env.get("currentBaseFee", "0x0")
    merged = not is_before(hardfork, "paris")
    header = {
        "parentHash": ZERO_HASH,
        "sha3Uncles": ZERO_HASH,
        "miner": env["currentCoinbase"],
        "stateRoot": ZERO_HASH,
        "transactionsRoot": ZERO_HASH,
        "receiptsRoot": ZERO_HASH,
        "logsBloom": "0x" + "00" * 256,
        "difficulty": "0x0" if merged else _plain(env["currentDifficulty"]),
        "number": _plain(env["currentNumber"]),
        "gasLimit": _plain(env["currentGasLimit"]),
        "gasUsed": "0x0",
        "timestamp": _plain(env["currentTimestamp"]),
        "extraData": "0x",
        "mixHash": f"{quantity(env.get('currentRandom', '0x0')):#066x}" if merged else ZERO_HASH,
        "nonce": "0x0000000000000000",
    }
    if base_fee is not None:
        header["baseFeePerGas"] = _plain(base_fee)
    if not is_before(hardfork, "cancun"):
        header["excessBlobGas"] = _plain(env.get("currentExcessBlobGas", "0x0"))
    return header


def _plain(number: object) -> str:
    """Return a hex number without leading zeros."""
    return hex(quantity(number))


def _environment(header: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Evm.set_block` for a header."""
    return {
        "number": int(header["number"], 16),
        "timestamp": int(header["timestamp"], 16),
        "coinbase": data(header["miner"], 20),
        "base_fee": int(header.get("baseFeePerGas", "0x0"), 16),
        "gas_limit": int(header["gasLimit"], 16),
        "difficulty": int(header["difficulty"], 16),
        "prevrandao": hash32(header["mixHash"]),
        "excess_blob_gas": int(header.get("excessBlobGas", "0x0"), 16),
    }


def _tell_ancestors(evm: Evm, header: dict[str, Any]) -> None:
    """Tell the hashes of earlier blocks: those of the tests are the hashes of their numbers, written in decimal."""
    number = int(header["number"], 16)
    for ancestor in range(max(0, number - ANCESTORS), number):
        evm.learn_block_hash(ancestor, keccak256(str(ancestor).encode()))
