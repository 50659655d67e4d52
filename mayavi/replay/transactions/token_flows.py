"""Token transfers of a transaction, and what each account gained and lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from mayavi.evm.receipt import Log
from mayavi.protocols.topics import DEPOSIT, TRANSFER, WITHDRAWAL

NOBODY = bytes(20)


@dataclass(frozen=True, slots=True)
class TokenTransfer:
    """Transfer of `amount` of a token, or of one item `token_id` of a collection."""

    token: bytes
    sender: bytes
    receiver: bytes
    amount: int
    token_id: int | None = None


class Holding(NamedTuple):
    """Account and token."""

    account: bytes
    token: bytes


def token_transfers(logs: Iterable[Log], wrappers: Callable[[bytes], bool] = lambda token: True) -> list[TokenTransfer]:
    """Return the transfers in `logs`, in order.

    A deposit or withdrawal of a wrapper of the native coin counts as a transfer from or to the zero address, unless
    the contract also logs a transfer for it.
    """
    listed = list(logs)
    minted = {
        (log.address, log.topics[1], log.topics[2])
        for log in listed
        if len(log.topics) == 3 and log.topics[0] == TRANSFER and bytes(32) in log.topics[1:]
    }
    found = []
    for log in listed:
        if not log.topics:
            continue
        kind, places = log.topics[0], [topic[12:] for topic in log.topics[1:]]
        if kind == TRANSFER and len(places) == 2 and len(log.data) >= 32:
            found.append(TokenTransfer(log.address, places[0], places[1], int.from_bytes(log.data[:32])))
        elif kind == TRANSFER and len(places) == 3:
            number = int.from_bytes(log.topics[3])
            found.append(TokenTransfer(log.address, places[0], places[1], 1, number))
        elif kind in (DEPOSIT, WITHDRAWAL) and len(places) == 1 and len(log.data) == 32 and wrappers(log.address):
            ends = (bytes(32), log.topics[1]) if kind == DEPOSIT else (log.topics[1], bytes(32))
            if (log.address, *ends) not in minted:
                pair = (NOBODY, places[0]) if kind == DEPOSIT else (places[0], NOBODY)
                found.append(TokenTransfer(log.address, *pair, int.from_bytes(log.data)))
    return found


def net_flows(transfers: Iterable[TokenTransfer]) -> dict[Holding, int]:
    """Return what each account gained (positive) or lost of each token, without zeros."""
    flows: dict[Holding, int] = {}
    for each in transfers:
        if each.token_id is None:
            for account, sign in ((each.sender, -1), (each.receiver, 1)):
                if account != NOBODY:
                    holding = Holding(account, each.token)
                    flows[holding] = flows.get(holding, 0) + sign * each.amount
    return {holding: amount for holding, amount in flows.items() if amount}
