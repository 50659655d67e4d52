"""The demo: one borrower on Aave V3 under a random ETH price, step by step, and its rows in the store."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.sim.rows import (
    AccountRow,
    ActionRow,
    KpiRow,
    RunCounts,
    RunEnd,
    RunInfo,
    SnapshotRow,
    canonical,
)
from mayavi.sim.rows_digest import RowsDigest

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

CHAIN = "ethereum"
BORROWER = "borrower"
STEP_BLOCKS = 18_000  # two and a half days
LARGEST_MOVE_BPS = 600  # largest price move of a step, up or down
COLLATERAL_WEI = 10**18
BORROWED_USDC_E6 = 1_700 * 10**6
_DECIMALS = {"usd_e8": 8, "ray": 27, "wad": 18, "count": 0}


@dataclass(frozen=True, slots=True)
class DemoRow:
    """State of the market and the position after a step, in exact integers. Step 0 opens the position."""

    step: int
    block: int
    timestamp: int
    price_usd_e8: int
    health_factor_wad: int
    debt_usdc_e6: int
    collateral_usd_e8: int
    debt_usd_e8: int
    supply_rate_ray: int
    borrow_rate_ray: int
    transactions: int
    """Transactions of the step."""
    gas_used: int


def play(fork: Fork, seed: int, steps: int) -> Iterator[DemoRow]:
    """Open the position, then advance time and price `steps` times; yield a row after each, the opening first."""
    from random import Random

    from mayavi.evm.hashing import keccak_text
    from mayavi.protocols import AaveV3, PriceFeed

    rng = Random(seed)
    market = AaveV3(fork)
    feed = PriceFeed(fork, "Chainlink.ETH/USD")
    borrower = market.account(keccak_text("mayavi demo borrower")[-20:])
    gas: list[int] = []
    stop = fork.watch(lambda sent: gas.append(sent.receipt.gas_used))

    fork.deal("WETH", borrower.address, COLLATERAL_WEI)
    borrower.supply("WETH", COLLATERAL_WEI)
    borrower.borrow("USDC", BORROWED_USDC_E6)
    for step in range(steps + 1):
        if step:
            gas.clear()
            fork.mine(STEP_BLOCKS)
            move_bps = rng.randint(-LARGEST_MOVE_BPS, LARGEST_MOVE_BPS)
            feed.move(feed.answer * (10_000 + move_bps) // 10_000)
        position = borrower.data()
        yield DemoRow(
            step=step,
            block=fork.block_number,
            timestamp=int(fork.block["timestamp"]),
            price_usd_e8=market.price_usd_e8("WETH"),
            health_factor_wad=position.health_factor_wad,
            debt_usdc_e6=borrower.debt("USDC"),
            collateral_usd_e8=position.collateral_usd_e8,
            debt_usd_e8=position.debt_usd_e8,
            supply_rate_ray=market.reserve("WETH").supply_rate_ray,
            borrow_rate_ray=market.reserve("USDC").variable_borrow_rate_ray,
            transactions=len(gas),
            gas_used=sum(gas),
        )
    stop()


def store_demo(rows: Sequence[DemoRow], seed: int, digests: tuple[str, str], store: Path, took_s: float) -> str:
    """Write the demo as a run to the store and return its id; `digests` are those of the world before and after.

    The run has no scenario text: `mayavi demo --seed N` repeats it. Raises `StoreError` if the store cannot be used.
    """
    import mayavi
    from mayavi.sim.store import SegmentRecorder, new_run_id

    info = RunInfo(
        run_id=new_run_id(),
        scenario="demo",
        scenario_text="",
        seed=seed,
        steps=len(rows),
        chain=CHAIN,
        source="replica",
        world_digest=digests[0],
        versions={"mayavi": mayavi.__version__, "python": platform.python_version()},
        started_at=time.time() - took_s,
    )
    digest, kpis, account = RowsDigest(), _kpis(rows), _account(rows[-1])
    figures = [_snapshots(row) for row in rows]
    with SegmentRecorder(store) as recorder:
        recorder.begin(info)
        for row, snapshots in zip(rows, figures, strict=True):
            digest.add([_action(row)])
            digest.add(snapshots)
            recorder.record([_action(row)], snapshots)
        digest.add(kpis)
        digest.add([account])
        counts = RunCounts(len(rows), len(rows), 0, 0, sum(map(len, figures)))
        parts = dict.fromkeys(("prepare", "store", "agents", "kernel", "hooks"), 0.0)
        timings = {**parts, "engine": took_s, "total": took_s}
        recorder.end(RunEnd("finished", digest.hexdigest(), kpis, digests[1], timings, "", counts, (account,)))
    return info.run_id


def _action(row: DemoRow) -> ActionRow:
    details: dict[str, int | str | bool | None]
    if row.step:
        who, block, kind = "prices", "oracle", "post_price"
        details = {"symbol": "WETH", "feed": "Chainlink.ETH/USD", "answer": row.price_usd_e8, "decimals": 8}
    else:
        who, block, kind = BORROWER, "market", "open"
        details = {"collateral": "WETH", "supplied": COLLATERAL_WEI, "debt": "USDC", "borrowed": BORROWED_USDC_E6}
        details |= {"health_factor_after_wad": row.health_factor_wad, "note": "opens its loan"}
    return ActionRow(
        row.step,
        block,
        0,
        who,
        who,
        kind,
        "success",
        "",
        row.transactions,
        row.gas_used,
        "0",
        row.block,
        row.timestamp,
        canonical(details),
    )


def _snapshots(row: DemoRow) -> list[SnapshotRow]:
    bad = max(0, row.debt_usd_e8 - row.collateral_usd_e8)
    unhealthy = int(row.health_factor_wad < 10**18)
    figures = (
        ("AaveV3.WETH", "price", row.price_usd_e8, "usd_e8"),
        ("AaveV3.WETH", "supply_rate", row.supply_rate_ray, "ray"),
        ("AaveV3.USDC", "borrow_rate", row.borrow_rate_ray, "ray"),
        (BORROWER, "accounts", 1, "count"),
        (BORROWER, "accounts_with_debt", 1, "count"),
        (BORROWER, "collateral", row.collateral_usd_e8, "usd_e8"),
        (BORROWER, "debt", row.debt_usd_e8, "usd_e8"),
        (BORROWER, "bad_debt", bad, "usd_e8"),
        (BORROWER, "accounts_with_bad_debt", int(bad > 0), "count"),
        (BORROWER, "liquidatable", unhealthy, "count"),
        (BORROWER, "health_factor_below_1", unhealthy, "count"),
        (BORROWER, "health_factor_lowest", row.health_factor_wad, "wad"),
        (BORROWER, "health_factor", row.health_factor_wad, "wad"),
    )
    return [
        SnapshotRow(row.step, row.block, row.timestamp, subject, metric, str(value), _number(value, unit), unit)
        for subject, metric, value, unit in figures
    ]


def _kpis(rows: Sequence[DemoRow]) -> tuple[KpiRow, ...]:
    first, last = rows[0], rows[-1]
    change = (last.price_usd_e8 - first.price_usd_e8) * 10**18 // first.price_usd_e8
    bad = max(0, last.debt_usd_e8 - last.collateral_usd_e8)
    figures = (
        ("actions", len(rows), "count"),
        ("failed", 0, "count"),
        ("raised", 0, "count"),
        ("transactions", sum(row.transactions for row in rows), "count"),
        ("gas_used", sum(row.gas_used for row in rows), "gas"),
        ("liquidations", 0, "count"),
        ("liquidated", 0, "usd_e8"),
        ("bad_debt", bad, "usd_e8"),
        ("bad_debt_accounts", int(bad > 0), "count"),
        ("liquidatable_accounts", int(last.health_factor_wad < 10**18), "count"),
        ("debt", last.debt_usd_e8, "usd_e8"),
        ("collateral", last.collateral_usd_e8, "usd_e8"),
        (f"health_factor.{BORROWER}", last.health_factor_wad, "wad"),
        ("oracle_change.WETH", change, "wad"),
    )
    return tuple(KpiRow(name, str(value), _number(value, unit), unit) for name, value, unit in figures)


def _account(row: DemoRow) -> AccountRow:
    bad = max(0, row.debt_usd_e8 - row.collateral_usd_e8)
    reason = "no liquidator" if row.health_factor_wad < 10**18 else ""
    return AccountRow(
        BORROWER,
        BORROWER,
        "AaveV3",
        "usd_e8",
        str(row.collateral_usd_e8),
        str(row.debt_usd_e8),
        str(row.health_factor_wad),
        0,
        "0",
        str(bad),
        reason,
    )


def _number(value: int, unit: str) -> float:
    return value / float(10 ** _DECIMALS.get(unit, 0))
