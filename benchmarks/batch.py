"""Account data of 10,000 Aave V3 borrowers in one batch, against single interpreted calls.

Calldata is encoded beforehand on both sides; `AaveV3.account_data` encodes and returns columns of words. Batches run
with paths that are kept, as machine code, and interpreted (`specialise=off`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from benchmarks.measuring.report import Effort, Quantity, Section, Target, timed
from benchmarks.measuring.timing import in_turns
from benchmarks.subjects.borrowers import MIXES, open_borrowers
from benchmarks.subjects.position import ACCOUNT_DATA

BORROWERS = 10_000
QUICK_BORROWERS = 600
ROUNDS = 9
TIMES = 5.0
MOST_SECONDS = 0.010
WARM_UP = 6
"""Batches before the timing: by then the paths are recorded and compiled."""
ONE_BY_ONE = "Fork.call, interpreted, one each"
BATCH = "AaveV3.account_data, all at once, in a new block"


def measure(effort: Effort) -> Section:
    """Measure single calls, batches on one and on all threads, and the adapter's batch."""
    count = QUICK_BORROWERS if effort.quick else BORROWERS
    section = Section("batch", f"account data of {count:,} Aave V3 borrowers")
    market, accounts = open_borrowers(count)
    fork, pool = market.fork, market.pool.address
    plain = fork.copy()
    plain.specialise = "off"
    datas = [ACCOUNT_DATA.encode(account) for account in accounts]
    cores = len(os.sched_getaffinity(0))

    def one_by_one() -> list[bytes]:
        call = plain.call
        return [call(pool, data) for data in datas]

    def in_a_new_block() -> object:
        fork.mine()  # in the same block, accounts that were read are not read again
        return market.account_data(accounts)

    contestants: dict[str, Callable[[], object]] = {
        ONE_BY_ONE: one_by_one,
        "Fork.call_many, one thread, specialise=off": lambda: plain.call_many(pool, datas, threads=1),
        "Fork.call_many, one thread": lambda: fork.call_many(pool, datas, threads=1),
        f"Fork.call_many, {cores} threads": lambda: fork.call_many(pool, datas),
        BATCH: in_a_new_block,
    }
    expected = one_by_one()
    assert fork.call_many(pool, datas) == expected, "a batch differs from single calls"
    table = market.account_data(accounts)
    assert [tuple(table[row]) for row in range(count)] == [ACCOUNT_DATA.decode(output) for output in expected]

    for _ in range(WARM_UP):
        in_a_new_block()
        fork.finish_compiling()
    timings = in_turns({name: seconds_of(each) for name, each in contestants.items()}, effort.rounds(ROUNDS))
    single = timings[ONE_BY_ONE]
    for name, timing in timings.items():
        a_call, gain = Quantity(timing.median / count * 1e6, "µs"), Quantity(single.ratio(timing), "×")
        section.rows.append(timed(name, timing, "ms", a_call=a_call, times_as_fast=gain))
    done = fork._evm.call_many(pool, datas, None, None, 1)[2]
    (site,) = [each for each in fork.statistics() if each["selector"] == "0x" + ACCOUNT_DATA.selector.hex()]
    section.notes.append(
        f"{len(MIXES)} mixes of collateral and debt: {done['traces']} paths, {done['operations']:,} operations; "
        f"{done['replayed'] / count:.1%} of a batch's calls replayed; {site['compiled']} paths compiled in "
        f"{site['compile_seconds']:.2f} s"
    )
    if not effort.quick:
        what = f"account data of {count:,} borrowers"
        taken = Quantity(timings[BATCH].median, "s")
        section.targets.append(Target(what, Quantity(MOST_SECONDS, "s"), taken))
    gain = Quantity(single.ratio(timings[BATCH]), "×")
    section.targets.append(
        Target("account data at once, times as fast as one by one", Quantity(TIMES, "×"), gain, False)
    )
    return section


def seconds_of(operation: Callable[[], object]) -> Callable[[], float]:
    """Return a function that times one run of an operation."""

    def run() -> float:
        began = time.perf_counter()
        operation()
        return time.perf_counter() - began

    return run
