"""Blockchain tests: blocks on a genesis, those that must be refused among them, and the state after the last one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mayavi.evm.rpc.answers import data, fields, hash32
from mayavi.evm.state import Block, Evm
from mayavi.replay.blocks import BEFORE_STATUS, block_differences
from mayavi.validation.official.accounts import Account, compare_accounts, read_accounts, world_of
from mayavi.validation.official.collisions import EIP_7610, creates_over_storage
from mayavi.validation.official.findings import Findings, shown
from mayavi.validation.official.networks import Rules, rules_of

BLOB_FEE_FRACTION = 3_338_477
"""That of Cancun."""
ANCESTORS = 256
"""Blocks whose hash a block may ask for."""
MOST_RLP = 1 << 26


class Refused(Exception):  # noqa: N818  (a name says what happened)
    """Block that the replay refuses; the message is the reason."""


@dataclass(frozen=True, slots=True)
class _Place:
    """State after a block, and the block before."""

    evm: Evm
    hash: bytes
    number: int
    parent: _Place | None


class _Chain:
    """Tree of the blocks of one test, by their hashes."""

    def __init__(self, rules: Rules, accounts: dict[bytes, Account], genesis: Block) -> None:
        self.rules = rules
        self.accounts = accounts
        claims = genesis.claims()
        evm = Evm.from_state(world_of(accounts, rules.hardfork(0, genesis.timestamp)))
        self.places = {claims["computed_hash"]: _Place(evm, claims["computed_hash"], 0, None)}
        self._told: dict[int, bytes] = {}

    def play(self, block: Block) -> _Place:
        """Execute a block on its parent; raise `Refused` if it cannot be, or if it claims other results."""
        claims = block.claims()
        parent = self.places.get(bytes.fromhex(json.loads(block.header)["parentHash"][2:]))
        if parent is None:
            raise Refused("its parent is no block of the chain")
        evm = parent.evm.copy()
        evm.hardfork = self.rules.hardfork(block.number, block.timestamp)
        self._tell_ancestors(parent)
        try:
            result = evm.replay(block, BLOB_FEE_FRACTION, rewards=True)
        except ValueError as error:  # a blob fee beyond all bounds
            raise Refused(str(error)) from error
        if result["failure"]:
            index, why = result["failure"]
            raise Refused(why if index is None else f"transaction {index}: {why}")
        for difference in block_differences(result, claims):
            # Early receipts hold the state root after their transaction; that after the block is compared below.
            if difference.field != "receipts root" or evm.hardfork not in BEFORE_STATUS:
                raise Refused(f"{difference.field} must be {difference.expected}, is {difference.got}")
        if claims["blob_gas_used"] not in (None, result["blob_gas_used"]):
            raise Refused(f"blob gas used must be {claims['blob_gas_used']}, is {result['blob_gas_used']}")
        if (root := evm.state_root()) != claims["state_root"]:
            raise Refused(f"state root must be {shown(claims['state_root'])}, is {shown(root)}")
        return _Place(evm, claims["computed_hash"], block.number, parent)

    def _tell_ancestors(self, parent: _Place) -> None:
        place: _Place | None = parent
        for _ in range(ANCESTORS):
            if place is None or self._told.get(place.number) == place.hash:
                return
            parent.evm.learn_block_hash(place.number, place.hash)
            self._told[place.number] = place.hash
            place = place.parent

    def collides(self, block: Block) -> bool:
        """Whether a block creates over an account that has storage alone."""
        parent = self.places.get(bytes.fromhex(json.loads(block.header)["parentHash"][2:]))
        if parent is None:
            return False
        evm = parent.evm.copy()
        evm.hardfork = self.rules.hardfork(block.number, block.timestamp)
        return creates_over_storage(evm, block, self.accounts, BLOB_FEE_FRACTION)


def check_blockchain_test(name: str, test: dict[str, Any], found: Findings) -> None:
    """Play all blocks of a test, each on its parent, and compare the state after the last one."""
    network = str(test["network"])
    rules = rules_of(network)
    if rules is None:
        found.left_out[f"blockchain tests of {network}, whose rules the kernel does not have"] += 1
        return
    found.counts["blockchain tests"] += 1
    found.counts[f"blockchain tests of {network}"] += 1
    accounts = read_accounts(test["pre"])
    genesis = Block.from_rlp(data(test["genesisRLP"], None, MOST_RLP))
    chain = _Chain(rules, accounts, genesis)
    (first,) = chain.places.values()
    found.expect(name, "hash of the genesis", hash32(fields(test["genesisBlockHeader"])["hash"]), first.hash)
    found.expect(name, "root of the pre-state", genesis.claims()["state_root"], first.evm.state_root())
    for position, entry in enumerate(test["blocks"]):
        if not _check_block(f"{name}, block entry {position}", fields(entry), chain, found):
            return
    last = chain.places.get(hash32(test["lastblockhash"]))
    if last is None:
        found.differs(name, f"no block has the hash {test['lastblockhash']} of the last one")
        return
    if "postState" in test:
        compare_accounts(last.evm, read_accounts(test["postState"]), name, found)
    if "postStateHash" in test:
        found.expect(name, "state root", hash32(test["postStateHash"]), last.evm.state_root())
        found.counts["post-states by their root"] += 1
    if "postState" not in test and "postStateHash" not in test:
        found.differs(name, "the test has no post-state")


def _check_block(where: str, entry: dict[str, Any], chain: _Chain, found: Findings) -> bool:
    """Play one block; returns whether the rest of the test can be compared."""
    exception = next((str(value) for key, value in entry.items() if key.startswith("expectException")), "")
    block, reason, place = None, "", None
    try:
        block = Block.from_rlp(data(entry["rlp"], None, MOST_RLP))
        place = chain.play(block)
    except (ValueError, Refused) as error:
        reason = str(error)
    if exception:
        if reason:
            found.counts["blocks refused"] += 1
        elif "TransactionException" in exception:
            found.differs(where, f"it must be refused for {exception}, and was executed")
        else:
            found.left_out[f"blocks to be refused for their header: {exception}"] += 1
        return True
    if place is None:
        if block is not None and chain.collides(block):
            found.left_out[EIP_7610] += 1
        else:
            found.differs(where, reason)
        return False
    assert block is not None
    chain.places[place.hash] = place
    found.expect(where, "hash", hash32(fields(entry["blockHeader"])["hash"]), place.hash)
    stated = [data(each["sender"], 20) for each in entry.get("transactions", ()) if "sender" in each]
    found.expect(where, "senders", stated, block.claims()["signers"][: len(stated)])
    found.counts["blocks"] += 1
    found.counts["transactions"] += len(block)
    return True
