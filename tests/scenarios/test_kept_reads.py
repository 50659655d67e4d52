"""Every scenario of the library gives the same rows, however its reads are made."""

from __future__ import annotations

import pytest

from mayavi.evm.specialise import SPECIALISE
from mayavi.scenarios import registry
from tests.scenarios.play import FEW, Played, play

STEPS = 6


def rows(played: Played) -> tuple[object, ...]:
    assert not played.broken
    return played.actions, played.snapshots, played.kpis


@pytest.mark.parametrize("name", registry.names())
def test_modes_and_threads_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    for mode, threads in (("off", 1), ("on", 1), ("on", 2), ("check", 1)):
        monkeypatch.setenv(SPECIALISE, mode)
        told.append(rows(play(name, steps=STEPS, threads=threads, overrides=FEW.get(name, []))))
    assert told == [told[0]] * 4
