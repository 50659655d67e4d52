"""Statistics of replayed calls: fleets are counted while they live and once more at their end."""

from __future__ import annotations

import gc

import pytest

from mayavi.evm.fleet import Fleet, Program, Template
from mayavi.evm.specialise import SPECIALISE, chosen_specialise, current, merged, specialised, summary
from tests.evm.fleet_world import ALICE, STORER, fleet_world

CALLS = 100


def stored() -> Program:
    program = Program()
    value = program.input("value")
    status, _, _ = program.call(Template(STORER, bytes(64), {32: value}, sender=ALICE))
    program.output("status", status)
    return program


def test_fleets_count_for_the_work_around_them() -> None:
    fork, program = fleet_world(), stored()
    with specialised("on") as outer:
        fleet = Fleet(fork, 1)
        for value in range(CALLS):
            fleet.run(program, value=value)
        with specialised("off") as inner:
            Fleet(fork, 1).run(program, value=1)
        assert current() is outer
        assert outer.statistics()["calls"] == CALLS
        del fleet
        gc.collect()
    found = outer.statistics()
    assert found["calls"] == CALLS
    assert 0 < found["hits"] < CALLS
    assert found["share"] == found["hits"] / CALLS
    assert inner.statistics() == summary("off", [])
    assert current() is None


def test_what_was_counted_before_is_not_counted_again() -> None:
    fleet, program = Fleet(fleet_world(), 1), stored()
    for value in range(CALLS):
        fleet.run(program, value=value)
    with specialised("on") as later:
        later.watch(fleet, fleet._fleet)
        assert later.statistics()["calls"] == later.statistics()["recordings"] == 0
        fleet.run(program, value=1)
        assert later.statistics()["calls"] == later.statistics()["hits"] == 1
        assert later.statistics()["missed"] == 0


def test_the_work_around_decides_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPECIALISE, "off")
    with specialised("check"):
        assert chosen_specialise() == "check"
        assert chosen_specialise("on") == "on"
        assert Fleet(fleet_world(), 1).specialise == "check"
    assert chosen_specialise() == "off"


def test_sites_and_runs_are_summed() -> None:
    site = {
        "to": "0x41",
        "selector": "0x01",
        "calls": 10,
        "hits": 4,
        "compile_seconds": 0.5,
        "misses": {"a": 2, "b": 1},
    }
    one = summary("on", [site, site | {"off": "few calls are replayed"}])
    assert (one["calls"], one["hits"], one["share"], one["missed"]) == (20, 8, 0.4, 6)
    assert one["misses"] == {"a": 4, "b": 2}
    assert one["off"] == [{"call": "0x41.0x01", "calls": 10, "reason": "few calls are replayed"}]
    both = merged([one, {}, one])
    assert (both["calls"], both["compile_seconds"], both["sites"]) == (40, 2.0, 4)
    assert both["off"][0]["calls"] == 20
    assert merged([{}]) == {}
    assert summary("on", [])["share"] is None
