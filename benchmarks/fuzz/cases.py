"""Random cases of each channel: a way in which calls reach specialised execution."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from benchmarks.fuzz.bytecode import SELECTOR, Rules
from benchmarks.fuzz.languages import Batch, compiled
from benchmarks.fuzz.playing import Account, Case
from benchmarks.fuzz.programs import FLOATS, ProgramWriter, gas_limit, rare_program
from benchmarks.fuzz.worlds import (
    DOOMED,
    END,
    KNOWN,
    LIBRARY,
    MAKER,
    OTHER,
    SENDERS,
    TARGET,
    draw_accounts,
    draw_block,
    draw_rules,
)

Channel = Callable[[random.Random, bool], Case]


def chosen_words(rng: random.Random, count: int, words: int) -> bytes:
    """Indices of `count` words: evenly, or one of them mostly."""
    if rng.random() < 0.4:
        usual = rng.randrange(words)
        return bytes(usual if rng.random() < 0.85 else rng.randrange(words) for _ in range(count))
    return bytes(index % words for index in rng.randbytes(count))


def fleet_case(
    rng: random.Random, brief: bool, hardfork: str | None = None, *, whole: bool, reopened: bool = False
) -> Case:
    """Programs on a fleet, with rare programs and changes of rows between them."""
    # Whole steps have rules of their own for refunds, and for accounts that end.
    rules = draw_rules(rng, ["refunds", "life", "refunds", "life", "transient"] if whole else [], hardfork)
    case = Case(rules.hardfork, draw_accounts(rng, rules), [], draw_block(rng))
    case.rows = rng.choice([8, 16, 32, 64] if brief else [16, 32, 64, 128])
    case.words = list(rules.pool)
    case.floats = list(FLOATS)
    case.threads = 2 if rng.random() < 0.05 else 1
    usual = rng.choice([1, 1, 2])
    case.programs = [ProgramWriter(rng, rules, whole=whole).program() for _ in range(usual)]
    case.programs += [rare_program(rng, rules, whole=whole) for _ in range(2)]
    # Single calls become machine code after 512 hits.
    rows = rng.choice(([60, 150, 300] if whole else [200, 600]) if brief else [500, 500, 800, 800, 1_500, 4_000])
    rounds, steps = rng.choice([2, 2, 3] if brief else [2, 3, 4]), max(3, rows // case.rows)
    for number in range(rounds):
        for _ in range(steps):
            program = rng.randrange(usual)
            inputs = drawn_inputs(rng, case, program)
            if rng.random() < 0.05 and case.rows > 16:
                some = sorted(rng.sample(range(case.rows), case.rows // 3))
                case.events.append(("only", program, some, inputs))
            else:
                case.events.append(("run", program, inputs))
        case.events += [("identities",), ("finish_compiling",)]
        if number + 1 < rounds:
            case.events += fleet_changes(rng, rules, case, usual)
        if reopened and number == rounds // 2:
            case.events.append(("reopen",))
    return case


def drawn_inputs(rng: random.Random, case: Case, program: int) -> dict[str, bytes]:
    """Draw the inputs of a program."""
    inputs: dict[str, bytes] = {}
    for kind, *more in case.programs[program][1]:
        if kind == "input":
            inputs[more[0]] = chosen_words(rng, case.rows, len(case.words))
        elif kind == "input_floats":
            name, count = more
            inputs[name] = chosen_words(rng, case.rows * count, len(case.floats))
    return inputs


def fleet_changes(rng: random.Random, rules: Rules, case: Case, usual: int) -> list[tuple[Any, ...]]:
    """Draw what happens to rows between the steps."""
    events: list[tuple[Any, ...]] = []
    for _ in range(rng.randrange(1, 4)):
        drawn, row, other = rng.random(), rng.randrange(case.rows), rng.randrange(case.rows)
        if drawn < (0.8 if rules.theme == "life" else 0.5):
            program = rng.randrange(usual, len(case.programs))
            events.append(("run", program, drawn_inputs(rng, case, program)))
        elif drawn < 0.7:
            changes = [drawn_change(rng, rules) for _ in range(rng.randrange(1, 3))]
            events.append(("change", row, changes))
        elif drawn < 0.8:
            events.append(("reset", sorted(rng.sample(range(case.rows), rng.randrange(1, case.rows)))))
        elif drawn < 0.9:
            events.append(("copy_row", row, other))
        else:
            events.append(("keep_and_put", row, other))
    return events


def drawn_change(rng: random.Random, rules: Rules) -> tuple[Any, ...]:
    """Draw a change of state, code or block."""
    drawn, account = rng.random(), rng.choice(KNOWN)
    if drawn < 0.3:
        return "set_storage", account, rng.randrange(8), rng.choice([0, 1, 5, rules.constant(rng)])
    if drawn < 0.45:
        code = rng.choice([b"", "5 0 SSTORE", "7 0 MSTORE 32 0 RETURN", "4 CALLDATALOAD 0 MSTORE 32 0 RETURN"])
        return "set_code", rng.choice(KNOWN[1:]), code
    if drawn < 0.52:
        return "set_balance", rng.choice([*SENDERS, *KNOWN[:3]]), rng.choice([0, 1, 10**18])
    if drawn < 0.56:
        return "set_nonce", rng.choice([*SENDERS, MAKER]), rng.choice([0, 1, 2, 2**32])
    if drawn < 0.65:
        fields: dict[str, Any] = rng.choice([
            {"number": 1_100}, {"timestamp": 60_000}, {"base_fee": 9}, {"coinbase": EMPTY_COINBASE},
            {"gas_limit": 40_000_000}, {"prevrandao": b"\7" * 32}, {"excess_blob_gas": 2**25},
        ])  # fmt: skip
        return "set_block", fields
    if drawn < 0.78:
        return "mine", rng.randrange(1, 3), rng.randrange(1, 30)
    data = SELECTOR + rng.choice([END, END, 0, 1]).to_bytes(32, "big") + bytes(32 * (rules.words - 1))
    return "send", rng.choice([DOOMED, DOOMED, MAKER, TARGET]), data, rng.choice(SENDERS), 1_000_000


EMPTY_COINBASE = b"\x55" * 20


class ForkRequests:
    """Draws the requests of a fork."""

    def __init__(self, rng: random.Random, hardfork: str | None = None) -> None:
        self.rng, self.rules = rng, draw_rules(rng, [], hardfork)
        self.case = Case(self.rules.hardfork, draw_accounts(rng, self.rules), [], draw_block(rng))
        self.case.words = list(self.rules.pool)
        self.words = [word.to_bytes(32, "big") for word in self.case.words]
        self.case.threads = 2 if rng.random() < 0.05 else 1
        self.gas = gas_limit(rng)
        self.senders = SENDERS[: rng.choice([1, 2, 3])]
        self.usual = rng.randrange(len(self.words))
        self.skewed = rng.random() < 0.4
        self.price = rng.choice([1, 10**9]) if rng.random() < 0.15 else 0
        if self.price:
            for sender in self.senders:
                self.case.accounts[sender] = Account(balance=10**20)
            self.case.events.append(("set_rules", {"charge_fees": True}))

    def data(self) -> bytes:
        """Draw calldata."""
        rng, words = self.rng, self.words
        if self.skewed and rng.random() < 0.8:
            chosen = [words[self.usual]] * self.rules.words
            chosen[rng.randrange(len(chosen))] = rng.choice(words)
        else:
            chosen = rng.choices(words, k=self.rules.words)
        return SELECTOR + b"".join(chosen)

    def to(self) -> bytes:
        """Draw a target."""
        return TARGET if self.rng.random() < 0.9 else self.rng.choice([OTHER, DOOMED, MAKER])

    def sends(self, count: int) -> None:
        """Send transactions."""
        rng, events = self.rng, self.case.events
        for _ in range(count):
            gas = self.gas if rng.random() < 0.97 else gas_limit(rng)
            value = 1 if rng.random() < 0.005 else 0
            price = self.price if rng.random() < 0.8 else 0
            events.append(("send", self.to(), self.data(), rng.choice(self.senders), gas, value, price))
            if rng.random() < 0.02:
                steps: list[Any] = []
                for _ in range(rng.randrange(1, 4)):
                    bounds = (bytes(32), rng.choice([b"\xff" * 32, bytes(31) + b"\x05"]))
                    steps.append((self.to(), self.data(), bounds if rng.random() < 0.3 else None))
                events.append(("attempt", steps, rng.choice(self.senders)))

    def calls(self, count: int) -> None:
        """Make single calls."""
        sender = self.rng.choice(SENDERS)
        for _ in range(count):
            self.case.events.append(("call", self.to(), self.data(), sender, self.gas))

    def batches(self, count: int) -> None:
        """Make batches."""
        rng, sender = self.rng, self.rng.choice(SENDERS)
        for _ in range(count):
            size = rng.choice([1, 2, 5, 20, 100, 100, 400])
            if rng.random() < 0.5:
                datas = [self.data() for _ in range(size)]
                if rng.random() < 0.05:
                    datas[-1] += rng.choice([b"\1", bytes(32)])
                self.case.events.append(("call_many", self.to(), datas, sender, self.gas))
            else:
                template = self.data()
                offsets = rng.sample(range(4, len(template), 32), rng.randrange(1, self.rules.words + 1))
                holes = {at: chosen_words(rng, size, len(self.words)) for at in offsets}
                self.case.events.append(("call_words", self.to(), template, holes, rng.randrange(1, 4), sender))

    def changes(self, count: int) -> None:
        """Change state, code or block, take snapshots and revert to them."""
        rng, events = self.rng, self.case.events
        for _ in range(count):
            drawn = rng.random()
            if drawn < 0.6:
                events.append(drawn_change(rng, self.rules))
            elif drawn < 0.75:
                events.append(("snapshot",))
            elif drawn < 0.9:
                events.append(("revert",))
            elif drawn < 0.94:
                events.append(("copy",))
            elif drawn < 0.97:
                events.append(("set_rules", {"charge_fees": rng.random() < 0.5}))
            else:
                events.append(("set_hardfork", rng.choice(["osaka", "cancun", self.rules.hardfork])))
            events.append(("digest",))

    def finished(self) -> Case:
        """Return the case, whose last event observes the state."""
        self.case.events += [("finish_compiling",), ("digest",)]
        return self.case


def steps_case(rng: random.Random, brief: bool) -> Case:
    """Whole steps."""
    return fleet_case(rng, brief, whole=True)


def fleets_case(rng: random.Random, brief: bool) -> Case:
    """Single calls of a fleet."""
    return fleet_case(rng, brief, whole=False)


def caches_case(rng: random.Random, brief: bool) -> Case:
    """A fleet whose paths another one takes up."""
    return fleet_case(rng, brief, whole=rng.random() < 0.6, reopened=True)


def sends_case(rng: random.Random, brief: bool) -> Case:
    """Transactions of a fork."""
    requests = ForkRequests(rng)
    for _ in range(rng.choice([1, 2] if brief else [1, 2, 4])):
        requests.sends(rng.choice([30, 100] if brief else [200, 400]))
        requests.case.events.append(("digest",))
        if rng.random() < 0.5:
            requests.changes(1)
    return requests.finished()


def views_case(rng: random.Random, brief: bool) -> Case:
    """Single calls of a fork."""
    requests = ForkRequests(rng)
    for _ in range(rng.choice([1, 2] if brief else [1, 2, 3])):
        requests.calls(rng.choice([30, 100] if brief else [300, 600]))
        requests.case.events.append(("finish_compiling",))
        if rng.random() < 0.5:
            requests.changes(1)
    return requests.finished()


def batches_case(rng: random.Random, brief: bool) -> Case:
    """Batches of calls of a fork."""
    requests = ForkRequests(rng)
    for _ in range(rng.choice([1, 2] if brief else [1, 2, 4])):
        requests.batches(rng.choice([4, 8] if brief else [6, 12]))
        requests.case.events.append(("finish_compiling",))
        if rng.random() < 0.5:
            requests.changes(1)
    return requests.finished()


def changes_case(rng: random.Random, brief: bool, hardfork: str | None = None) -> Case:
    """Transactions, calls and batches of a fork, with many changes between them."""
    requests = ForkRequests(rng, hardfork)
    for _ in range(rng.choice([4, 8] if brief else [10, 20])):
        drawn = rng.random()
        if drawn < 0.5:
            requests.sends(rng.choice([10, 30] if brief else [10, 30, 60]))
        elif drawn < 0.75:
            requests.calls(rng.choice([10, 30] if brief else [20, 60]))
        else:
            requests.batches(2)
        requests.changes(rng.randrange(1, 4))
    return requests.finished()


def languages_case(rng: random.Random, brief: bool, batch: Batch) -> Case:
    """Contracts in Vyper and Solidity, on a fleet or a fork."""
    if rng.random() < 0.5:
        case = fleet_case(rng, brief, batch.hardfork, whole=rng.random() < 0.5)
    else:
        case = changes_case(rng, brief, batch.hardfork)
        deal = "deal", TARGET, rng.choice(SENDERS), rng.choice(case.words)
        case.events.insert(len(case.events) // 2, deal)
    for place in (TARGET, LIBRARY):
        case.accounts[place] = Account(creation=rng.choice(batch.codes))
    return case


CHANNELS: dict[str, Channel] = {
    "fleets": fleets_case,
    "steps": steps_case,
    "sends": sends_case,
    "views": views_case,
    "batches": batches_case,
    "changes": changes_case,
    "caches": caches_case,
}
LANGUAGES = "languages"
"""Channel of contracts that are compiled from source."""
CHECK = ("check",)
MODES = [("on",), CHECK, CHECK, CHECK, ("on", "check")]
"""Modes that a case is compared in."""
CASES_A_BATCH = 60
"""Cases with the contracts of one batch."""


def draw_case(channel: str, seed: int, number: int) -> tuple[Case, tuple[str, ...]]:
    """Draw a case of a channel, and the modes to compare. Those of `check` alone are brief: it records earlier."""
    rng = random.Random(f"{seed} {channel} {number}")
    modes = rng.choice(MODES)
    brief = modes == CHECK
    if channel == LANGUAGES:
        return languages_case(rng, brief, compiled(seed, number // CASES_A_BATCH)), modes
    return CHANNELS[channel](rng, brief), modes
