"""Proofs from a node: `eth_getProof` for many accounts and slots, verified against the header's state root."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mayavi import _kernel
from mayavi.errors import ProofError, RpcError, UsageError
from mayavi.evm.address import checksum
from mayavi.evm.rpc.answers import BadValue, data, fields, hash32, quantity, quantity64
from mayavi.evm.rpc.client import Call, RpcClient
from mayavi.evm.rpc.header import header_fields
from mayavi.evm.rpc.opening import checked_header, read_chain_id
from mayavi.evm.rpc.refusals import NodeRefused
from mayavi.evm.snapshot.state_proof import EMPTY_ROOT, StateProof

SLOTS_PER_CALL = 256
CALLS_PER_BATCH = 64
_EMPTY_CODE_HASH = bytes.fromhex("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")

Progress = Callable[[int, int], None]
"""Callback after each batch: accounts and slots done, in total."""


class ProofRefusedError(ProofError):
    """Node without `eth_getProof`, or without it for this block."""


@dataclass(frozen=True, slots=True)
class AccountProof:
    """Answer of `eth_getProof`: the values that the node states, and trie nodes."""

    address: bytes
    balance: int
    nonce: int
    code_hash: bytes
    storage_hash: bytes
    slots: dict[int, int]
    nodes: tuple[bytes, ...]


def fetch_proof(
    client: RpcClient,
    block_hash: bytes,
    wanted: Mapping[bytes, Sequence[int]],
    *,
    progress: Progress | None = None,
) -> StateProof:
    """Fetch proofs of the accounts and slots in `wanted` at the block with this hash.

    Each answer is verified against the state root of the header, whose hash is recomputed. `ProofError` names the
    account or slot that the node states wrongly or does not prove; `ProofRefusedError` if it gives no proofs.
    """
    question = Call("eth_getBlockByHash", ["0x" + block_hash.hex(), False], lambda answer: answer)
    chain_id, answer = client.batch([Call("eth_chainId", [], read_chain_id), question])
    if answer is None:
        raise UsageError(f"the node at {client.endpoint} knows no block 0x{block_hash.hex()}")
    header = checked_header(answer, None, chain_id, True, f"the node at {client.endpoint}")
    if header.hash != block_hash:
        raise RpcError(f"the node at {client.endpoint} gave another block than 0x{block_hash.hex()}")
    parts = [(address, part) for address in sorted(wanted) for part in _in_parts(sorted(wanted[address]))]
    nodes: dict[bytes, None] = {}
    total, done = sum(1 + len(part) for _, part in parts), 0
    for start in range(0, len(parts), CALLS_PER_BATCH):
        batch = parts[start : start + CALLS_PER_BATCH]
        for proof in _ask(client, batch, header.number):
            _verify(proof, header.state_root, f"the node at {client.endpoint}")
            nodes.update(dict.fromkeys(proof.nodes))
        done += sum(1 + len(part) for _, part in batch)
        if progress:
            progress(done, total)
    return StateProof(chain_id, header_fields(answer), tuple(nodes))


def _in_parts(slots: Sequence[int]) -> list[Sequence[int]]:
    return [slots[at : at + SLOTS_PER_CALL] for at in range(0, len(slots), SLOTS_PER_CALL)] or [[]]


def _ask(client: RpcClient, batch: list[tuple[bytes, Sequence[int]]], number: int) -> list[AccountProof]:
    # By number: whatever block the node takes, only proofs of the pinned header's state root are accepted.
    calls = [
        Call(
            "eth_getProof",
            ["0x" + address.hex(), [f"0x{slot:064x}" for slot in slots], hex(number)],
            _reader(address, slots),
        )
        for address, slots in batch
    ]
    answers = client.attempt(calls)
    for answer in answers:
        if isinstance(answer, NodeRefused):
            hint = "use a node that has eth_getProof, such as Geth, Reth or Nethermind"
            raise ProofRefusedError(answer.message, hint if answer.unsupported else answer.hint)
    return answers


def _reader(address: bytes, slots: Sequence[int]) -> Callable[[object], AccountProof]:
    def read(answer: object) -> AccountProof:
        proof = read_account_proof(answer)
        if proof.address != address or proof.slots.keys() != set(slots):
            raise BadValue("it proves another account, or other slots")
        return proof

    return read


def read_account_proof(answer: object) -> AccountProof:
    """Parse an answer of `eth_getProof`; `BadValue` if it is malformed."""
    given = fields(answer)
    nodes = [data(node) for node in _list(given.get("accountProof"))]
    slots: dict[int, int] = {}
    for entry in map(fields, _list(given.get("storageProof"))):
        slots[quantity(entry.get("key"))] = quantity(entry.get("value"))
        nodes += [data(node) for node in _list(entry.get("proof"))]
    return AccountProof(
        data(given.get("address"), 20),
        quantity(given.get("balance")),
        quantity64(given.get("nonce")),
        hash32(given.get("codeHash")),
        hash32(given.get("storageHash")),
        slots,
        tuple(nodes),
    )


def _verify(proof: AccountProof, state_root: bytes, who: str) -> None:
    """Raise `ProofError` unless the nodes prove what the answer states."""
    name = checksum(proof.address)
    distrust = "do not trust this node; ask another one"
    try:
        witness = _kernel.Witness(state_root, proof.nodes)
        found = witness.account(proof.address)
        nonce, balance, storage_root, code_hash = found or (0, 0, EMPTY_ROOT, _EMPTY_CODE_HASH)
        if found is None:
            # Nodes disagree on the hashes of an account that does not exist.
            code_hash, storage_root = proof.code_hash, proof.storage_hash
        for what, stated, proven in (
            ("balance", proof.balance, balance),
            ("nonce", proof.nonce, nonce),
            ("code hash", proof.code_hash.hex(), code_hash.hex()),
            ("storage root", proof.storage_hash.hex(), storage_root.hex()),
        ):
            if stated != proven:
                raise ProofError(f"{who} states {what} {stated} of {name}, its proof gives {proven}", distrust)
        for slot, stated_value in proof.slots.items():
            value = witness.slot(proof.address, slot)
            if value != stated_value:
                raise ProofError(
                    f"{who} states {stated_value:#x} in {name} slot {slot:#x}, its proof gives {value:#x}", distrust
                )
    except _kernel.MissingState as error:
        raise ProofError(f"{who} does not prove its state: {error.args[0]}", distrust) from None
    except ValueError as error:
        raise ProofError(f"{who} gave a malformed proof of {name}: {error}", distrust) from None


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise BadValue(f"{value!r:.80} is not a list")
    return value
