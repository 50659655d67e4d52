"""Transactions of state tests, sent often enough that recorded paths replay them.

All cases of a test share a world and so their call sites. Each is sent from the same state, the cases in turn: a path
that one case took is tried for the others, whose calldata its guards must tell apart. Two rounds compare each replay
with the interpreter in the kernel (`check`), the later ones trust it (`on`). What each round leaves is compared with
the root of the test, or with what the interpreter leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from mayavi.errors import ReplayDiffers
from mayavi.evm.state import Evm, InvalidTransaction, State, is_before, logs_hash
from mayavi.validation.official.findings import Findings

ROUNDS = ("check",) * 2 + ("on",) * 8
"""Mode of each round. The first one records; what is the interpreter's after it does not go on."""
REPEATS = 3
"""Transactions in a row, each on the state that the one before has left."""
MOST_GAS = 20_000_000
"""Gas of transactions that are sent again and again; costlier ones are interpreted once."""
WORD = 32


@dataclass(frozen=True, slots=True)
class Sent:
    """A transaction as `Evm.transact` takes it."""

    sender: bytes
    to: bytes | None
    data: bytes
    gas: int
    value: int
    gas_price: int
    priority_fee: int | None

    def plain(self) -> Sent:
        """Return the transaction in the form that call sites have: no value, whole words of calldata."""
        words = -(-max(len(self.data) - 4, 0) // WORD)
        return replace(self, value=0, data=self.data.ljust(4 + WORD * words, b"\0"))


class Outcome(NamedTuple):
    """Outcome of a transaction. The fields that explain a difference best come first."""

    status: str
    gas_used: int
    output: bytes
    logs: bytes
    """Their hash."""
    root: bytes
    """The state, by its root."""

    def compare(self, other: Outcome, where: str, found: Findings) -> bool:
        """Note the first difference of another outcome; returns whether there is none."""
        pairs = zip(self._fields, self, other, strict=True)
        return all(found.expect(where, name.replace("_", " "), expected, got) for name, expected, got in pairs)


Expected = tuple[str, Sent, Outcome]
"""Where a case is, its transaction, and what must come of it."""


def check_sends(
    world: State,
    hardfork: str,
    environment: dict[str, Any],
    cases: Sequence[tuple[str, Sent, bytes, bytes]],
    found: Findings,
) -> None:
    """Send the cases of one hard fork: first as the test has them, then in the form that every call site has."""
    evm = Evm.from_state(world)
    evm.hardfork = hardfork
    evm.set_block(**environment)
    evm.set_rules(charge_fees=True, check_balance=True)
    if is_before(hardfork, "london"):
        found.left_out[f"transactions under {hardfork}, for whose rules no paths are made: interpreted alone"] += len(
            cases
        )
    as_given: list[Expected] = []
    plain: dict[Sent, Expected] = {}
    for where, sent, root, logs in cases:
        outcome = _outcome(evm, sent)
        found.counts["transactions sent"] += 1
        same = found.expect(f"{where}, sent", "state root", root, outcome.root)
        if not same & found.expect(f"{where}, sent", "hash of the logs", logs, outcome.logs):
            continue
        as_given.append((where, sent, outcome))
        if sent.to is not None and sent.plain() != sent and sent.plain() not in plain:
            changed = f"{where}, without value and in whole words"
            plain[sent.plain()] = (changed, sent.plain(), _outcome(evm, sent.plain()))
    for chosen in (as_given, list(plain.values())):
        for where, sent, _ in _send_in_rounds(evm, chosen, found):
            _send_in_a_row(evm, sent, f"{where}, {REPEATS} times in a row", found)


def _send_in_rounds(evm: Evm, cases: list[Expected], found: Findings) -> list[Expected]:
    """Send the cases in turn, round by round; return those that are replayed."""
    replayed: set[Sent] = set()
    for number, mode in enumerate(ROUNDS):
        followed = []
        for case in cases:
            name, sent, expected = case
            where = f"{name}, round {number} with {mode}"
            with _Counted(evm, mode, found) as counts:
                outcome = _outcome(evm, sent)
            expected.compare(outcome, where, found)
            if counts.hits:
                replayed.add(sent)
            if counts.calls and not counts.left:
                followed.append(case)
        cases = followed  # the others are the interpreter's, however often they are sent
    return [case for case in cases if case[1] in replayed]


def _send_in_a_row(evm: Evm, sent: Sent, where: str, found: Findings) -> None:
    """Send a transaction again and again, by the interpreter and by recorded paths, and compare what each leaves."""
    ways = []
    for mode in ("off", "on"):
        before = evm.snapshot()
        with _Counted(evm, mode, found):
            ways.append([_sent(evm, sent) for _ in range(REPEATS)])
        evm.revert(before)
    for number, (expected, outcome) in enumerate(zip(*ways, strict=True)):
        if not expected.compare(outcome, f"{where}, number {number}", found):
            return


def _outcome(evm: Evm, sent: Sent) -> Outcome:
    """Send a transaction from the state that is there, and go back to it."""
    before = evm.snapshot()
    outcome = _sent(evm, sent)
    evm.revert(before)
    return outcome


def _sent(evm: Evm, sent: Sent) -> Outcome:
    """Send a transaction and keep its effects."""
    try:
        receipt = evm.transact(sent.to, sent.data, sent.sender, sent.value, sent.gas, sent.gas_price, sent.priority_fee)
    except InvalidTransaction as error:
        return Outcome(f"refused: {error}", 0, b"", b"", evm.state_root())
    except (ReplayDiffers, RuntimeError) as error:  # RuntimeError: the EVM panicked
        return Outcome(f"failed: {error}", 0, b"", b"", evm.state_root())
    logs = logs_hash(receipt.logs)
    return Outcome(receipt.reason, receipt.gas_used, receipt.output, logs, evm.state_root())


class _Counted:
    """Counts of the call sites while a mode is on: calls that they looked at, replayed, and left to the interpreter."""

    def __init__(self, evm: Evm, mode: str, found: Findings) -> None:
        self.evm, self.mode, self.found = evm, mode, found

    def __enter__(self) -> Self:
        self.calls, self.hits, self.left = self._totals()
        self.evm.specialise = self.mode
        return self

    def __exit__(self, *_: object) -> None:
        self.evm.specialise = "off"
        calls, hits, left = self._totals()
        self.calls, self.hits, self.left = calls - self.calls, hits - self.hits, left - self.left
        if self.calls:
            self.found.sent[self.evm.hardfork] += self.calls
            self.found.replayed[self.evm.hardfork] += self.hits

    def _totals(self) -> tuple[int, int, int]:
        totals = self.evm.total_statistics()
        return totals.get("calls", 0), totals.get("hits", 0), totals.get("left", 0)
