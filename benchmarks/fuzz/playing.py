"""A case of the fuzzer, and what it gives in one mode of specialised execution.

A case is plain data: a world, then either programs for a fleet or requests for a fork, as a list of events. Playing it
uses the public API alone. A reproduction contains this file, so it imports nothing else of the fuzzer but `assemble`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.assembly import assemble
from mayavi.errors import MayaviError, ReplayDiffers
from mayavi.evm.fleet import Fleet, Program, Template, Word
from mayavi.evm.fork import Fork
from mayavi.evm.path_cache import PathCache

DEPLOYER = b"\xd0" * 20


@dataclass
class Account:
    """Account of a world before the first event."""

    code: str | bytes = b""
    """Runtime code: assembly or bytes."""
    creation: bytes = b""
    """Code that creates it at its address, after the other accounts; none if empty."""
    storage: dict[int, int] = field(default_factory=dict)
    balance: int = 0


@dataclass
class Case:
    """World and events; `programs` and `rows` are those of a fleet, without rows the events are a fork's."""

    hardfork: str
    accounts: dict[bytes, Account]
    events: list[tuple[Any, ...]]
    block: dict[str, Any] = field(default_factory=dict)
    rows: int = 0
    programs: list[tuple[bool, list[tuple[Any, ...]]]] = field(default_factory=list)
    """Whether each may be replayed as a whole, and its operations."""
    words: list[int] = field(default_factory=list)
    """Words that inputs name by their index."""
    floats: list[float] = field(default_factory=list)
    threads: int = 1


@dataclass
class Played:
    """Observations of each event, and the counts of call sites and programs."""

    seen: list[Any]
    sites: list[dict[str, Any]]
    programs: list[dict[str, Any]]

    @property
    def mismatches(self) -> list[str]:
        """What differed where a recording contradicted itself: it is not used, so no outcome shows that."""
        return [each["off"] or "a recording" for each in self.sites + self.programs if each["mismatches"]]


def play(case: Case, mode: str) -> Played:
    """Play a case. An error is an observation; a difference that the kernel finds, or a panic, ends it."""
    if ("reopen",) not in case.events:
        return played(case, FleetPlayer(case, mode) if case.rows else ForkPlayer(case, mode))
    with tempfile.TemporaryDirectory() as folder:
        return played(case, FleetPlayer(case, mode, Path(folder)))


def played(case: Case, player: FleetPlayer | ForkPlayer) -> Played:
    """Let a player play all events."""
    seen: list[Any] = []
    for event in case.events:
        try:
            seen.append(getattr(player, event[0])(*event[1:]))
        except ReplayDiffers as error:
            seen.append((type(error).__name__, str(error)))
            break
        except (MayaviError, ValueError, OverflowError) as error:
            seen.append((type(error).__name__, str(error)))
        except BaseException as error:
            if not isinstance(error, RuntimeError) and type(error).__name__ != "PanicException":
                raise
            seen.append((type(error).__name__, str(error)))
            break
    return Played(seen, *player.statistics())


def open_world(case: Case) -> Fork:
    """Fork over the frozen world of a case."""
    fork = Fork.empty(hardfork=case.hardfork)
    fork.set_block(**{"number": 1_000, "timestamp": 50_000, **case.block})
    for place, account in case.accounts.items():
        if account.code:
            fork.set_code(place, assembled(account.code))
        for slot, value in account.storage.items():
            fork.set_storage(place, slot, value)
        if account.balance:
            fork.set_balance(place, account.balance)
    for place, account in case.accounts.items():
        if account.creation:
            fork.create_at(place, account.creation, sender=DEPLOYER)
    return Fork.from_state(fork.freeze(), labels={}, source={})


def assembled(code: str | bytes) -> bytes:
    """Bytes of code that may be assembly."""
    return assemble(code) if isinstance(code, str) else code


class ForkPlayer:
    """Requests of a fork."""

    def __init__(self, case: Case, mode: str, fork: Fork | None = None) -> None:
        self.case, self.mode = case, mode
        self.fork = fork or open_world(case)
        self.fork.specialise = mode
        self.snapshots: list[Any] = []

    def statistics(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Counts of the call sites of reads and transactions."""
        return self.fork.statistics(), []

    def send(self, to: bytes, data: bytes, sender: bytes, gas: int, value: int = 0, gas_price: int = 0) -> Any:
        """Send a transaction."""
        receipt = self.fork.send(to, data, sender, value, gas, gas_price=gas_price, check=False)
        return receipt.success, receipt.gas_used, receipt.output, receipt.logs, receipt.reason

    def attempt(self, steps: list[Any], sender: bytes) -> Any:
        """Send several transactions, all or none."""
        done = self.fork.attempt(steps, sender)
        return done and [(each.success, each.gas_used, each.output, each.logs) for each in done]

    def call(self, to: bytes, data: bytes, sender: bytes, gas: int) -> bytes:
        """Read by a single call."""
        return self.fork.call(to, data, sender, gas=gas)

    def call_many(self, to: bytes, datas: list[bytes], sender: bytes, gas: int) -> Any:
        """Read by a batch."""
        return self.fork.call_many(to, datas, sender, gas=gas, check=False, threads=self.case.threads)

    def call_words(self, to: bytes, data: bytes, holes: dict[int, bytes], returns: int, sender: bytes) -> Any:
        """Read by a batch of arrays; each hole names words of the case."""
        words = _pool(self.case)
        columns = {at: words[np.frombuffer(chosen, np.uint8)] for at, chosen in holes.items()}
        found = self.fork.call_words(to, data, columns, returns, sender, check=False, threads=self.case.threads)
        return [column.words.tobytes() for column in found]

    def set_storage(self, place: bytes, slot: int, value: int) -> None:
        """Write a slot."""
        self.fork.set_storage(place, slot, value)

    def set_code(self, place: bytes, code: str | bytes) -> None:
        """Replace code."""
        self.fork.set_code(place, assembled(code))

    def set_balance(self, place: bytes, amount: int) -> None:
        """Write a balance."""
        self.fork.set_balance(place, amount)

    def set_nonce(self, place: bytes, nonce: int) -> None:
        """Write a nonce."""
        self.fork.set_nonce(place, nonce)

    def deal(self, token: bytes, holder: bytes, amount: int) -> None:
        """Give an account tokens."""
        self.fork.deal(token, holder, amount)

    def set_block(self, fields: dict[str, Any]) -> None:
        """Change fields of the block."""
        self.fork.set_block(**fields)

    def set_rules(self, fields: dict[str, bool]) -> None:
        """Switch checks of transactions."""
        self.fork.set_rules(**fields)

    def set_hardfork(self, name: str) -> None:
        """Change the rules."""
        self.fork.set_hardfork(name)

    def mine(self, blocks: int, seconds: int) -> None:
        """Advance blocks and time."""
        self.fork.mine(blocks, seconds)

    def snapshot(self) -> None:
        """Take a snapshot."""
        self.snapshots.append(self.fork.snapshot())

    def revert(self) -> None:
        """Revert to the last snapshot."""
        if self.snapshots:
            self.snapshots.pop().revert()

    def copy(self) -> None:
        """Go on with a copy of the fork."""
        self.fork, self.snapshots = self.fork.copy(), []

    def finish_compiling(self) -> None:
        """Wait for machine code."""
        if self.mode != "off":
            self.fork.finish_compiling()

    def digest(self) -> str:
        """Observe the whole state."""
        return self.fork.digest()


class FleetPlayer:
    """Programs on the rows of a fleet."""

    def __init__(self, case: Case, mode: str, folder: Path | None = None) -> None:
        self.case, self.mode = case, mode
        self.world = open_world(case)
        self.cache = None if folder is None else PathCache(self.world.digest(), folder)
        self.fleet = Fleet(self.world, case.rows, specialise=mode, cache=self.cache)
        self.programs = [build(whole, operations) for whole, operations in case.programs]
        self.words, self.floats = _pool(case), np.array(case.floats or [0.0] * 256)
        self.earlier: tuple[list[dict[str, Any]], list[dict[str, Any]]] = [], []

    def statistics(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Counts of the call sites and programs of all fleets so far."""
        sites, programs = self.earlier
        return sites + self.fleet.statistics(), programs + self.fleet.program_statistics()

    def run(self, number: int, inputs: dict[str, bytes], only: list[int] | None = None) -> Any:
        """Run a program; inputs name words, or floats, of the case by their index in each row."""
        program = self.programs[number]
        rows = len(self.fleet)
        indices = {name: np.frombuffer(chosen, np.uint8).reshape(rows, -1) for name, chosen in inputs.items()}
        if only is not None:
            indices = {name: chosen[only] for name, chosen in indices.items()}
        given: dict[str, Any] = {name: self.words[indices[name][:, 0]] for name in program.inputs}
        given |= {name: self.floats[indices[name]] for name, _ in program.float_inputs}
        found = self.fleet.run(program, threads=self.case.threads, only=only, **given)
        return {
            "words": found.words,
            **{f"floats {name}": array.view(np.uint8) for name, array in found.arrays.items()},
        }

    def only(self, number: int, rows: list[int], inputs: dict[str, bytes]) -> Any:
        """Run a program on some rows."""
        return self.run(number, inputs, [row for row in rows if row < self.case.rows])

    def change(self, row: int, events: list[tuple[Any, ...]]) -> Any:
        """Let requests of a fork change a row."""
        player = ForkPlayer(self.case, self.mode, self.fleet.fork(row))
        seen = [getattr(player, event[0])(*event[1:]) for event in events]
        self.fleet.set_row(row, player.fork)
        return seen

    def reset(self, rows: list[int] | None = None) -> None:
        """Reset rows."""
        self.fleet.reset(rows)

    def copy_row(self, source: int, to: int) -> None:
        """Copy a row."""
        self.fleet.copy_row(source, to)

    def keep_and_put(self, source: int, to: int) -> None:
        """Save a row and restore it as another one."""
        self.fleet.put(to, self.fleet.keep(source))

    def finish_compiling(self) -> None:
        """Wait for machine code."""
        self.fleet.finish_compiling()

    def identities(self) -> list[bytes]:
        """Observe the whole state of every row."""
        return self.fleet.identities()

    def reopen(self) -> None:
        """Keep the paths, and go on with a new fleet that takes them up."""
        self.earlier = self.statistics()
        self.fleet.save_paths()
        self.fleet = Fleet(self.world, self.case.rows, specialise=self.mode, cache=self.cache)


def _pool(case: Case) -> Any:
    raw = b"".join(word.to_bytes(32, "big") for word in case.words or [0])
    return np.frombuffer(raw, np.uint8).reshape(-1, 32)


def build(whole: bool, operations: list[tuple[Any, ...]]) -> Program:
    """Build a program. Words have names; a name that no operation has defined is zero."""
    program = Program(whole=whole)
    words: dict[str, Any] = {}

    def word(source: Any) -> Any:
        return words.get(source, 0) if isinstance(source, str) else source

    def as_float(source: Any) -> Any:
        known = word(source)
        return known if isinstance(known, Word) else float(known)

    def template(to: Any, data: bytes, holes: dict[int, Any], sender: Any, value: Any, gas: int) -> Template:
        filled = {at: word(source) for at, source in holes.items()}
        return Template(word(to), data, filled, sender=word(sender), value=word(value), gas=gas)

    for kind, *more in operations:
        if kind == "input":
            words[more[0]] = program.input(more[0])
        elif kind == "input_floats":
            name, count = more
            words |= {f"{name}{at}": each for at, each in enumerate(program.input_floats(name, count))}
        elif kind == "call":
            name, templates, choice, mask, returns, commit = more
            made = [template(*each) for each in templates]
            status, gas, output = program.call(
                made, choice=word(choice) if len(made) > 1 else None, mask=word(mask), returns=returns, commit=commit
            )
            words |= {f"{name}.status": status, f"{name}.gas": gas}
            words |= {f"{name}.{at}": each for at, each in enumerate(output)}
        elif kind == "store":
            address, slot, value, mask = more
            program.store(address, word(slot), word(value), mask=word(mask))
        elif kind == "advance":
            program.advance(word(more[0]), word(more[1]), mask=word(more[2]))
        elif kind == "time":
            words[f"{more[0]}.number"], words[f"{more[0]}.time"] = program.time()
        elif kind == "output":
            program.output(more[0], word(more[1]))
        elif kind in ("output_floats", "output_singles"):
            getattr(program, kind)(more[0], [as_float(each) for each in more[1]])
        else:
            name, *sources = more
            floats = kind == "word_of_float" or (kind.startswith("float_") and kind != "float_of_word")
            words[name] = getattr(program, kind)(*[(as_float if floats else word)(each) for each in sources])
    return program


def differing(one: Any, other: Any) -> str | None:
    """Say how two observations differ; None if they are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one:
            a, b = one[name], other.get(name)
            if b is None or a.shape != b.shape:
                return f"{name} have other shapes"
            if not np.array_equal(a, b):
                place = tuple(int(each[0]) for each in np.nonzero(a != b))
                row = place[0]
                if name == "words":
                    values = [int.from_bytes(each[row, place[1]].tobytes(), "big") for each in (a, b)]
                    return f"output {place[1]} of row {row}: {values[0]} and {values[1]}"
                return f"{name} of row {row}: {a[row].tobytes().hex()} and {b[row].tobytes().hex()}"
        return None
    if one == other:
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        at = next(at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
        return f"entry {at}: {shortened(repr(one[at]))} and {shortened(repr(other[at]))}"
    return " and ".join("an outcome" if isinstance(each, dict) else shortened(repr(each)) for each in (one, other))


def shortened(text: str) -> str:
    """Return at most the first few hundred characters."""
    return text if len(text) <= 400 else f"{text[:400]}…"


@dataclass
class Difference:
    """The first difference of a case."""

    event: int
    mode: str
    what: str


def compare(case: Case, wanted: Played, found: Played, mode: str) -> Difference | None:
    """Compare what a mode gave with what `off` gave."""
    for at, (one, other) in enumerate(zip(wanted.seen, found.seen, strict=False)):
        if (what := differing(one, other)) is not None:
            return Difference(at, mode, f"event {at} ({case.events[at][0]}), off and {mode}: {what}")
    for what in found.mismatches:
        return Difference(len(case.events) - 1, mode, f"with {mode}, a recording contradicted itself: {what}")
    return None


def difference(case: Case, modes: tuple[str, ...] = ("on", "check")) -> Difference | None:
    """Play a case in all modes and return the first difference from `off`."""
    wanted = play(case, "off")
    found = (compare(case, wanted, play(case, mode), mode) for mode in modes)
    return next((each for each in found if each is not None), None)
