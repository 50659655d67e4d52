"""Gate `official`: the official Ethereum tests, interpreted and replayed by recorded paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from mayavi.parallel.processes import work_off
from mayavi.validation.gate import GateContext, GateReport, Progress
from mayavi.validation.official.files import KINDS, OfficialFiles, UnreadableTests, find_files
from mayavi.validation.official.findings import Findings
from mayavi.validation.official.work import check_files, in_batches, prepare_checks

SAMPLE = 5
"""`mayavi validate` checks a fixed sample of the files; `mayavi validate official` checks all."""
HARDFORKS = ("Istanbul", "Berlin", "London", "Paris", "Shanghai", "Cancun")
"""Those that the whole tests must have had."""
MUST_SEE = (
    "blockchain tests",
    "blocks",
    "transactions",
    "accounts",
    "slots",
    "state tests",
    "state cases to their root",
    "transactions sent",
)
"""What must have been compared."""
CASES = ("blockchain tests", "state cases to their root", "state cases refused")
"""What counts as one case."""
LEAST_SHARE = 0.5
"""Share of the transactions at call sites that must have been replayed, of all hard forks together."""
MOST_SHOWN = 20
"""Differences that the notes show, besides the first one."""


@dataclass(frozen=True, slots=True)
class OfficialGate:
    """Play the blockchain tests, and execute the state tests by the interpreter and by recorded paths."""

    every: int = SAMPLE
    """Check a fixed sample of the files."""
    only: str = ""
    """Check only files whose name has this text."""
    jobs: int = 1
    """Number of worker processes; 1 works in this process."""
    name: str = "official"
    what: str = "official Ethereum tests: post-states, interpreted and replayed"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Compare every chosen test with what the kernel makes of it."""
        files, found = find_files(context), Findings()
        try:
            names = {name for name in files.names() if self._chooses(name)}
            done = 0
            for count, findings in self._findings(files, names):
                found.add(findings)
                done += count
                progress(done, len(names))
        except UnreadableTests as error:
            found.differs("the tests", error.message)
            names = set()
        for missing in self._missing(names, found):
            found.differs("the tests", missing)
        return self._report(found)

    def _chooses(self, name: str) -> bool:
        return crc32(name.encode()) % self.every == 0 and self.only in name

    def _findings(self, files: OfficialFiles, names: set[str]) -> Iterator[tuple[int, Findings]]:
        batches = in_batches(files.read(names.__contains__))
        if self.jobs == 1:
            for batch in batches:
                yield len(batch), check_files(batch)
            return
        for batch, findings in work_off(batches, prepare_checks, (), self.jobs):
            yield len(batch), findings

    def _missing(self, names: set[str], found: Findings) -> Iterator[str]:
        """Name what should have been compared and was not: a gate that saw less than it must is not passed."""
        read = found.counts["files"] + found.counts["unreadable files"]
        if read != len(names) or not names:
            yield f"{len(names):,} files are chosen, and {read:,} were read"
        if self.only:
            return
        for kind in KINDS:
            if not any(name.startswith(f"{kind}/") for name in names):
                yield f"there is no file of {kind}"
        for part in MUST_SEE:
            if not found.counts[part]:
                yield f"no {part} were compared"
        if self.every == 1:
            for hardfork in HARDFORKS:
                if not found.counts[f"blockchain tests of {hardfork}"]:
                    yield f"no blockchain tests of {hardfork} were compared"
        sent, replayed = found.sent.total(), found.replayed.total()
        if replayed < sent * LEAST_SHARE or not replayed:
            yield f"{replayed:,} of {sent:,} transactions at call sites were replayed, fewer than half"

    def _report(self, found: Findings) -> GateReport:
        parts = {part: found.counts[part] for part in sorted(found.counts) if found.counts[part]}
        notes = [f"different, too: {each}" for each in found.differences[1 : 1 + MOST_SHOWN]]
        if found.different > 1:
            notes.append(f"{found.different:,} differences in all")
        for hardfork, sent in sorted(found.sent.items()):
            replayed = found.replayed[hardfork]
            share = f"{replayed:,} of {sent:,} ({replayed / sent:.0%})"
            notes.append(f"{hardfork}: {share} transactions at call sites were replayed")
        notes += [f"{count:,} not compared: {reason}" for reason, count in sorted(found.left_out.items())]
        return GateReport(
            "failed" if found.different else "passed",
            self.what,
            sum(found.counts[part] for part in CASES),
            found.differences[0] if found.differences else "",
            notes=tuple(notes),
            parts=parts,
        )
