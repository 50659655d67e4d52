"""`python -m benchmarks.device.rows`: steps of an environment's rows on a GPU, compared with the processor.

    python -m benchmarks.device.rows --env aave-shock --rows 65536 262144 [--style bucket=65536,threads=256 …]

Prints how many paths the kernels have, what compiling them took, registers, steps a second in all and of the kernels
alone, the share of steps that the processor had to play, and EXACT if all compared rows are equal to the environment on
the processor: observations, rewards, ends and, at the end, the state of their chains. Exit code 1 if they are not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from mayavi.gym_env.device.parts import Style
from mayavi.gym_env.device.rows import DeviceRows
from mayavi.gym_env.registry import make_rows


class Timed:
    """A kernel whose steps are timed on the device."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.events: list[tuple[Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def step(self, *given: Any) -> None:
        """Launch a step between two events."""
        before, after = (torch.cuda.Event(enable_timing=True) for _ in "ba")
        before.record()
        self.kernel.step(*given)
        after.record()
        self.events.append((before, after))

    def seconds(self) -> float:
        """Seconds of all steps so far."""
        return sum(float(before.elapsed_time(after)) for before, after in self.events) / 1e3


def drawing(rows: DeviceRows, seed: int) -> Callable[[], torch.Tensor]:
    """Return a function that draws an action for every row.

    Every third row repeats one action for good. Of continuous actions that is nothing or all, and another third of the
    rows takes all or pays all back in every step.
    """
    source = torch.Generator(rows.torch_device).manual_seed(seed)
    where = {"device": rows.torch_device, "generator": source}
    if rows.config.actions == "discrete":
        count = int(rows.action_space.n)  # type: ignore[attr-defined]
        repeated = torch.randint(count, (rows.rows,), **where)[2::3]

        def numbers() -> torch.Tensor:
            drawn = torch.randint(count, (rows.rows,), **where)
            drawn[2::3] = repeated
            return drawn

        return numbers
    shape = rows.rows, *(rows.action_space.shape or ())
    kept = torch.randint(-1, 2, shape, **where)[2::3].float()

    def shares() -> torch.Tensor:
        drawn = torch.rand(shape, **where) * 2 - 1
        drawn[1::3] = drawn[1::3].sign()
        drawn[2::3] = kept
        return drawn

    return shares


def is_exact(rows: DeviceRows, name: str, compared: int, steps: int) -> bool:
    """Step the first rows on the processor too."""
    env = make_rows(name, compared, config=rows.config)
    draw, equal = drawing(rows, 5), True
    rows.begin()
    env.begin(range(compared), rows.episodes[:compared].tolist())
    for _ in range(steps):
        actions = draw()
        rows.step(actions)
        found = env.step(actions[:compared].cpu().numpy())
        pairs = (
            (rows.final_observations, found.observations),
            (rows.rewards, found.rewards),
            (rows.terminated, found.terminated),
            (rows.truncated, found.truncated),
        )
        equal &= all(np.array_equal(one[:compared].cpu().numpy(), other) for one, other in pairs)
        if len(over := np.flatnonzero(found.terminated | found.truncated)):
            env.begin(over, rows.episodes[:compared].cpu().numpy()[over].tolist())
    return equal and rows.identities(range(compared)) == env.identities(np.arange(compared))


def measure(rows: DeviceRows, steps: int) -> str:
    """Step all rows and say how fast."""
    draw, is_gpu = drawing(rows, 6), rows.torch_device.type == "cuda"
    rows.begin()
    for _ in range(3):
        rows.step(draw())
    kernels: list[Any] = [part.kernel for part in rows.parts]
    timed = [Timed(kernel) for kernel in kernels]
    if is_gpu:
        for part, each in zip(rows.parts, timed, strict=True):
            part.kernel = each  # type: ignore[assignment]
        torch.cuda.synchronize()
    before, left = time.perf_counter(), rows.left
    for _ in range(steps):
        rows.step(draw())
    if is_gpu:
        torch.cuda.synchronize()
    seconds, played = time.perf_counter() - before, steps * rows.rows
    for part, kernel in zip(rows.parts, kernels, strict=True):
        part.kernel = kernel
    ran = [each.seconds() for each in timed] if is_gpu else []
    alone = (
        f", kernels alone {played / sum(ran) / 1e6:,.1f} M/s ({' + '.join(f'{each:.3f}' for each in ran)} s)"
        if is_gpu
        else ""
    )
    share, blocks = (rows.left - left) / played, paths_a_block(rows)
    return (
        f"{played / seconds / 1e6:,.2f} M steps/s{alone}; {share:.4%} played by the processor; "
        f"{blocks[0]:.1f} paths in a warp, {blocks[1]:.1f} in a block"
    )


def paths_a_block(rows: DeviceRows) -> tuple[float, float]:
    """How many paths of the last transactions there were in a warp and in a block, on average."""
    leaves, order = rows.memory.leaves[0], rows.last_order
    taken = leaves if order is None else leaves[order.long()]
    found = []
    for size in (32, rows.style.threads):
        whole = taken[: len(taken) // size * size].reshape(-1, size).sort(dim=1).values
        found.append(1.0 + float((whole[:, 1:] != whole[:, :-1]).sum(dim=1).float().mean()))
    return found[0], found[1]


def main(arguments: list[str] | None = None) -> int:
    """Run everything; exit code 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="aave-shock")
    parser.add_argument("--actions", default="discrete", choices=("discrete", "continuous"))
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or emulated")
    parser.add_argument("--rows", type=int, nargs="+", default=[65_536, 262_144])
    parser.add_argument("--episodes", type=int, default=1_024)
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--compared", type=int, default=256, help="rows that the processor steps too")
    parser.add_argument("--style", nargs="+", default=[""], help="settings of kernels: bucket=65536,threads=256")
    given = parser.parse_args(arguments)
    differs = False
    for count in given.rows:
        for text in given.style:
            values = {name: int(value) for name, _, value in (each.partition("=") for each in text.split(",") if each)}
            differs |= not run(given, count, Style(**values))
    return int(differs)


def run(given: argparse.Namespace, count: int, style: Style) -> bool:
    """Make rows, compare and measure them; whether all compared rows are equal."""
    began, compared = time.perf_counter(), min(given.compared, count)
    rows = DeviceRows(
        given.env, {"actions": given.actions}, count, episodes=range(given.episodes), device=given.device, style=style
    )
    print(f"{given.env}, {given.actions}: {count:,} rows made in {time.perf_counter() - began:.1f} s; {style}")
    for part in rows.parts:
        took = part.took or {}
        print(
            f"  {part.leaves} paths, {len(part.kernel.ptx()[0]) / 1e6:.2f} MB of PTX compiled in "
            f"{took['compiled']:.1f} s; {took['registers']} registers, {took['local_bytes']} B local",
            flush=True,
        )
    exact = is_exact(rows, given.env, compared, given.steps)
    print(
        f"  {'EXACT' if exact else 'DIFFERS'} on {compared * given.steps:,} steps; {rows.left:,} left; "
        f"{rows.host.kernel.planes} planes kept",
        flush=True,
    )
    print(f"  {measure(rows, given.steps)}", flush=True)
    made = ", ".join(f"{part.leaves} paths, made {part.made}×{' + wide' * part.wide}" for part in rows.parts)
    print(f"  kernels at the end: {made}", flush=True)
    rows.close()
    return exact


if __name__ == "__main__":
    sys.exit(main())
