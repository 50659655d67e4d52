"""Functions as PTX: on the emulator everywhere, and on a GPU where there is one."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.device.calls import Failures, operations
from mayavi import _kernel
from mayavi._kernel import NativeBuilder
from tests.evm.native.devices import needs_device, without_device

ADD, MUL, DIV, LT = 0x01, 0x02, 0x04, 0x10


def limbs(rows: list[list[int]]) -> NDArray[np.uint64]:
    data = b"".join(word.to_bytes(32, "little") for row in rows for word in row)
    return np.frombuffer(data, dtype="<u8").reshape(len(rows), -1).copy()


def value_of_debt() -> NativeBuilder:
    """Amount × price / unit, refused where the amount is not below a limit."""
    code = NativeBuilder()
    amount, price = code.input(0), code.input(1)
    code.guard(code.pure(LT, amount, code.constant(10**30)))
    code.output(code.pure(DIV, code.pure(MUL, amount, price), code.constant(10**8)))
    return code


@pytest.mark.parametrize("device", ["emulated", pytest.param("cuda", marks=[pytest.mark.gpu, needs_device])])
def test_every_instruction_is_exact(device: str) -> None:
    failures = Failures()
    operations(device, 24 if device == "emulated" else 4_096, failures)
    assert not failures.found


@pytest.mark.parametrize("device", ["emulated", pytest.param("cuda", marks=[pytest.mark.gpu, needs_device])])
def test_accounts_meet_scenarios(device: str) -> None:
    source = random.Random(4)
    amounts = [*(source.randrange(10**30) for _ in range(37)), 10**30, 2**256 - 1]
    prices = [source.randrange(10**12) for _ in range(5)]
    code = value_of_debt().device([1], [(0, 3)])
    accounts, scenarios = limbs([[amount, 0] for amount in amounts]), limbs([[price] for price in prices])
    flags, found, _ = code.run(accounts, scenarios, device)
    assert flags.reshape(5, 39).tolist() == [[1] * 37 + [0] * 2] * 5
    values = [[amount * price // 10**8 for amount in amounts[:37]] for price in prices]
    rows = found.reshape(5, 39, 4)[:, :37]
    assert [[int.from_bytes(word.tobytes(), "little") for word in row] for row in rows] == values
    planes, failed, failures, _ = code.reduce(accounts, scenarios, device)
    assert planes[0].tolist() == [37] * 5
    sums = [sum(int(planes[2 + limb, at]) << 64 * limb for limb in range(3)) for at in range(5)]
    assert sums == [sum(row) for row in values]
    assert (failed.tolist(), failures) == ([39 * at + account for at in range(5) for account in (37, 38)], 10)


def test_a_function_travels_as_text() -> None:
    code = value_of_debt()
    again = NativeBuilder.read(code.stored())
    assert again.stored() == code.stored()
    assert again.device().ptx() == code.device().ptx()
    with pytest.raises(ValueError, match="line 2: 'guard x zero' is no node"):
        NativeBuilder.read("input 0 256\nguard x zero\n")


def test_the_text_is_for_every_device_since_volta() -> None:
    rows, adding = value_of_debt().device([1], [(0, 2)]).ptx()
    assert rows.startswith(".version 7.0\n.target sm_70\n")
    assert ".visible .entry rows(" in rows
    assert ".visible .entry reduce(" in adding
    assert "mad.lo.cc.u32" in rows  # products are made of halves


def test_mistakes_are_named() -> None:
    code = value_of_debt()
    with pytest.raises(ValueError, match="a sum of 5 limbs of output 0"):
        code.device([], [(0, 5)])
    with pytest.raises(ValueError, match="scenarios are needed"):
        code.device([1]).run(limbs([[1, 2]]), None, "emulated")
    with pytest.raises(ValueError, match="accounts: rows of 2 words are needed"):
        code.device().run(limbs([[1]]), None, "emulated")
    with pytest.raises(_kernel.DeviceError, match="there is no device 'tpu'"):
        code.device().run(limbs([[1, 2]]), None, "tpu")


@without_device
def test_a_machine_without_a_driver_says_so() -> None:
    with pytest.raises(_kernel.DeviceError, match="no CUDA driver on this machine"):
        value_of_debt().device().run(limbs([[1, 2]]), None, "cuda")
    with pytest.raises(_kernel.DeviceError, match="or leave the device out"):
        _kernel.cuda_devices()
