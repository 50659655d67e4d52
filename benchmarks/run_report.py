"""Report of a long run: `mayavi report` on 100,000 stored actions, and the page in a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target
from benchmarks.startup import command
from mayavi.report.output import find_chromium
from mayavi.sim.rows import ActionRow, KpiRow, RunCounts, RunEnd, RunInfo, SnapshotRow
from mayavi.sim.store import SegmentRecorder, new_run_id

ACTIONS = 100_000
QUICK_ACTIONS = 2_000
ACTIONS_A_STEP = 100
ROUNDS = 3
LIMIT_S, LIMIT_BYTES, LIMIT_PAGE = 5.0, 1e9, 2.5e6
SCREENS = 60
SCROLL = """async (screens) => {
  const view = document.querySelector(".log-view");
  view.scrollIntoView();
  const frames = [];
  let before = performance.now();
  for (let at = 0; at < screens; at += 1) {
    view.scrollTop += view.clientHeight;
    await new Promise((done) => requestAnimationFrame(done));
    frames.push(performance.now() - before);
    before = performance.now();
  }
  return frames;
}"""


def measure(effort: Effort) -> Section:
    """Store a run of liquidations and failures, and time its report in processes of their own."""
    count = QUICK_ACTIONS if effort.quick else ACTIONS
    section = Section("run_report", f"report of a run of {count:,} actions (whole processes)")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        store_run(folder / "runs.duckdb", count)
        found = [report(folder) for _ in range(effort.rounds(ROUNDS))]
        looked = look(folder / "page.html")
    seconds = min(each[0] for each in found)
    cpu = min(each[3] for each in found)
    memory, page = max(each[1] for each in found), found[0][2]
    figures = {
        "fastest": Quantity(seconds, "s"),
        "cpu": Quantity(cpu, "s"),
        "peak_memory": Quantity(memory / 1e6, "MB"),
        "page": Quantity(page / 1e6, "MB"),
    }
    section.rows.append(Row("mayavi report latest", figures))
    if looked:
        section.rows.append(Row(f"the page in Chromium, its log scrolled by {SCREENS} screens", looked))
    if not effort.quick:
        what = f"report of {count:,} actions"
        section.targets += [
            Target(what, Quantity(LIMIT_S, "s"), figures["fastest"]),
            Target(f"{what}, memory", Quantity(LIMIT_BYTES / 1e6, "MB"), figures["peak_memory"]),
            Target(f"{what}, page", Quantity(LIMIT_PAGE / 1e6, "MB"), figures["page"]),
        ]
    return section


def report(folder: Path) -> tuple[float, float, int, float]:
    """Write the report; return seconds, peak memory in bytes, the size of the page, and seconds of CPU."""
    page = folder / "page.html"
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command(), "report", "latest", "--store", str(folder / "runs.duckdb"), "--out", str(page)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"mayavi report failed with exit code {process.returncode}")
    memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return seconds, memory, page.stat().st_size, usage.ru_utime + usage.ru_stime


def look(page: Path) -> dict[str, Quantity]:
    """Open the page and scroll through its log; empty without Chromium and playwright."""
    program = find_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {}
    if program is None:
        return {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        tab = browser.new_page()
        began = time.perf_counter()
        tab.goto(page.as_uri())
        opened = time.perf_counter() - began
        frames = sorted(tab.evaluate(SCROLL, SCREENS))
        browser.close()
    return {
        "opened": Quantity(opened, "s"),
        "median_frame": Quantity(frames[len(frames) // 2], "ms"),
        "slowest_frame": Quantity(frames[-1], "ms"),
    }


def store_run(path: Path, count: int) -> None:
    """Store a run with `count` actions, every tenth a liquidation, every seventh failed."""
    info = RunInfo(
        new_run_id(), "benchmark", "name: benchmark\n", 0, count // ACTIONS_A_STEP, "ethereum", "replica", "", {}, 0.0
    )
    with SegmentRecorder(path) as recorder:
        recorder.begin(info)
        for step in range(count // ACTIONS_A_STEP):
            recorder.record([_action(step, at) for at in range(ACTIONS_A_STEP)], _figures(step))
        kpis = tuple(KpiRow(name, "0", 0.0, "usd_e8") for name in ("bad_debt", "liquidated", "debt", "collateral"))
        recorder.end(RunEnd("finished", "", kpis, "", {}, "", RunCounts(info.steps, count, count // 7, 0, 0)))


def _action(step: int, at: int) -> ActionRow:
    liquidates, failed = at % 10 == 0, at % 7 == 0
    details = (
        {"borrower": f"borrowers-{at}", "collateral": ("WETH", "WBTC")[at % 3 == 0], "debt": "USDC"}
        | {"covered": "1000000", "covered_e8": "100000000", "seized": "10", "seized_e8": "105000000", "profit_e8": "5"}
        if liquidates
        else {"amount_in": "5", "amount_out": "6", "token_in": "USDC", "token_out": "WETH", "note": "8 trades"}
    )
    return ActionRow(
        step=step,
        block="market",
        position=at,
        agent=f"agent-{at}",
        account=f"agent-{at}",
        kind="liquidate" if liquidates else "trade",
        status="failed" if failed else "success",
        reason=f"the pool pays {step}, and nothing is sold below {at}" if failed else "",
        transactions=1,
        gas_used=21_000 + at,
        fee_wei="1",
        block_number=19_000_000 + step,
        timestamp=1_700_000_000 + 12 * step,
        details=json.dumps(details),
    )


def _figures(step: int) -> list[SnapshotRow]:
    values = {
        ("borrowers", "accounts"): 100.0,
        ("borrowers", "accounts_with_debt"): 90.0,
        ("borrowers", "bad_debt"): float(step),
        ("borrowers", "debt"): 1e6 - step,
        ("borrowers", "collateral"): 2e6 - step,
        ("AaveV3.WETH", "price"): 2000.0 - step % 500,
        ("UniswapV3.WETH/USDC.500", "price"): 2001.0 - step % 500,
    }
    return [
        SnapshotRow(step, 19_000_000 + step, 1_700_000_000 + 12 * step, subject, metric, "1", number, "usd_e8")
        for (subject, metric), number in values.items()
    ]
