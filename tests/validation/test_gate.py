"""A gate counts what it compared, names the first difference, and is skipped without its data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from mayavi.errors import SetupError, StateError, UnknownName
from mayavi.validation.gate import Gate, GateContext, GateReport, GateSkipped, Progress, Tally
from mayavi.validation.registry import GATES, gate
from mayavi.validation.run import run_gate, run_gates


@dataclass
class Scripted:
    """A gate that does as it is given."""

    equal: bool = True
    error: Exception | None = None
    name: str = "scripted"
    what: str = "one with the other"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        if self.error is not None:
            raise self.error
        progress(0, 1)
        tally = Tally()
        tally.check(True, "never shown", part="first", cases=3)
        tally.check(self.equal, lambda: "2 is not 3", part="second")
        progress(1, 1)
        return tally.report(self.what)


def test_a_gate_that_finds_nothing_passes_with_its_cases() -> None:
    seen: list[tuple[int, int]] = []
    result = run_gate(Scripted(), GateContext(), progress=lambda done, total: seen.append((done, total)))
    assert (result.report.verdict, result.report.cases) == ("passed", 4)
    assert result.report.parts == {"first": 3, "second": 1}
    assert seen == [(0, 1), (1, 1)]
    assert result.to_json()["first_difference"] is None


def test_a_difference_fails_the_gate_and_is_named() -> None:
    report = run_gates([Scripted(), Scripted(equal=False)], GateContext())
    assert [each.report.verdict for each in report.results] == ["passed", "failed"]
    assert report.results[1].report.first_difference == "2 is not 3"
    assert report.exit_code == 1
    assert report.to_json()["failed"] == 1


def test_the_first_of_many_differences_is_named_and_all_are_counted() -> None:
    tally = Tally()
    for number in range(3):
        tally.check(False, f"difference {number}")
    report = tally.report("numbers")
    assert report.first_difference == "difference 0"
    assert report.notes == ("3 differences in all",)


def test_a_gate_that_compared_nothing_has_not_passed() -> None:
    assert Tally().report("nothing").verdict == "skipped"


@pytest.mark.parametrize("error", [GateSkipped("no data", "get some"), SetupError("no packages", "get some")])
def test_without_its_data_a_gate_is_skipped_with_the_reason_and_fails_where_all_are_required(error: Exception) -> None:
    report = run_gates([Scripted(error=error)], GateContext())
    assert report.exit_code == 0
    assert report.results[0].report.reason == f"{error}; get some"
    required = run_gates([Scripted(error=error)], GateContext(), require_all=True)
    assert required.exit_code == 1
    assert (required.results[0].report.verdict, required.results[0].report.first_difference) == ("failed", "")
    assert required.results[0].report.reason == f"{error}; get some"


@pytest.mark.parametrize(
    ("error", "message"), [(StateError("damaged"), "damaged"), (KeyError("x"), "unexpected KeyError: 'x'")]
)
def test_an_error_inside_a_gate_fails_it_and_the_others_still_run(error: Exception, message: str) -> None:
    report = run_gates([Scripted(error=error), Scripted()], GateContext())
    assert [each.report.verdict for each in report.results] == ["failed", "passed"]
    assert report.results[0].report.first_difference == message


def test_a_folder_of_cases_that_is_not_there_skips(tmp_path: Path) -> None:
    with pytest.raises(GateSkipped, match="no folder of recorded chain data"):
        GateContext().case_folder("mainnet")
    with pytest.raises(GateSkipped, match="there is no folder"):
        GateContext(tmp_path).case_folder("mainnet", "blocks")


@pytest.mark.parametrize("name", GATES)
def test_every_registered_gate_has_its_name_and_says_what_it_compares(name: str) -> None:
    made: Gate = gate(name)
    assert made.name == name
    assert 10 < len(made.what) < 80


def test_an_unknown_gate_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="unknown gate 'quots'") as refusal:
        gate("quots")
    assert "quotes" in (refusal.value.hint or "")
