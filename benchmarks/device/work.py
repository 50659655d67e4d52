"""`python -m benchmarks.device.work`: what bounds an environment's kernels on a GPU.

    python -m benchmarks.device.work --env aave --rows 2048 --steps 6 --rate 440e6 --registers 128 168 96 80

Runs the kernels in the emulator and counts, for each part of a step: PTX instructions of a row, those that its warp
issues (rows on other paths make it wait), bytes of memory. With `--rate`, the steps a second that
`benchmarks.device.rows` measured on a GPU for the kernels alone, it prints the share of an H200's peaks; with
`--registers`, those that the driver gave each part, how many warps an SM holds.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from benchmarks.device.rows import drawing
from mayavi.gym_env.device.rows import DeviceRows

LANES = 32
SM_REGISTERS, SM_WARPS = 65_536, 64
H200_SMS, H200_HZ = 132, 1.98e9
INTEGERS_A_CYCLE = 64
"""32-bit integer instructions that an SM ends in a cycle, adds and products alike."""
H200_BYTES = 4.8e12
"""Bytes of memory a second."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a part of a step does, a row."""

    instructions: float
    wide: float
    """Instructions on 64 bits, each of which takes two on 32 bits or more."""
    issued: float
    """Instructions of the row's warp."""
    bytes: float

    @property
    def active(self) -> float:
        """Share of a warp's lanes that are on the same path."""
        return self.instructions / self.issued

    def line(self, name: str) -> str:
        """One row of the table."""
        return (
            f"{name:<8} {self.instructions:>14,.0f} {self.wide / self.instructions:>9.1%} {self.issued:>14,.0f} "
            f"{self.active:>7.1%} {self.bytes:>8,.0f}"
        )


def work_of(rows: DeviceRows, steps: int) -> list[Work]:
    """Step all rows with random actions, and count what each part does."""
    draw = drawing(rows, 6)
    rows.begin()
    for _ in range(2):
        rows.step(draw())  # rows are on different paths now
    for part in rows.parts:
        part.kernel.count()
    for _ in range(steps):
        rows.step(draw())
    played, found = steps * rows.rows, []
    for part in rows.parts:
        instructions, wide, issued, loaded, stored = part.kernel.count()
        found.append(Work(instructions / played, wide / played, issued * LANES / played, (loaded + stored) / played))
    return found


def total(parts: list[Work]) -> Work:
    """What a whole step does."""
    return Work(*(sum(getattr(part, name) for part in parts) for name in ("instructions", "wide", "issued", "bytes")))


def bounds(step: Work, rate: float) -> str:
    """Compare `rate` steps a second with an H200's peak rates. A 64-bit instruction counts as two."""
    peak = H200_SMS * INTEGERS_A_CYCLE * H200_HZ
    slots = step.issued * (1 + step.wide / step.instructions)
    return (
        f"{rate / 1e6:,.0f} M steps/s: {slots * rate / peak:.0%} of {peak / 1e12:.1f} T integer instructions/s, "
        f"{step.bytes * rate / H200_BYTES:.0%} of {H200_BYTES / 1e12:.1f} TB/s; "
        f"instructions alone would allow {peak / slots / 1e6:,.0f} M steps/s, "
        f"memory alone {H200_BYTES / step.bytes / 1e6:,.0f} M"
    )


def main(arguments: list[str] | None = None) -> int:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="aave")
    parser.add_argument("--actions", default="discrete", choices=("discrete", "continuous"))
    parser.add_argument("--rows", type=int, default=2_048)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--rate", type=float, default=None, help="steps a second of the kernels on an H200")
    parser.add_argument("--registers", type=int, nargs="*", default=[], help="registers of a thread, part by part")
    given = parser.parse_args(arguments)
    rows = DeviceRows(
        given.env, {"actions": given.actions}, given.rows, episodes=range(given.episodes), device="emulated"
    )
    parts = work_of(rows, given.steps)
    rows.close()
    print(f"{given.env}, {given.actions}: {given.rows:,} rows, {given.steps} steps, a row and step")
    print(f"{'part':<8} {'instructions':>14} {'64 bits':>9} {'of its warp':>14} {'active':>7} {'bytes':>8}")
    for number, part in enumerate(parts, 1):
        print(part.line(str(number)))
    step = total(parts)
    print(step.line("all"))
    for number, registers in enumerate(given.registers, 1):
        warps = min(SM_REGISTERS // (registers * LANES), SM_WARPS)
        print(f"part {number}: {registers} registers, {warps} of {SM_WARPS} warps an SM")
    if given.rate:
        print(bounds(step, given.rate))
    return 0


if __name__ == "__main__":
    sys.exit(main())
