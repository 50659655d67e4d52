"""Parts of a step on a device: programs that run one after the other on the same rows, each a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mayavi.errors import BadInteger
from mayavi.evm.devices import DeviceError, DeviceFleet, explained
from mayavi.gym_env.device.whole_numbers import whole_number
from mayavi.gym_env.device.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Style:
    """How kernels are written and started; it decides how fast they are, and nothing else."""

    most_leaves: int = 255
    """Most paths of a kernel; others are the processor's."""
    bucket: int | None = None
    """Neighbouring rows that threads take sorted by action and by the path of the last step; None: all, 0: none."""
    threads: int = 256
    """Threads of a block."""
    registers: int = 0
    """Most registers of a thread; 0: as many as it needs."""
    products: int = 16
    """Multiply words in a shared function if the product takes at least this many 32-bit multiplications; 0: never."""

    def __post_init__(self) -> None:
        whole_number("most_leaves", self.most_leaves, 1, 255)
        if self.bucket is not None:
            whole_number("bucket", self.bucket, 0, hint="give None to sort all rows, 0 to sort none")
        if whole_number("threads", self.threads, 32, 1_024) % 32:
            raise BadInteger(f"threads is {self.threads}", "give whole warps: a multiple of 32, up to 1,024")
        if self.registers != 0:
            whole_number("registers", self.registers, 16, 255, hint="0 takes as many as a thread needs")
        whole_number("products", self.products, 0)


@dataclass(slots=True)
class Part:
    """Program of a step and its kernel."""

    wiring: Wiring
    kernel: DeviceFleet
    leaves: int = 0
    """Paths of the kernel."""
    printed: int = 0
    """Paths of the kernel that was printed last."""
    took: dict[str, float] | None = None
    """What compiling it took, and what it uses."""
    left: int = 0
    """Steps of rows that left the paths of this kernel."""
    made: int = 0
    """How often the kernel was made."""
    wide: bool = False
    """Whether a second kernel, for words of any size, takes the rows that leave the first one."""


def make_parts(wirings: Iterable[Wiring], renewed: Sequence[int], device: str, style: Style) -> list[Part]:
    """Kernels over the same rows, not printed yet; the last one also begins episodes."""
    parts: list[Part] = []
    try:
        for wiring in wirings:
            like = parts[0].kernel if parts else None
            kernel = DeviceFleet(
                wiring.program, wiring.inputs, wiring.fixed, wiring.outputs, renewed, device, like,
                style.threads, style.registers, style.products,
            )  # fmt: skip
            parts.append(Part(wiring, kernel))
    except DeviceError as error:
        raise explained(error) from None
    return parts
