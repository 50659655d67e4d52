"""Programs of the borrower environments: open a loan, and play one step. Each is one kernel call."""

from __future__ import annotations

from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.units import WAD
from mayavi.gym_env.lending.adapter import BANK, BORROWER, MARKET, LendingAdapter, Standing
from mayavi.gym_env.onchain.posted_feed import PostedFeed

MILLION = 10**6
BILLION = 10**9
FIGURES = (*Standing._fields, "price_e8", "cash", "cash_value_e8", "block", "timestamp")
"""Outputs read from every row after a step."""


def opening(adapter: LendingAdapter, block_seconds: int, feed: PostedFeed | None) -> Program:
    """Let blocks pass, move the reserve's utilisation, supply the collateral and take the loan."""
    program = Program()
    names = ("live", "blocks", "lend", "market_supply", "market_borrow", "supply", "borrow")
    live, blocks, lend, market_supply, market_borrow, supply, borrow = map(program.input, names)
    program.advance(blocks, program.multiply(blocks, block_seconds))
    statuses = {
        "lend": program.call(adapter.lend(lend), mask=lend),
        "market_supply": program.call(adapter.supply(market_supply, MARKET), mask=market_supply),
        "market_borrow": program.call(adapter.borrow(market_borrow, MARKET), mask=market_borrow),
        "supply": program.call(adapter.supply(supply), mask=live),
        "borrow": program.call(adapter.borrow(borrow), mask=borrow),
    }
    for name, (status, _, _) in statuses.items():
        program.output(name, status)
    _look(program, adapter, feed)
    return program


def tick(adapter: LendingAdapter, blocks: int, block_seconds: int, feed: PostedFeed | None) -> Program:
    """One tick: the borrower acts, a block later prices and yield change, a block later the liquidator acts.

    Then the rest of `blocks` passes. The inputs `debt` and `headroom` are the last outputs, read in the block in which
    the borrower acts.
    """
    program = Program()
    live, debt, headroom = map(program.input, ("live", "debt", "headroom"))
    repay_ppm, borrow_ppm, yield_ppb, pays = map(program.input, ("repay_ppm", "borrow_ppm", "yield_ppb", "pays"))

    repay = program.minimum(program.multiply_divide(debt, repay_ppm, MILLION), adapter.cash(program))
    borrow = program.multiply_divide(headroom, borrow_ppm, MILLION)
    borrow = program.either(program.less(program.add(debt, borrow), adapter.terms.least_debt), 0, borrow)
    acted, _, _ = program.call(
        [adapter.repay(repay), adapter.borrow(borrow)], choice=program.less(0, borrow), mask=program.add(repay, borrow)
    )
    program.advance(1, block_seconds, mask=live)

    price_e8: Word | int = adapter.terms.price_e8
    if feed is not None:
        price_e8 = program.either(live, program.input("price_e8"), feed.price_e8(program))
        feed.post(program, price_e8, program.subtract(1, program.equal(price_e8, feed.price_e8(program))))
    earned = program.multiply_divide(adapter.cash(program), yield_ppb, BILLION)
    token = adapter.debt.contract
    receives = Template(token.address, token.transfer.encode(BORROWER, 0), {36: earned}, sender=BANK)
    gives = Template(token.address, token.transfer.encode(BANK, 0), {36: earned}, sender=BORROWER)
    program.call([receives, gives], choice=pays, mask=earned)
    program.advance(1, block_seconds, mask=live)

    unhealthy = program.less(adapter.health_factor_wad(program, price_e8), WAD)
    liquidated, _, _ = program.call(adapter.liquidate(), mask=program.multiply(unhealthy, live))
    program.advance(blocks - 2, (blocks - 2) * block_seconds, mask=live)
    program.output("acted", acted)
    program.output("liquidated", liquidated)
    _look(program, adapter, feed)
    return program


def _look(program: Program, adapter: LendingAdapter, feed: PostedFeed | None) -> None:
    price_e8: Word = program.add(adapter.terms.price_e8, 0) if feed is None else feed.price_e8(program)
    cash, (block, timestamp) = adapter.cash(program), program.time()
    worth = program.multiply_divide(cash, adapter.terms.debt_price_e8, adapter.debt_unit)
    figures = (*adapter.standing(program, price_e8), price_e8, cash, worth, block, timestamp)
    for name, word in zip(FIGURES, figures, strict=True):
        program.output(name, word)
