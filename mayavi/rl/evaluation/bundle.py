"""A training run as a bundle whose evaluations can be verified.

The bundle holds `run.json` (configuration, seeds, versions, world), the checkpoints that were evaluated, and the
evaluations. Verifying it plays them again: training itself is not repeated.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from mayavi.errors import BundleError, UsageError
from mayavi.rl.evaluation.document import as_bytes, checkpoint_steps, read_eval
from mayavi.rl.evaluation.evaluate import Say
from mayavi.rl.evaluation.models import evaluate_again
from mayavi.runs.bundle import Bundle, Check, write_bundle
from mayavi.sim.store.artifact import digest_of

if TYPE_CHECKING:
    from mayavi.rl.models import Model
    from mayavi.worlds.source import WorldSource

KIND = "training"
RECORD = "run.json"
_FACTS = ("env", "seed", "status", "steps", "episodes", "world_digest", "versions")
_USAGE = ("device", "hardware", "seconds", "steps_per_second", "cost")
"""Facts that records of older versions may lack."""


@dataclass(frozen=True, slots=True)
class VerifiedTraining:
    """Result of verifying a bundle. Differing versions are reported, but are no failure."""

    bundle: Bundle
    checks: tuple[Check, ...]
    versions: tuple[Check, ...]
    differences: tuple[str, ...]
    """The first difference of each evaluation that was not reproduced."""

    @property
    def verified(self) -> bool:
        """Whether all evaluations were reproduced."""
        return all(check.equal for check in self.checks)


Report = Callable[[Mapping[str, Any]], bytes]
"""Function that renders the report of an evaluation."""


def write_training(model: Model, path: Path, report: Report | None = None) -> str:
    """Write the training run to a bundle at `path` and return the SHA-256 of the file; `report` adds reports.

    Warns if no evaluation is of the steps that the training has now.
    """
    folder = model.path
    evaluations = {f"eval/{each.name}": each.read_bytes() for each in sorted((folder / "eval").glob("*.json"))}
    if not evaluations:
        raise UsageError(
            f"training run '{model.run_id}' has no evaluation yet",
            f"`mayavi eval {model.run_id}{model.folder.models_option}` makes one; it is what can be verified",
        )
    wanted = {model.checkpoint().path}
    for name, content in evaluations.items():
        wanted |= {model.checkpoint(step).path for step in _steps(read_eval(content, folder / name))}
    if note := _older_evaluation_note(model, evaluations):
        warnings.warn(note, stacklevel=2)
    files = {RECORD: (folder / RECORD).read_bytes(), **evaluations}
    if report is not None:
        for name, content in evaluations.items():
            files[_report_name(name)] = report(read_eval(content, folder / name))
    for checkpoint in wanted:
        for each in sorted(checkpoint.rglob("*")):
            if each.is_file():
                files[each.relative_to(folder).as_posix()] = each.read_bytes()
    record = model.record
    facts = {
        "run_id": model.run_id,
        **{name: record[name] for name in _FACTS},
        **{name: record[name] for name in _USAGE if name in record},
        "config": record["config"],
        "evaluations": sorted(evaluations),
    }
    return write_bundle(path, KIND, {"training": facts}, files)


def verify_training(
    bundle: Bundle,
    *,
    world: WorldSource | None = None,
    threads: int | None = None,
    say: Say | None = None,
    report: Report | None = None,
) -> VerifiedTraining:
    """Repeat every evaluation of the bundle and compare all digits.

    With `report`, the reports in the bundle are rendered again from its evaluations, if the versions are the same.
    """
    checks: list[Check] = []
    versions: dict[str, Check] = {}
    differences: list[str] = []
    with unpacked(bundle) as model:
        for name in sorted(each for each in bundle.files if each.startswith("eval/")):
            document = read_eval(bundle.files[name], f"{bundle.path}: {name}")
            try:
                again = evaluate_again(document, model, world=world, threads=threads, say=say)
            except (KeyError, TypeError, ValueError) as error:
                raise BundleError(f"'{name}' in '{bundle.path}' lacks what an evaluation needs: {error}") from error
            checks.append(Check(f"{name}: world", document["env"]["world_digest"], again["env"]["world_digest"]))
            checks.append(Check(name, _digest(document), _digest(again)))
            if (place := first_difference(_without_versions(document), _without_versions(again))) is not None:
                differences.append(f"{name}: {place}")
            same = document["versions"].get("mayavi") == again["versions"].get("mayavi")
            if report is not None and same and (page := bundle.files.get(_report_name(name))) is not None:
                checks.append(Check(_report_name(name), digest_of(page), digest_of(report(document))))
            for each in sorted({*document["versions"], *again["versions"]}):
                then, now = (versions_of.get(each, "none") for versions_of in (document["versions"], again["versions"]))
                versions[each] = Check(each, then, now)
    return VerifiedTraining(bundle, tuple(checks), tuple(versions.values()), tuple(differences))


@contextmanager
def unpacked(bundle: Bundle) -> Iterator[Model]:
    """Unpack the model of a bundle into a temporary folder while the context is open."""
    from mayavi.rl.models import open_model

    facts = bundle.facts.get("training")
    if bundle.kind != KIND or not isinstance(facts, dict) or RECORD not in bundle.files:
        raise BundleError(f"'{bundle.path}' is not a bundle of a training", "`mayavi artifact RUN_ID` writes them")
    if not any(name.startswith("eval/") for name in bundle.files):
        raise BundleError(f"'{bundle.path}' holds no evaluation", "there is nothing to verify in it")
    with tempfile.TemporaryDirectory(prefix="mayavi-training-") as place:
        folder = Path(place) / "training"
        bundle.unpack(folder)
        yield open_model(folder)


def first_difference(one: Any, other: Any, place: str = "") -> str | None:
    """Describe the first difference of two documents, such as `ppo.mean_reward: 0.1 was 0.2`; None if equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(each for each in other if each not in one)]:
            if key not in one or key not in other:
                return f"{place}{key} is only in {'the bundle' if key in one else 'the new one'}"
            if (found := first_difference(one[key], other[key], f"{place}{key}.")) is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            if (found := first_difference(a, b, f"{place}{number}.")) is not None:
                return found
        return None
    if one == other and type(one) is type(other):
        return None
    shown = [text if len(text := json.dumps(each)) <= 40 else f"{text[:39]}…" for each in (one, other)]
    return f"{place.rstrip('.')} was {shown[0]} and is {shown[1]}"


def _report_name(evaluation: str) -> str:
    """File of the report of an evaluation in a bundle."""
    return f"report/{PurePosixPath(evaluation).stem}.html"


def _older_evaluation_note(model: Model, evaluations: Mapping[str, bytes]) -> str:
    """Note that the policy of the bundle is in none of its evaluations; "" if it is in one."""
    now = model.checkpoint().steps
    evaluated = {step for name, content in evaluations.items() for step in _steps(read_eval(content, name))}
    if now in evaluated:
        return ""
    return (
        f"the newest evaluation of run {model.run_id} is of {max(evaluated):,} steps, and {now:,} are trained; "
        f"`mayavi eval {model.run_id}{model.folder.models_option}` makes one of the policy as it is now"
    )


def _steps(document: Mapping[str, Any]) -> list[int]:
    """Steps of the checkpoints that an evaluation played."""
    return [*(each["steps"] for each in document["models"]), *checkpoint_steps(document)]


def _without_versions(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "versions"}


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(as_bytes(_without_versions(document))).hexdigest()
