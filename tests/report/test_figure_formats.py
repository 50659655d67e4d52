"""Formats of figures: one list of changes for the command line, tiles and sweep pages."""

from __future__ import annotations

import pytest

from mayavi.report.figure_formats import figure_format, worst_is_low
from mayavi.report.run.words import format_of
from mayavi.scenarios.figures.formatting import CHANGES, RATES, shown_number


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_a_signed_percentage_everywhere(kind: str) -> None:
    name = f"{kind}.steakUSDC"
    assert shown_number(0.0512, "wad", name) == "+5.1 %"
    assert shown_number(-0.0512, "wad", name) == "−5.1 %"
    found = figure_format(name, "wad")
    assert (found.format, found.write(-0.0512)) == ("change", "−5.12\u00a0%")
    assert format_of(name, "wad") == "change"
    assert worst_is_low(name)


@pytest.mark.parametrize("kind", RATES)
def test_a_rate_is_a_percentage_everywhere(kind: str) -> None:
    assert shown_number(0.125, "ray", f"{kind}.USDC") == "12.50 %"
    assert figure_format(f"{kind}.USDC", "ray").format == format_of(f"{kind}.USDC", "ray") == "percent"


@pytest.mark.parametrize("unit", ["usd_e8", "eth_e8", "wei", "count", "gas", "ppm", "wad"])
def test_tiles_and_sweep_pages_format_a_unit_alike(unit: str) -> None:
    assert format_of("bad_debt", unit) == figure_format("bad_debt", unit).format
