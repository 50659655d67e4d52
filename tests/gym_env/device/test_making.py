"""Kernels that are made while rows are stepped by those before."""

from __future__ import annotations

import threading

import pytest

from mayavi.gym_env.device.rows import DeviceRows


@pytest.mark.slow(2)
def test_kernels_are_made_beside_steps_and_closing_does_not_wait_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = DeviceRows("aave", {"horizon": 3}, 4, episodes=[40, 41], device="emulated", threads=1)
    maker, filled, going_on = rows._maker, threading.Event(), threading.Event()
    texts: list[str] = []

    def fill(given: list[str]) -> list[str]:
        texts.extend(given)
        filled.set()
        going_on.wait(20)
        return []

    monkeypatch.setattr(maker._filler, "device", "cuda")
    monkeypatch.setattr(maker._filler, "fill", fill)
    maker.begin()
    assert filled.wait(20)
    assert texts == [text for part in rows.parts for text in part.kernel.printed()]
    before = [part.made for part in rows.parts]
    maker.adopt()
    assert [part.made for part in rows.parts] == before, "the others are used until these are there"
    going_on.set()
    assert maker._compiled is not None
    maker._compiled.result(20)
    maker.adopt()
    assert [part.made for part in rows.parts] == [made + 1 for made in before]
    rows.close()
    assert maker._filler.stopped
