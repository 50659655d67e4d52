"""What a run of the fuzzer has compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fuzz.playing import Case, Played


@dataclass
class Tally:
    """Counts of one channel."""

    cases: int = 0
    contracts: int = 0
    calls: int = 0
    """Calls, transactions and reads compared with `off`, but for those inside of whole steps."""
    replayed: int = 0
    steps: int = 0
    """Rows compared of programs that may be replayed as a whole."""
    replayed_steps: int = 0
    native: int = 0
    paths: int = 0
    seconds: float = 0.0
    hardforks: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case, wanted: Played, found: Played) -> None:
        """Count a case that was compared in one mode."""
        calls, steps = compared(case, wanted.seen[: len(found.seen)])
        self.calls += calls
        self.steps += steps
        self.hardforks[case.hardfork] += calls + steps
        # Calls of rows that were not replayed as a whole are counted with the step.
        self.replayed += sum(site["hits"] for site in found.sites) if calls else 0
        self.replayed_steps += sum(program["hits"] for program in found.programs) if steps else 0
        everything = found.sites + found.programs
        self.native += sum(site["native"] for site in everything)
        self.paths += sum(site["paths"] for site in everything)

    @property
    def share(self) -> float | None:
        """Share of the calls that was replayed; None without calls."""
        return self.replayed / self.calls if self.calls else None

    @property
    def share_of_steps(self) -> float | None:
        """Share of the steps that was replayed as a whole; None without steps."""
        return self.replayed_steps / self.steps if self.steps else None

    def as_json(self) -> dict[str, Any]:
        """Counts as JSON data."""
        shares = {"share": self.share, "share_of_steps": self.share_of_steps}
        return {**vars(self), **shares, "seconds": round(self.seconds, 1), "hardforks": dict(self.hardforks)}


def compared(case: Case, seen: list[Any]) -> tuple[int, int]:
    """Number of calls and of whole steps that the events of a case have made."""
    calls = steps = 0
    for event, observed in zip(case.events, seen, strict=False):
        match event:
            case (("run" | "only"), program, *_) if isinstance(observed, dict):
                whole, operations = case.programs[program]
                words = observed["words"]
                if whole:
                    steps += len(words)
                    continue
                names = [each[1] for each in operations if each[0] == "output"]
                statuses = [at for at, name in enumerate(names) if name.endswith(".status")]
                calls += int((words[:, statuses, 31] != 0).sum())
            case (("send" | "call"), *_):
                calls += 1
            case "attempt", sent, _:
                calls += len(sent) if observed else 0
            case "call_many", _, datas, *_:
                calls += len(datas)
            case "call_words", _, _, holes, *_:
                calls += len(next(iter(holes.values())))
    return calls, steps


@dataclass
class Found:
    """A difference: the case that showed it, and a script that shows it."""

    channel: str
    number: int
    what: str
    script: Path

    def as_json(self) -> dict[str, Any]:
        """The difference as JSON data."""
        return {**vars(self), "script": str(self.script)}


@dataclass
class Report:
    """What a run has compared, by channel, and its differences."""

    seed: int
    channels: dict[str, Tally]
    differences: list[Found] = field(default_factory=list)
    seconds: float = 0.0
    found_after: float | None = None
    """Seconds to the first difference, without making it smaller."""

    @property
    def idle(self) -> list[str]:
        """Channels in which nothing was replayed."""
        return [name for name, tally in self.channels.items() if not tally.replayed + tally.replayed_steps]

    @property
    def failed(self) -> bool:
        """Whether something differed, or a channel compared no replay."""
        return bool(self.differences or self.idle)

    def as_json(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "failed": self.failed,
            "found_after": self.found_after,
            "channels": {name: tally.as_json() for name, tally in self.channels.items()},
            "differences": [each.as_json() for each in self.differences],
        }

    def describe(self) -> str:
        """The report as text."""
        lines = [f"seed {self.seed}, {self.seconds:.0f} s"]
        for name, tally in self.channels.items():
            counts = []
            if tally.calls:
                counts.append(f"{tally.calls:,} calls, {tally.share:.1%} replayed")
            if tally.steps:
                counts.append(f"{tally.steps:,} steps, {tally.share_of_steps:.1%} replayed as a whole")
            counts.append(f"{tally.native:,} by machine code")
            counts.append(f"{tally.paths:,} paths, {tally.contracts:,} contracts, {len(tally.hardforks)} hard forks")
            lines.append(f"{name}: {', '.join(counts)}, {tally.seconds:.1f} s")
        lines += [f"nothing was replayed in the channel {name}" for name in self.idle]
        for found in self.differences:
            lines += [f"case {found.number} of {found.channel} differs: {found.what}", f"  {found.script}"]
        calls, steps = (sum(getattr(each, what) for each in self.channels.values()) for what in ("calls", "steps"))
        lines.append(f"{calls:,} calls and {steps:,} steps compared, {len(self.differences)} differences")
        return "\n".join(lines)
