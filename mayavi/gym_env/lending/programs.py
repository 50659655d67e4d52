"""Programs of the borrower environments: open a loan, and play one step. Each is one kernel call."""

from __future__ import annotations

from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.units import WAD
from mayavi.gym_env.lending.adapter import BANK, BORROWER, MARKET, LendingAdapter, Standing
from mayavi.gym_env.onchain.posted_feed import PostedFeed

MILLION = 10**6
BILLION = 10**9
OPENING = ("lend", "market_supply", "market_borrow", "supply", "borrow")
"""Transactions of the opening program; its first outputs are their statuses."""
_ROOM_PPM = 950_000  # share of the room under caps: interest accrues until the start
_LARGEST_LOAN_PPM = 999_000  # share of the largest loan, a margin for rounding
FIGURES = (*Standing._fields, "price_e8", "cash", "cash_value_e8", "block", "timestamp")
"""Outputs read from every row after a step."""


def opening(adapter: LendingAdapter, block_seconds: int, feed: PostedFeed | None) -> Program:
    """Let blocks pass, move the reserve's utilisation, supply the collateral and take the loan.

    The inputs are the columns of `start.Starts`.
    """
    program = Program()
    live, blocks, supply = map(program.input, ("live", "blocks", "collateral"))
    lend, market_supply, market_borrow = _market_amounts(program, adapter)
    borrow = _loan(program, adapter, supply)
    program.advance(blocks, program.multiply(blocks, block_seconds))
    calls = (
        program.call(adapter.lend(lend), mask=lend),
        program.call(adapter.supply(market_supply, MARKET), mask=market_supply),
        program.call(adapter.borrow(market_borrow, MARKET), mask=market_borrow),
        program.call(adapter.supply(supply), mask=live),
        program.call(adapter.borrow(borrow), mask=borrow),
    )
    for name, (status, _, _) in zip(OPENING, calls, strict=True):
        program.output(name, status)
    _look(program, adapter, feed)
    return program


def _market_amounts(program: Program, adapter: LendingAdapter) -> tuple[Word, Word, Word]:
    """Amounts that the rest of the market lends, supplies and borrows until the reserve has the utilisation of the
    start, or one as close as caps allow."""
    terms, utilisation = adapter.terms, program.input("utilisation_ppm")
    lendable, supplies, borrows = (each * _ROOM_PPM // MILLION for each in terms.room)
    # The market supplies a tenth more collateral than its loans need: this ratio of collateral to debt.
    of_collateral = terms.price_e8 * adapter.debt_unit * terms.ltv_wad * 10
    of_debt = terms.debt_price_e8 * adapter.unit * WAD * 11
    borrowable = min(borrows, supplies * of_collateral // of_debt)
    unchanged = program.equal(utilisation, 0)
    supplied = program.multiply_divide(terms.borrowed, MILLION, program.either(unchanged, 1, utilisation))
    borrowed = program.multiply_divide(terms.supplied, utilisation, MILLION)
    lend = program.minimum(_excess(program, supplied, terms.supplied), lendable)
    borrow = program.minimum(_excess(program, borrowed, terms.borrowed), borrowable)
    lend, borrow = program.either(unchanged, 0, lend), program.either(unchanged, 0, borrow)
    return lend, program.multiply_divide(borrow, of_debt, of_collateral), borrow


def _loan(program: Program, adapter: LendingAdapter, collateral: Word) -> Word:
    """Amount to borrow for the health factor of the start, at most what the protocol lends."""
    terms = adapter.terms
    value = program.multiply_divide(collateral, terms.price_e8, adapter.unit)
    most = program.multiply_divide(program.multiply_divide(value, terms.ltv_wad, WAD), _LARGEST_LOAN_PPM, MILLION)
    limit = program.multiply_divide(value, terms.threshold_wad, WAD)
    debt = program.minimum(program.multiply_divide(limit, MILLION, program.input("health_factor_ppm")), most)
    loan = program.multiply_divide(debt, adapter.debt_unit, terms.debt_price_e8)
    return program.either(program.less(loan, terms.least_debt), 0, loan)


def _excess(program: Program, amount: Word, over: int) -> Word:
    return program.either(program.less(over, amount), program.subtract(amount, over), 0)


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
