"""GPUs of this machine, as the CUDA driver names them."""

from __future__ import annotations

from dataclasses import dataclass

from mayavi import _kernel
from mayavi._kernel import DeviceError as DeviceError
from mayavi._kernel import DeviceFleet as DeviceFleet
from mayavi.errors import UsageError
from mayavi.evm.specialise import SPECIALISE, chosen_specialise

EMULATED = "emulated"
"""Device that the processor emulates."""


@dataclass(frozen=True, slots=True)
class Device:
    """GPU: its name, bytes of memory and compute capability, and the CUDA version of the driver."""

    name: str
    memory: int
    capability: tuple[int, int]
    driver: tuple[int, int]


def cuda_devices() -> list[Device]:
    """Return the devices; `UsageError` if there is no driver."""
    try:
        driver, found = _kernel.cuda_devices()
    except _kernel.DeviceError as error:
        raise explained(error) from None
    return [Device(*each, driver) for each in found]


def check_device(name: str) -> None:
    """Raise `UsageError` if there is no device `name`: `cuda`, `cuda:1` and so on, or `emulated`."""
    try:
        _kernel.open_device(name)
    except _kernel.DeviceError as error:
        raise explained(error) from None


def check_specialised(mode: str | None = None) -> None:
    """Raise `UsageError` if specialised execution is off: what runs on a device are its recorded paths.

    `mode` is that of a fork; by default that of the work around.
    """
    if (mode or chosen_specialise()) == "off":
        raise UsageError(
            "a device runs recorded paths, and specialise is off",
            f"leave `--specialise off` and {SPECIALISE}=off out, or the device",
        )


def explained(error: _kernel.DeviceError) -> UsageError:
    """Return an error of the kernel with its hint."""
    what, _, hint = str(error).partition("; ")
    return UsageError(what, hint or None)
