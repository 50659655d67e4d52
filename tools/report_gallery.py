"""Build example reports of every kind, with an index page.

    PYTHONPATH=. .venv/bin/python tools/report_gallery.py --out dist/gallery

One report for each scenario of the library, a sweep with a grid, a training with five seeds and its evaluation, a
backtest, an incident and a comparison. Everything runs offline and takes some minutes; the training needs the extra
`rl` and is left out without it. `--only NAME` builds some of them, `--picture FILE` draws the README's screenshot.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import mayavi
from mayavi.report.builder import run_page
from mayavi.report.page import Page
from mayavi.report.render import render
from mayavi.scenarios import registry
from mayavi.sim.store import Store

SEED = 7
GRID: dict[str, Sequence[object]] = {
    "prices.WETH.size": ["-20%", "-30%", "-40%"],
    "agents.borrowers.size_usd.lognormal.median": [10_000, 20_000, 40_000],
}
TRAINING = {"env": "vesting", "framework": "sb3", "timesteps": 16_384, "evaluate_every": 2_048, "evaluate_episodes": 64}
STYLE = """
:root{color-scheme:light dark;--ink:#1a1d21;--muted:#5b6470;--line:#d8dde3;--paper:#fff;--accent:#0072b2}
@media (prefers-color-scheme:dark){:root{--ink:#e8ecf0;--muted:#9aa4b0;--line:#333b44;--paper:#0f1317;--accent:#56b4e9}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:32px 16px}h1{margin:0 0 8px;font-size:28px}
p{margin:0 0 24px;color:var(--muted)}ul{list-style:none;margin:0;padding:0}
li{border-top:1px solid var(--line);padding:16px 0}
a{color:var(--accent);font-weight:600;font-size:18px}b{font-size:13px;border:1px solid var(--line);border-radius:12px;
padding:2px 10px;margin-left:8px}span{display:block;color:var(--muted)}
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A report of the gallery. `build` runs what it shows and returns its page."""

    name: str
    build: Callable[[Path], Page]


def examples() -> Iterator[Example]:
    """Every example, in the order of the index."""
    for name in registry.names():
        yield Example(name, lambda folder, name=name: scenario_page(folder, name))  # type: ignore[misc]
    yield Example("sweep", sweep_example)
    yield Example("compare", compare_example)
    yield Example("incident", incident_example)
    yield Example("backtest", backtest_example)
    if importlib.util.find_spec("stable_baselines3") is not None:
        yield Example("training", training_example)
        yield Example("evaluation", evaluation_example)


def scenario_page(folder: Path, name: str) -> Page:
    run = mayavi.run(name, seed=SEED, store=folder / "runs.duckdb")
    return run_page(Store(folder / "runs.duckdb"), run.run_id)


def sweep_example(folder: Path) -> Page:
    from mayavi.report.shapes.sweeps.sweep import sweep_page

    small = {"agents.borrowers.count": 25}
    store = folder / "runs.duckdb"
    found = mayavi.sweep("depeg_cascade", seeds=range(60), grid=GRID, overrides=small, steps=6, store=store)
    return sweep_page(Store(store), found.sweep_id)


def compare_example(folder: Path) -> Page:
    from mayavi.report.shapes.compare import compare_page

    store = folder / "runs.duckdb"
    sweeps = [
        mayavi.sweep(
            "depeg_cascade", seeds=range(30), steps=6, store=store,
            overrides={"agents.borrowers.count": 25, "prices.WETH.size": size},
        )
        for size in ("-30%", "-35%")
    ]  # fmt: skip
    return compare_page(Store(store), [each.sweep_id for each in sweeps])


def incident_example(folder: Path) -> Page:
    from mayavi.cli.printing.incident import document
    from mayavi.report.shapes.replays.incident import incident_page
    from mayavi.scenarios.incidents.replay import replay_incident

    change = "aave_v2.USDC.liquidation_bonus=2%"
    return incident_page(
        document(replay_incident("crv_2022_11", counterfactuals=[change], store=folder / "runs.duckdb"))
    )


def backtest_example(folder: Path) -> Page:
    from mayavi.portfolio.backtest.backtest import BacktestSettings
    from mayavi.portfolio.backtest.models import backtest_models
    from mayavi.report.shapes.backtests.backtest import backtest_page

    command = "mayavi backtest rwa --simulated --episodes 200 --split test --seed 0"
    settings = BacktestSettings(episodes=200)
    return backtest_page(backtest_models([], None, settings, config={"split": "test"}, command=command))


def trained(folder: Path) -> Path:
    """The folder of the trainings; trains and evaluates five seeds, unless that is done."""
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.evaluation.document import eval_name, write_eval
    from mayavi.rl.evaluation.evaluate import EvaluationSettings
    from mayavi.rl.evaluation.models import evaluate_models
    from mayavi.rl.models import open_model
    from mayavi.rl.training.train import train

    models = folder / "models"
    for seed in range(5):
        if (models / f"seed-{seed}").is_dir():
            continue
        model = open_model(train(TrainConfig.of(TRAINING, {"seed": seed}), models=models, run_id=f"seed-{seed}").path)
        document = evaluate_models([model], None, EvaluationSettings(episodes=128), config={"split": "test"})
        write_eval(document, model.folder.eval_path / eval_name(document))
    return models


def training_example(folder: Path) -> Page:
    from mayavi.report.shapes.learning.training import training_page

    return training_page("seed-0", trained(folder))


def evaluation_example(folder: Path) -> Page:
    from mayavi.report.registry import Places, find

    models = trained(folder)
    (file,) = (models / "seed-0" / "eval").glob("*.json")
    return find(str(file), Places(models=models)).build()


def index(pages: Sequence[tuple[str, Page]]) -> str:
    """The index page: a link, the verdict and the subject of every report."""
    items = "\n".join(
        f'<li><a href="{escape(name)}.html">{escape(name)}</a><b>{escape(page.verdict.badge)}</b>'
        f"<span>{escape(page.verdict.sentence)}</span><span>{escape(page.subject)}</span></li>"
        for name, page in pages
    )
    about = "Reports of Mayavi: each is one file that needs no network. They were built by tools/report_gallery.py."
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Reports of Mayavi</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><main><h1>Reports of Mayavi</h1><p>{about}</p>\n<ul>\n{items}\n</ul></main></body></html>\n"
    )


def build(out: Path, only: Sequence[str] = ()) -> list[tuple[str, Page]]:
    """Write the reports that `only` names, by default all, and the index into `out`."""
    known = {each.name: each for each in examples()}
    if unknown := [name for name in only if name not in known]:
        raise SystemExit(f"no example is called '{unknown[0]}'; there are {', '.join(known)}")
    out.mkdir(parents=True, exist_ok=True)
    pages = []
    with tempfile.TemporaryDirectory(prefix="mayavi-gallery-") as folder:
        for name in only or known:
            print(f"{name} …", file=sys.stderr, flush=True)
            page = known[name].build(Path(folder))
            (out / f"{name}.html").write_text(render(page), encoding="utf-8", newline="\n")
            pages.append((name, page))
    (out / "index.html").write_text(index(pages), encoding="utf-8", newline="\n")
    return pages


def draw(page: Path, picture: Path, width: int = 1280, height: int = 900) -> None:
    """Draw the top of a report as a PNG by a headless Chromium."""
    from playwright.sync_api import sync_playwright

    from mayavi.report.output import require_chromium

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=require_chromium(), args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        shown.goto(page.resolve().as_uri())
        shown.wait_for_selector("html[data-drawn]", state="attached")
        shown.screenshot(path=picture)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Build example reports of every kind, with an index page.")
    parser.add_argument("--out", type=Path, default=Path("dist/gallery"), help="folder to write to")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="build only these examples")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the first of the reports as a PNG")
    given = parser.parse_args()
    pages = build(given.out, given.only)
    print(f"wrote {len(pages)} reports and {given.out / 'index.html'}")
    if given.picture is not None:
        draw(given.out / f"{pages[0][0]}.html", given.picture)
        print(f"drew {given.picture}, {given.picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
