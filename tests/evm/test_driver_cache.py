"""Kernels that are compiled by processes of their own."""

from __future__ import annotations

import io

import pytest

from mayavi.evm.driver_cache import CacheFiller, main

KERNEL = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry step(\n)\n{\nret;\n}\n"


@pytest.mark.slow(1)
def test_every_kernel_is_compiled_by_a_process_and_mistakes_are_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CacheFiller("emulated").fill([KERNEL, KERNEL]) == []
    (wrong,) = CacheFiller("emulated").fill([KERNEL, KERNEL.replace("ret", "retreat")])
    assert "retreat" in wrong
    (nowhere,) = CacheFiller("abacus").fill([KERNEL])
    assert "there is no device 'abacus'" in nowhere
    monkeypatch.setenv("CUDA_CACHE_DISABLE", "1")
    assert CacheFiller("abacus").fill([KERNEL]) == [], "without a cache there is nothing to fill"


def test_what_is_stopped_compiles_nothing() -> None:
    filler = CacheFiller("emulated")
    filler.stop()
    assert filler.fill([KERNEL]) == ["stopped"]


def test_a_kernel_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for text, code in ((KERNEL, 0), (KERNEL.replace("ret", "retreat"), 1)):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert main("emulated") == code
    assert "retreat" in capsys.readouterr().err
