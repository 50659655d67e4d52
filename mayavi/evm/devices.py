"""GPUs of this machine, as the CUDA driver names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mayavi import _kernel
from mayavi._kernel import DeviceError as DeviceError
from mayavi._kernel import DeviceFleet as DeviceFleet
from mayavi.errors import UnknownName, UsageError
from mayavi.evm.specialise import SPECIALISE, chosen_specialise

EMULATED = "emulated"
"""Device that the processor emulates."""
NONE = "take device=None for the processor"
"""How functions that take None for a device run without one."""
_MEANT = {"gpu": "cuda", "nvidia": "cuda"}
_LEFT_OUT = "leave the device out to run on the processor"
"""What the kernel advises where there is no driver."""


@dataclass(frozen=True, slots=True)
class Device:
    """GPU: its name, bytes of memory and compute capability, and the CUDA version of the driver."""

    name: str
    memory: int
    capability: tuple[int, int]
    driver: tuple[int, int]


def cuda_devices(processor: str = _LEFT_OUT) -> list[Device]:
    """Return the devices; `UsageError` if there is no driver. `processor` says how to run without one."""
    try:
        driver, found = _kernel.cuda_devices()
    except _kernel.DeviceError as error:
        raise explained(error, processor) from None
    return [Device(*each, driver) for each in found]


def check_device_name(
    name: object, others: Sequence[str] = (), processor: str = NONE, *, numbered: bool = True
) -> None:
    """Raise `UsageError` unless `name` is `cuda`, `cuda:1` and so on, `emulated`, or one of `others`.

    `processor` says how to run without a device. Without `numbered` the first GPU is the only one.
    """
    known = [*others, "cuda", EMULATED]
    listed = ", ".join([*others, "cuda", *(["cuda:1, …"] if numbered else []), EMULATED])
    if name in known:
        return
    if not isinstance(name, str):
        raise UsageError(f"the device is {name!r}", f"there are: {listed}; {processor}")
    if re.fullmatch(r"cuda:[0-9]+", name):
        if numbered:
            return
        number = name.partition(":")[2]
        raise UsageError(
            f"the device is '{name}', and only the first GPU is taken",
            f"take cuda; the variable CUDA_VISIBLE_DEVICES={number} makes that GPU the first one",
        )
    if name == "cpu":
        raise UsageError("'cpu' is the processor, which is not a device here", f"{processor}; there are: {listed}")
    meant = _MEANT.get(name.casefold().partition(":")[0])
    raise UnknownName.of("device", name, known, f"there are: {listed}", meant)


def check_device(name: object, processor: str = NONE) -> None:
    """Raise `UsageError` if there is no device `name`: `cuda`, `cuda:1` and so on, or `emulated`."""
    check_device_name(name, processor=processor)
    try:
        _kernel.open_device(str(name))
    except _kernel.DeviceError as error:
        raise explained(error, processor) from None


def check_specialised(mode: str | None = None) -> None:
    """Raise `UsageError` if specialised execution is off: what runs on a device are its recorded paths.

    `mode` is that of a fork; by default that of the work around.
    """
    if (mode or chosen_specialise()) == "off":
        raise UsageError(
            "a device runs recorded paths, and specialise is off",
            f"leave `--specialise off` and {SPECIALISE}=off out, or the device",
        )


def explained(error: _kernel.DeviceError, processor: str = NONE) -> UsageError:
    """Return an error of the kernel with its hint; `processor` says how to run without a device."""
    what, _, hint = str(error).partition("; ")
    return UsageError(what, hint.replace(_LEFT_OUT, processor) or None)
