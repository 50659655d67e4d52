"""Starts of borrower episodes and the amounts of their transactions, one episode at a time in Python's integers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mayavi.evm.units import WAD
from mayavi.evm.words import Words
from mayavi.gym_env.lending.adapter import LendingAdapter
from mayavi.gym_env.lending.env import LendingRowsEnv
from mayavi.gym_env.lending.start import BUSY_SHARE, Starts, amounts_of

MILLION = 10**6


class Start(NamedTuple):
    """Initial state of one episode; a utilisation of zero leaves the reserve as it is."""

    blocks: int
    collateral: int
    health_factor_ppm: int
    utilisation_ppm: int
    cash_yield_ppm: int


def start_of(starts: Starts, row: int) -> Start:
    """Start of one row."""
    blocks, collateral, *rest = starts
    return Start(int(blocks[row]), Words(collateral)[row], *(int(each[row]) for each in rest))


def fixed_start(unit: int) -> Start:
    """One whole token, a health factor of 1.25, an unchanged market and no yield."""
    return Start(0, unit, 1_250_000, 0, 0)


def drawn_start(env: LendingRowsEnv[Any], rng: np.random.Generator) -> Start:
    """Draw the start of an episode with NumPy, one value after the other."""
    config, kink = env.config, env.adapter.terms.kink
    if config.start == "fixed":
        return fixed_start(env.adapter.unit)
    low, high = config.utilisation
    if low < kink < high:
        low, high = (kink, high) if rng.random() < BUSY_SHARE else (low, kink)
    blocks, amounts = int(rng.integers(config.start_blocks + 1)), Words(amounts_of(config, env.adapter.unit))
    collateral = amounts[int(rng.integers(len(amounts)))]
    shares = [round(rng.uniform(*each) * MILLION) for each in (config.health_factor, (low, high), config.cash_yield)]
    return Start(blocks, collateral, *shares)


def opening_amounts(adapter: LendingAdapter, start: Start) -> dict[str, int]:
    """Blocks that pass and amounts of the transactions that open a loan, by name."""
    terms, busy = adapter.terms, start.utilisation_ppm
    lendable, supplies, borrows = (each * 95 // 100 for each in terms.room)
    # The rest of the market supplies a tenth more collateral than its loans need.
    of_collateral = terms.price_e8 * adapter.debt_unit * terms.ltv_wad * 10
    of_debt = terms.debt_price_e8 * adapter.unit * WAD * 11
    lend = market_borrow = 0
    if busy:
        lend = min(max(0, terms.borrowed * MILLION // busy - terms.supplied), lendable)
        most_borrowed = min(borrows, supplies * of_collateral // of_debt)
        market_borrow = min(max(0, terms.supplied * busy // MILLION - terms.borrowed), most_borrowed)
    value = start.collateral * terms.price_e8 // adapter.unit
    most = value * terms.ltv_wad // WAD * 999 // 1000
    debt = min(value * terms.threshold_wad // WAD * MILLION // start.health_factor_ppm, most)
    loan = debt * adapter.debt_unit // terms.debt_price_e8
    return {
        "blocks": start.blocks,
        "lend": lend,
        "market_supply": market_borrow * of_debt // of_collateral,
        "market_borrow": market_borrow,
        "supply": start.collateral,
        "borrow": loan if loan >= terms.least_debt else 0,
    }
