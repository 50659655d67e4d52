"""The specialisation mode of a run: which setting wins, what the record keeps, and equal digests in every mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mayavi
from mayavi.errors import BadScenario, UsageError
from mayavi.evm.specialise import MODES, SPECIALISE
from mayavi.scenarios.loading import load_scenario
from mayavi.sim.store import Store

SMALL: dict[str, Any] = {"steps": 3, "overrides": {"agents.borrowers.count": 6, "prices.WETH.at": 1}}


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SPECIALISE, raising=False)


@pytest.mark.slow(0.4)
def test_rows_and_text_of_a_run_are_the_same_in_every_mode(tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    runs = [mayavi.run("depeg_cascade", store=store, specialise=mode, **SMALL) for mode in MODES]
    assert len({run.digest for run in runs}) == 1
    records = [Store(store).run(run.run_id) for run in runs]
    assert len({record.scenario_text for record in records}) == 1
    assert [record.specialise["mode"] for record in records] == list(MODES)
    assert [dict(run.specialise) for run in runs] == [record.specialise for record in records]


@pytest.mark.slow(0.5)
def test_an_argument_comes_before_the_scenario_and_that_before_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mode(**given: Any) -> str:
        overrides = SMALL["overrides"] | given.pop("overrides", {})
        run = mayavi.run("depeg_cascade", steps=2, store=tmp_path / "runs.duckdb", overrides=overrides, **given)
        return str(run.specialise["mode"])

    assert mode() == "on"
    monkeypatch.setenv(SPECIALISE, "off")
    assert mode() == "off"
    assert mode(overrides={"specialise": "check"}) == "check"
    assert mode(overrides={"specialise": "check"}, specialise="on") == "on"


def test_an_unknown_mode_is_refused_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="specialise is 'fast'"):
        mayavi.run("depeg_cascade", specialise="fast", store=tmp_path / "runs.duckdb")
    file = tmp_path / "mine.yaml"
    file.write_text("specialise: fast\n")
    with pytest.raises(BadScenario, match=r"mine\.yaml:1:13: specialise is 'fast'"):
        load_scenario(file)
    monkeypatch.setenv(SPECIALISE, "fast")
    with pytest.raises(UsageError, match="MAYAVI_SPECIALISE is 'fast'"):
        mayavi.run("depeg_cascade", store=tmp_path / "runs.duckdb", **SMALL)


@pytest.mark.slow(0.4)
def test_a_sweep_is_not_repeated_because_the_mode_differs(tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    first = mayavi.sweep("depeg_cascade", seeds=[1, 2], jobs=1, store=store, specialise="check", **SMALL)
    again = mayavi.sweep("depeg_cascade", seeds=[1, 2], jobs=1, store=store, specialise="off", **SMALL)
    assert (first.resumed, again.resumed) == (0, 2)
    assert first.sweep_id == again.sweep_id
    assert again.specialise["mode"] == "check"  # of the runs that were made
