"""Decisions of borrower behaviours."""

from __future__ import annotations

import pytest

from mayavi.agents.lending.behaviours import NEVER_ABOVE, NEVER_DROPS, Bounds, KeepsBand, Panics, Passive
from mayavi.agents.quantities import as_ppm, as_wad, to_fraction, units_of
from mayavi.errors import BadArgument
from mayavi.evm.units import WAD
from mayavi.protocols.health import NO_DEBT


def wad(thousandths: int) -> int:
    return thousandths * WAD // 1_000


def test_the_passive_do_nothing_at_any_price() -> None:
    assert Passive().bounds(WAD) == Bounds(0, NEVER_ABOVE, NEVER_DROPS)
    assert Passive().decide(0, 1_000_000, WAD) is None


@pytest.mark.parametrize(
    ("factor", "kind"), [(1_299, "repay"), (1_300, None), (1_500, None), (2_000, None), (2_001, "borrow")]
)
def test_a_band_is_left_alone_inside_and_restored_outside(factor: int, kind: str | None) -> None:
    band = KeepsBand("1.3", 2)
    move = band.decide(wad(factor), 0, wad(1_500))
    assert (move.kind if move else None) == kind
    if move:
        assert move.target_wad == wad(1_500)
        assert f"{factor / 1_000:.4f}" in move.reason
    low, high, _ = band.bounds(wad(1_500))
    assert (wad(factor) < low or wad(factor) > high) == (kind is not None)


def test_a_target_outside_the_band_becomes_its_nearer_edge() -> None:
    low = KeepsBand("1.3", 2).decide(wad(1_000), 0, wad(1_100))
    high = KeepsBand("1.3", 2).decide(wad(3_000), 0, wad(2_500))
    assert low is not None
    assert low.target_wad == wad(1_300)
    assert high is not None
    assert high.target_wad == wad(2_000)


def test_a_band_around_the_target_counts_in_shares_of_it() -> None:
    band = KeepsBand("0.9", "1.2", around=True)
    assert band.bounds(wad(2_000))[:2] == (wad(1_800), wad(2_400))
    assert band.decide(wad(1_801), 0, wad(2_000)) is None
    assert band.decide(wad(1_799), 0, wad(2_000)) is not None


def test_without_an_upper_edge_nobody_borrows_more_and_without_debt_neither() -> None:
    assert KeepsBand("1.3").decide(wad(17_000), 0, wad(1_500)) is None
    assert KeepsBand("1.3", 2).decide(NO_DEBT, 0, wad(1_500)) is None


def test_panic_comes_before_anything_else() -> None:
    nervous = Panics(below="1.1", on_drop="0.2", otherwise=KeepsBand("1.3", 2))
    low = nervous.decide(wad(1_099), 0, wad(1_500))
    fallen = nervous.decide(wad(1_500), 200_000, wad(1_500))
    calm = nervous.decide(wad(1_200), 199_999, wad(1_500))
    assert low is not None
    assert low.kind == "exit"
    assert fallen is not None
    assert fallen.kind == "exit"
    assert "20.00 %" in fallen.reason
    assert calm is not None
    assert calm.kind == "repay"
    assert nervous.bounds(wad(1_500)) == Bounds(wad(1_300), wad(2_000), 200_000)
    assert nervous.decide(NO_DEBT, 900_000, wad(1_500)) is None


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(BadArgument, match="band from 2 to 1 is empty"):
        KeepsBand(2, 1)
    with pytest.raises(BadArgument, match="nothing makes it panic"):
        Panics()
    with pytest.raises(BadArgument, match="not from 0 to 1"):
        Panics(on_drop=20)
    with pytest.raises(BadArgument, match="below zero"):
        KeepsBand(-1)


def test_numbers_are_what_their_digits_say() -> None:
    assert as_wad(1.1) == as_wad("1.1") == 1_100_000_000_000_000_000
    assert as_ppm(0.3) == 300_000
    assert units_of(0.1, 18) == 10**17
    assert units_of("1.23456789", 6) == 1_234_567
    assert to_fraction("1e-3") * 1_000 == 1
    for wrong in ("many", float("nan"), float("inf"), None):
        with pytest.raises(BadArgument, match="is not a number"):
            to_fraction(wrong)  # type: ignore[arg-type]
