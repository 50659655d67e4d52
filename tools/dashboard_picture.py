"""Draw the dashboard's page of a run as a PNG: `python tools/dashboard_picture.py`, with Chromium and the demo's data.

Starts `mayavi serve --demo` in a temporary folder, logs in, and opens the run of the crash.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from mayavi.report.output import require_chromium

TARGET = Path(__file__).resolve().parent.parent / "docs/assets/dashboard.png"
LARGEST_BYTES = 300_000
WIDTH, HEIGHT = 1280, 900
PATIENCE_S = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=TARGET, help="where to write the PNG")
    picture: Path = parser.parse_args().picture
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "mayavi", "serve", "--demo", "--port", "0", "--data", place]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert process.stdout is not None
            link = process.stdout.readline().split()[1]
            run_id = find_run(*link.split("/app/#key="))
            draw(link, f"runs/{run_id}", picture)
        finally:
            process.terminate()
            process.wait()
    size = picture.stat().st_size
    print(f"{picture}: {size:,} bytes")
    if size > LARGEST_BYTES:
        raise SystemExit(f"the picture has more than {LARGEST_BYTES:,} bytes")


def find_run(url: str, key: str) -> str:
    """Wait for the crash in one step, and return its id."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            runs = ask(url, key, "/runs?scenario=depeg_cascade&single=true&status=finished")["items"]
        except OSError:
            runs = []
        for run in runs:
            if "ramp" not in ask(url, key, f"/runs/{run['run_id']}")["scenario_text"]:
                return str(run["run_id"])
        time.sleep(0.2)
    raise SystemExit("the example did not finish")


def ask(url: str, key: str, path: str) -> dict[str, Any]:
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def draw(link: str, page: str, picture: Path) -> None:
    """Log in by the link, open a page and take its picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=require_chromium(), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        tab.goto(link)
        tab.get_by_role("button", name="Log in", exact=True).click()
        tab.get_by_test_id("run-count").wait_for()
        tab.goto(f"{link.partition('/app/')[0]}/app/{page}")
        tab.locator(".js-plotly-plot .main-svg").first.wait_for()
        tab.wait_for_timeout(1000)
        tab.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
