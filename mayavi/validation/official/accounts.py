"""Pre-state and post-state of official tests: open the one, compare with the other."""

from __future__ import annotations

from typing import Any

from mayavi.evm.rpc.answers import data, fields, quantity
from mayavi.evm.state import Evm, State
from mayavi.validation.official.findings import Findings

Account = tuple[int, int, bytes, dict[int, int]]
"""Balance, nonce, code and slots."""

MOST_CODE = 1 << 24


def read_accounts(content: object) -> dict[bytes, Account]:
    """Parse the accounts of a test."""
    return {data(address, 20): _account(fields(each)) for address, each in fields(content).items()}


def _account(content: dict[str, Any]) -> Account:
    slots = {quantity(slot): quantity(value) for slot, value in fields(content["storage"]).items()}
    return quantity(content["balance"]), quantity(content["nonce"], 64), data(content["code"], None, MOST_CODE), slots


def world_of(accounts: dict[bytes, Account], hardfork: str, chain_id: int = 1) -> State:
    """Make a closed world of the accounts."""
    return State.of_accounts(chain_id, hardfork, accounts)


def has_storage_alone(account: Account) -> bool:
    """Whether an account has storage, but neither code nor nonce: on mainnet there is none."""
    _, nonce, code, slots = account
    return not nonce and not code and any(slots.values())


def compare_accounts(evm: Evm, expected: dict[bytes, Account], where: str, found: Findings) -> None:
    """Compare every account and slot of a test with the state that was reached."""
    for address, (balance, nonce, code, slots) in expected.items():
        name = f"{where}, account 0x{address.hex()}"
        found.expect(name, "balance", balance, evm.balance(address))
        found.expect(name, "nonce", nonce, evm.nonce(address))
        found.expect(name, "code", code, evm.code(address))
        for slot, value in slots.items():
            found.expect(name, f"slot {slot:#x}", value, evm.storage(address, slot))
        found.counts["accounts"] += 1
        found.counts["slots"] += len(slots)
