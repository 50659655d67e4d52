"""The model's defaults are what the calibration finds in the data, where the data is."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from mayavi.markets import Series
from mayavi.numerics.streams import stream
from mayavi.portfolio.market.data import HOURS_PER_YEAR
from mayavi.portfolio.market.history import VOL_HALF_LIFE
from mayavi.portfolio.market.model import RWAModel
from tools.calibrate_rwa import Found, calibrate, compare, volatility_half_life


@pytest.fixture(scope="module")
def found(cases: Path) -> dict[str, Found]:
    return calibrate(cases / "market")


@pytest.mark.slow
def test_the_defaults_are_what_the_data_says(cases: Path, found: dict[str, Found]) -> None:
    defaults = {field.name: field.default for field in fields(RWAModel)}
    assert len(found) > 25
    assert {name: each.value for name, each in found.items()} == {name: defaults[name] for name in found}
    assert volatility_half_life(cases / "market").value == VOL_HALF_LIFE


def test_the_page_says_which_parameters_data_decides(found: dict[str, Found], repository: Path) -> None:
    page = (repository / "docs" / "reference" / "rwa-market.md").read_text(encoding="utf-8")
    for field in fields(RWAModel):
        line = next(line for line in page.splitlines() if line.startswith(f"| `{field.name}` |"))
        assert ("assumed" in line) == (field.name not in found), line


@pytest.mark.slow(2)
def test_the_page_shows_how_near_it_comes(cases: Path, repository: Path) -> None:
    page = (repository / "docs" / "reference" / "rwa-market.md").read_text(encoding="utf-8")
    for name, (files, drawn) in compare(cases / "market").items():
        assert f"| {name} | {files:.3g} | {drawn:.3g} |" in page


@pytest.mark.slow(1)
def test_the_drawn_market_moves_as_the_files_did(cases: Path) -> None:
    """Not what was fitted alone: how often moves are large, how fat the tails of days are, how skewed it is."""
    market = RWAModel().draw([stream(31, str(path)) for path in range(400)], 720)
    drawn = np.diff(np.log(market.column("eth_price")), axis=1)
    series = Series.read(cases / "market" / "ETHUSDT_1h_2022-10_2025-10.csv", price_column="close")
    real = np.diff(np.log(series.prices))
    assert drawn.std() == pytest.approx(real.std(), rel=0.05)
    assert drawn.std() * np.sqrt(HOURS_PER_YEAR) == pytest.approx(0.62, rel=0.05)
    for share in (0.9, 0.99, 0.999):
        one, other = (np.quantile(np.abs(each), share) for each in (drawn, real))
        assert one == pytest.approx(other, rel=0.1)
    assert np.quantile(np.abs(drawn), 0.9999) == pytest.approx(np.quantile(np.abs(real), 0.9999), rel=0.25)


@pytest.mark.slow(1)
def test_the_command_prints_them_for_programs(cases: Path, repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "tools/calibrate_rwa.py", "--json"],
        cwd=repository,
        env={"PYTHONPATH": str(repository), "MAYAVI_CASES": str(cases)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert json.loads(done.stdout)["eth_volatility"]["value"] == RWAModel().eth_volatility
