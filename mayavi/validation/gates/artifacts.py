"""Gate `artifacts`: runs, scans and trainings become bundles that verify, and a changed byte is refused."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mayavi.errors import BundleError
from mayavi.runs.bundle import MANIFEST, Check
from mayavi.scenarios.loading import load_text
from mayavi.scenarios.run.request import RunRequest, versions
from mayavi.scenarios.run.run import execute, run
from mayavi.sim.recorder import MemoryRecorder
from mayavi.sim.store import Store
from mayavi.sim.store.artifact import BundledRun, Outcome, read_artifact, verify_artifact, write_artifact
from mayavi.validation.bundles.scan import BLOCK, scan_checks
from mayavi.validation.bundles.training import training_checks
from mayavi.validation.gate import GateContext, GateReport, GateSkipped, Progress, Tally

SCENARIO, STEPS = "aave_borrower", 3


@dataclass(frozen=True, slots=True)
class ArtifactsGate:
    """Bundle a small run, a scan and a training in a temporary folder, verify each, and change single bytes."""

    changes: int = 64
    """Bytes of the run's bundle to change, one at a time, spread over its contents."""
    training: bool = True
    """Include a training run, whose packages take seconds to load."""
    name: str = "artifacts"
    what: str = "bundles of a run, a scan and a training; changed bytes refused"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Write, verify and damage one bundle."""
        tally = Tally()
        with tempfile.TemporaryDirectory(prefix="mayavi-validate-") as folder:
            bundle = _bundle(Path(folder))
            check_bundle(bundle, tally)
            places = list(_places(bundle, self.changes))
            for done, place in enumerate(places):
                progress(done, len(places))
                check_changed_byte(bundle, place, tally)
            for file in _contents(bundle):
                check_repacked(bundle, file, tally)
            progress(len(places), len(places))
            self._check_scan(context, Path(folder), tally)
            self._check_training(Path(folder), tally)
        return tally.report(self.what)

    def _check_scan(self, context: GateContext, folder: Path, tally: Tally) -> None:
        try:
            blocks = context.case_folder("mainnet", "blocks")
            if not (blocks / str(BLOCK)).is_dir():
                raise GateSkipped(f"no case of block {BLOCK} in '{blocks}'")
        except GateSkipped as error:
            tally.skip(f"the bundle of a scan: {error.message}")
            return
        _count(scan_checks(blocks, folder), "the repeated scan", tally)

    def _check_training(self, folder: Path, tally: Tally) -> None:
        if not self.training:
            return
        try:
            checks = training_checks(folder)
        except ImportError:
            tally.skip("the bundle of a training: the extra 'rl' is not installed")
            return
        _count(checks, "the repeated evaluation", tally)


def _count(checks: Iterable[Check], what: str, tally: Tally) -> None:
    for check in checks:
        difference = f"{check.name}: the bundle says {check.expected}, {what} {check.got}"
        tally.check(check.equal, difference, part=f"digests of {what}")


def _bundle(folder: Path) -> Path:
    store = folder / "runs.duckdb"
    made = run(SCENARIO, steps=STEPS, store=store)
    path = folder / "run.zip"
    write_artifact(Store(store), made.run_id, path)
    return path


def check_bundle(bundle: Path, tally: Tally) -> None:
    """Verify `bundle`: hashes, and the digests of the repeated run."""
    _count(verify_artifact(bundle, _run_again).checks, "the repeated run", tally)


def check_changed_byte(bundle: Path, place: int, tally: Tally) -> None:
    """Flip the bits of one byte in a copy of `bundle`; reading the copy must fail."""
    content = bytearray(bundle.read_bytes())
    content[place] ^= 0xFF
    changed = bundle.with_name("changed.zip")
    changed.write_bytes(content)
    difference = f"byte {place} of the bundle was changed, and nothing noticed"
    tally.check(_refused(changed), difference, part="changed bytes")


def check_repacked(bundle: Path, name: str, tally: Tally) -> None:
    """Change one byte of a file and pack the bundle anew, with valid checksums of the zip; reading it must fail."""
    changed = bundle.with_name("repacked.zip")
    with zipfile.ZipFile(bundle) as archive, zipfile.ZipFile(changed, "w") as copy:
        for entry in archive.infolist():
            content = bytearray(archive.read(entry))
            if entry.filename == name:
                content[len(content) // 2] ^= 0xFF
            copy.writestr(entry, bytes(content))
    tally.check(_refused(changed), f"'{name}' of the bundle was replaced, and nothing noticed", part="replaced files")


def _refused(bundle: Path) -> bool:
    try:
        read_artifact(bundle)
    except BundleError:
        return True
    return False


def _contents(bundle: Path) -> list[str]:
    with zipfile.ZipFile(bundle) as archive:
        return [name for name in archive.namelist() if name != MANIFEST]


def _places(bundle: Path, count: int) -> Iterator[int]:
    """Yield about `count` offsets, spread over the contents of every file in the bundle."""
    content = bundle.read_bytes()
    with zipfile.ZipFile(bundle) as archive:
        entries = archive.infolist()
        for entry in entries:
            begin = content.index(archive.read(entry), entry.header_offset)
            step = max(1, entry.file_size * len(entries) // count)
            yield from range(begin, begin + entry.file_size, step)


def _run_again(bundled: BundledRun) -> Outcome:
    recorder = MemoryRecorder()
    scenario = load_text(bundled.scenario_text, origin="the bundle's scenario", import_paths=False)
    request = RunRequest(
        scenario=scenario,
        seed=bundled.seed,
        source=bundled.source,
        store=Path(),
    )
    execute(request, scenario.world().open(), recorder)
    assert recorder.info is not None
    assert recorder.ended is not None
    end = recorder.ended
    return Outcome(end.digest, recorder.info.world_digest, end.final_world_digest, versions())
