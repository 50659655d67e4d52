"""From how many scenarios on a GPU gains: account data of borrowers on price paths, on the processor and on a device.

    python -m benchmarks.device.totals --accounts 100,1000,10000 --scenarios 1,10,100,1000,10000

A device first needs what every account reads, which takes the processor longer than to call the view for it, and code,
which the driver compiles. So a state that is read once is the processor's. Every sum is compared. The processor makes
up to `--most` calls, and its time is scaled. `--snapshot FILE` opens a world where no contracts are built.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.subjects.borrowers import open_borrowers
from mayavi import Fork
from mayavi.errors import MayaviError
from mayavi.protocols import AaveV3
from mayavi.protocols.aave.price_paths import PathTotals, totals_on_paths
from mayavi.protocols.chainlink.price_feed import PriceFeed

FEED = "Chainlink.ETH/USD"
LEVERAGE = 6
WARM_UPS = 3
"""Readings of all accounts before the processor is timed, after which its paths are machine code."""


def scenarios_of(market: AaveV3, count: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return prices of ether from a third to one and a half of today's, a minute apart."""
    shares = np.random.default_rng(count).uniform(0.33, 1.5, count)
    prices = (PriceFeed(market.fork, FEED).answer * shares).astype(np.int64)
    return {FEED: prices}, market.fork.timestamp + 60 * np.arange(1, count + 1)


def timed(
    market: AaveV3, accounts: list[bytes], prices: dict[str, np.ndarray], times: np.ndarray, device: str | None
) -> tuple[float, PathTotals]:
    """Return seconds and totals."""
    begun = time.perf_counter()
    found = totals_on_paths(market, accounts, prices, times, device=device)
    return time.perf_counter() - begun, found


def describe_preparation(market: AaveV3, accounts: list[bytes]) -> str:
    """Processor time of reading what a device needs of one state, and of calling the view in it."""
    fork, calldata = market.fork, market.pool.getUserAccountData.encode(bytes(20))

    def spent(read: Callable[[], object]) -> float:
        begun = time.process_time()
        read()
        return (time.process_time() - begun) / len(accounts) * 1e6

    grid = fork.grid(market.pool.address, calldata, {4: accounts}, 6, timestamp=True)
    paths = spent(lambda: grid.paths)
    read = spent(lambda: [grid._recorder.path(at, fork._evm, grid._words, grid._known) for at in range(grid.paths)])
    called = spent(lambda: fork.call_words(market.pool.address, calldata, {4: accounts}, 6))
    return (
        f"{len(accounts):,} accounts, processor time each: {called:.1f} µs to call the view, "
        f"{paths:.1f} µs to find its path and {read:.1f} µs to read what a device needs, on {grid.paths} paths"
    )


def compare(market: AaveV3, accounts: list[bytes], count: int, device: str, most: int) -> bool:
    """Print a row of the table; returns whether all sums are equal."""
    prices, times = scenarios_of(market, count)
    some = max(1, min(count, most // len(accounts)))
    few = {feed: each[:some] for feed, each in prices.items()}
    here, expected = timed(market, accounts, few, times[:some], None)
    here *= count / some
    first, found = timed(market, accounts, prices, times, device)
    again, _ = timed(market, accounts, prices, times, device)
    equal = np.array_equal(found.liquidatable[:some], expected.liquidatable) and all(
        one.ints()[:some] == other.ints() for one, other in zip(found[1:], expected[1:], strict=True)
    )
    print(
        f"| {len(accounts):,} | {count:,} | {here:.3f} s | {first:.3f} s | {again:.3f} s | {here / again:.2f} | "
        f"{'equal' if equal else 'OTHER'} |",
        flush=True,
    )
    return equal


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all numbers of accounts and scenarios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accounts", default="100,1000,10000", help="numbers of accounts, with commas")
    parser.add_argument("--scenarios", default="1,10,100,1000,10000", help="numbers of scenarios, with commas")
    parser.add_argument("--device", default="cuda", help="cuda, or emulated: slow, for tests")
    parser.add_argument("--most", type=int, default=2_000_000, help="calls that the processor makes for a row")
    parser.add_argument("--snapshot", type=Path, help="open this world in place of the replica")
    options = parser.parse_args(arguments)
    print(f"{len(os.sched_getaffinity(0))} cores; {options.device}; seconds with everything that the totals need\n")
    notes = []
    print("| accounts | scenarios | processor | device, first | device, again | times faster, again | sums |")
    print("|---|---|---|---|---|---|---|")
    equal = True
    try:
        for size in (int(each) for each in options.accounts.split(",")):
            world = None if options.snapshot is None else Fork.load_snapshot(options.snapshot)
            market, accounts = open_borrowers(size, LEVERAGE, world)
            for _ in range(WARM_UPS):
                timed(market, accounts, *scenarios_of(market, 2), None)
            market.fork.finish_compiling()
            notes.append(describe_preparation(market, accounts))
            for count in (int(each) for each in options.scenarios.split(",")):
                equal &= compare(market, accounts, count, options.device, options.most)
    except MayaviError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("", *notes, sep="\n")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
