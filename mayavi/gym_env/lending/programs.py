"""The two programs of a borrower's environment: a loan is opened, and a step passes. Each is one kernel call."""

from __future__ import annotations

from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.units import WAD
from mayavi.gym_env.lending.adapter import BANK, BORROWER, MARKET, Desk, Standing
from mayavi.gym_env.onchain.posted_feed import PostedFeed

MILLION = 10**6
BILLION = 10**9
FIGURES = (*Standing._fields, "price_e8", "cash", "cash_value_e8", "block", "timestamp")
"""What is read of every row after a step."""


def opening(desk: Desk, block_seconds: int, feed: PostedFeed | None) -> Program:
    """Blocks pass, the market lends or borrows more, the borrower puts up collateral and takes its loan."""
    program = Program()
    names = ("live", "blocks", "lend", "market_supply", "market_borrow", "supply", "borrow")
    live, blocks, lend, market_supply, market_borrow, supply, borrow = map(program.input, names)
    program.advance(blocks, program.multiply(blocks, block_seconds))
    statuses = {
        "lend": program.call(desk.lend(lend), mask=lend),
        "market_supply": program.call(desk.supply(market_supply, MARKET), mask=market_supply),
        "market_borrow": program.call(desk.borrow(market_borrow, MARKET), mask=market_borrow),
        "supply": program.call(desk.supply(supply), mask=live),
        "borrow": program.call(desk.borrow(borrow), mask=borrow),
    }
    for name, (status, _, _) in statuses.items():
        program.output(name, status)
    _look(program, desk, feed)
    return program


def tick(desk: Desk, blocks: int, block_seconds: int, feed: PostedFeed | None) -> Program:
    """A tick of the scheduler: the borrower, a block later prices and yield, a block later the liquidator; the rest.

    `debt` and `headroom` are what was read last, in the block in which the borrower acts.
    """
    program = Program()
    live, debt, headroom = map(program.input, ("live", "debt", "headroom"))
    repay_ppm, borrow_ppm, yield_ppb, pays = map(program.input, ("repay_ppm", "borrow_ppm", "yield_ppb", "pays"))

    repay = program.minimum(program.multiply_divide(debt, repay_ppm, MILLION), desk.cash(program))
    borrow = program.multiply_divide(headroom, borrow_ppm, MILLION)
    borrow = program.either(program.less(program.add(debt, borrow), desk.terms.least_debt), 0, borrow)
    acted, _, _ = program.call(
        [desk.repay(repay), desk.borrow(borrow)], choice=program.less(0, borrow), mask=program.add(repay, borrow)
    )
    program.advance(1, block_seconds, mask=live)

    price_e8: Word | int = desk.terms.price_e8
    if feed is not None:
        price_e8 = program.either(live, program.input("price_e8"), feed.price_e8(program))
        feed.post(program, price_e8, program.subtract(1, program.equal(price_e8, feed.price_e8(program))))
    earned = program.multiply_divide(desk.cash(program), yield_ppb, BILLION)
    token = desk.debt.contract
    receives = Template(token.address, token.transfer.encode(BORROWER, 0), {36: earned}, sender=BANK)
    gives = Template(token.address, token.transfer.encode(BANK, 0), {36: earned}, sender=BORROWER)
    program.call([receives, gives], choice=pays, mask=earned)
    program.advance(1, block_seconds, mask=live)

    unhealthy = program.less(desk.health_factor_wad(program, price_e8), WAD)
    liquidated, _, _ = program.call(desk.liquidate(), mask=program.multiply(unhealthy, live))
    program.advance(blocks - 2, (blocks - 2) * block_seconds, mask=live)
    program.output("acted", acted)
    program.output("liquidated", liquidated)
    _look(program, desk, feed)
    return program


def _look(program: Program, desk: Desk, feed: PostedFeed | None) -> None:
    price_e8: Word = program.add(desk.terms.price_e8, 0) if feed is None else feed.price_e8(program)
    cash, (block, timestamp) = desk.cash(program), program.time()
    worth = program.multiply_divide(cash, desk.terms.debt_price_e8, desk.debt_unit)
    figures = (*desk.standing(program, price_e8), price_e8, cash, worth, block, timestamp)
    for name, word in zip(FIGURES, figures, strict=True):
        program.output(name, word)
