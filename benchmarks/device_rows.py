"""`python -m benchmarks.device_rows`: steps of an environment's rows on a GPU, compared with the processor.

    python -m benchmarks.device_rows --env aave-shock --rows 65536 262144 [--bucket 4096] [--leaves 64]

Prints how many paths the kernel has, what compiling it took, registers, steps a second in all and of the kernel alone,
the share of steps that the processor had to play, and EXACT if all compared rows are equal to the environment on the
processor: observations, rewards, ends and, at the end, the state of their chains. Exit code 1 if they are not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

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
        return sum(before.elapsed_time(after) for before, after in self.events) / 1e3


def drawing(rows: DeviceRows, seed: int) -> Callable[[], torch.Tensor]:
    """Return a function that draws an action for every row."""
    source = torch.Generator(rows.torch_device).manual_seed(seed)
    where = {"device": rows.torch_device, "generator": source}
    if rows.config.actions == "discrete":
        count = int(rows.action_space.n)  # type: ignore[attr-defined]
        return lambda: torch.randint(count, (rows.rows,), **where)  # type: ignore[call-overload,no-any-return]
    return lambda: torch.rand((rows.rows, 1), **where) * 2 - 1  # type: ignore[call-overload,no-any-return]


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
    timed = Timed(rows.memory.kernel)
    if is_gpu:
        rows.memory.kernel = timed
        torch.cuda.synchronize()
    before, left = time.perf_counter(), rows.left
    for _ in range(steps):
        rows.step(draw())
    if is_gpu:
        torch.cuda.synchronize()
    seconds, played = time.perf_counter() - before, steps * rows.rows
    rows.memory.kernel = timed.kernel
    alone = f", kernel alone {played / timed.seconds() / 1e6:,.1f} M/s" if is_gpu else ""
    share = (rows.left - left) / played
    return f"{played / seconds / 1e6:,.2f} M steps/s{alone}; {share:.4%} played by the processor"


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
    parser.add_argument(
        "--bucket", type=int, nargs="+", default=[0], help="rows that are sorted by their path; 0: none"
    )
    parser.add_argument("--leaves", type=int, default=255, help="most paths of the kernel")
    given = parser.parse_args(arguments)
    differs = False
    for count in given.rows:
        began = time.perf_counter()
        rows = DeviceRows(
            given.env, {"actions": given.actions}, count, episodes=range(given.episodes), device=given.device,
            most_leaves=given.leaves,
        )  # fmt: skip
        made, took = time.perf_counter() - began, rows.took
        print(
            f"{given.env}, {given.actions}: {count:,} rows made in {made:.1f} s; {rows.leaves} paths, "
            f"{len(rows.kernel.ptx()[0]) / 1e6:.2f} MB of PTX compiled in {took['compiled']:.1f} s; "
            f"{took['registers']} registers, {took['local_bytes']} B local; {rows.kernel.planes} planes kept",
            flush=True,
        )
        exact = is_exact(rows, given.env, min(given.compared, count), given.steps)
        differs |= not exact
        compared = given.steps * min(given.compared, count)
        print(f"  {'EXACT' if exact else 'DIFFERS'} on {compared:,} steps; {rows.left:,} steps left", flush=True)
        for rows._bucket in given.bucket:
            rows.memory.order = None
            print(f"  bucket {rows._bucket}: {measure(rows, given.steps)}; {rows.leaves} paths", flush=True)
        rows.close()
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
