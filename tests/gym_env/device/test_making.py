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
    assert sorted(texts) == sorted(text for part in rows.parts for text in part.kernel.printed())
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


@pytest.mark.slow(2)
def test_first_kernels_have_the_paths_taken_most_often_and_later_ones_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mayavi.gym_env.device.making.FIRST_PATHS", 3)
    rows = DeviceRows("aave", {"horizon": 3}, 4, episodes=[40, 41], device="emulated", threads=1)
    assert max(part.leaves for part in rows.parts) == 3
    rows._maker.begin()
    assert rows._maker._compiled is not None
    rows._maker._compiled.result(20)
    rows._maker.adopt()
    assert max(part.leaves for part in rows.parts) > 3
    rows.close()


@pytest.mark.slow(2)
def test_large_kernels_are_compiled_together_before_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = DeviceRows("aave", {"horizon": 3}, 4, episodes=[40, 41], device="emulated", threads=1)
    filled: list[list[str]] = []
    monkeypatch.setattr(rows._maker._filler, "device", "cuda")
    monkeypatch.setattr(rows._maker._filler, "fill", filled.append)
    rows._maker.make()
    monkeypatch.setattr("mayavi.gym_env.device.making.TOGETHER", 0)
    rows._maker.make()
    (texts,) = filled
    assert [len(text) for text in texts] == sorted((len(text) for text in texts), reverse=True)
    assert len(texts) == len(rows.parts)
    rows.close()
