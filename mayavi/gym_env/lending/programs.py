"""Programs of the borrower environments: open a loan, and play one step. Each is one kernel call.

A whole step also decodes the action, and hands back observation, reward and what the row keeps; see `steps.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mayavi.evm.fleet import SUCCESS, Program, Template, Word
from mayavi.evm.float_word import FloatWord
from mayavi.evm.units import WAD
from mayavi.gym_env.lending.adapter import BANK, BORROWER, MARKET, LendingAdapter, Standing
from mayavi.gym_env.lending.observations import observation
from mayavi.gym_env.lending.rewards import LIQUIDATED, REWARDS, Played
from mayavi.gym_env.lending.state import Moment, RowState
from mayavi.gym_env.onchain.posted_feed import PostedFeed
from mayavi.markets.process import SECONDS_PER_YEAR

MILLION = 10**6
BILLION = 10**9
OPENING = ("lend", "market_supply", "market_borrow", "supply", "borrow")
"""Transactions of the opening program; its first outputs are their statuses."""
_ROOM_PPM = 950_000  # share of the room under caps: interest accrues until the start
_LARGEST_LOAN_PPM = 999_000  # share of the largest loan, a margin for rounding
FIGURES = (*Standing._fields, "price_e8", "cash", "cash_value_e8", "block", "timestamp")
"""Outputs read from every row after a step."""


@dataclass(frozen=True, slots=True)
class Course:
    """What determines the programs of an environment besides its protocol."""

    blocks: int
    """Blocks of a step."""
    block_seconds: int
    horizon: int
    reward: str
    shares_ppm: tuple[int, ...] | None
    """Discrete actions; None if actions are continuous."""
    feed: PostedFeed | None
    whole: bool
    """Whether programs compute observations and rewards too."""


def opening(adapter: LendingAdapter, course: Course) -> Program:
    """Let blocks pass, move the reserve's utilisation, supply the collateral and take the loan.

    The inputs are the columns of `start.Starts`; the yield and the volatility of the price only if steps are whole.
    """
    program, block_seconds = Program(), course.block_seconds
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
    figures = _look(program, adapter, course.feed)
    if course.whole:
        floats, volatility = _as_floats(program, figures), program.input_floats("volatility", 1)[0]
        now = Moment.of(floats)
        state = RowState.at_start(now, FloatWord(program, volatility))
        _hand_back(adapter, floats, now, state, _cash_yield(program), FloatWord(program, 0.0))
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


def tick(adapter: LendingAdapter, course: Course) -> Program:
    """One tick: the borrower acts, a block later prices and yield change, a block later the liquidator acts.

    Then the rest of the step's blocks passes. The inputs `debt` and `headroom`, and `figures` and `state` of a whole
    step, are the last outputs, read in the block in which the borrower acts. `live` is 0 or 1.
    """
    program = Program()
    live = program.input("live")
    acted = _borrower_acts(program, adapter, course, live)
    price_e8 = _price(program, adapter, course.feed, live)
    cash_yield_ppm = _market_moves(program, adapter, course, live, price_e8)
    liquidated = _liquidator_acts(program, adapter, course, live, price_e8)
    program.output("acted", acted)
    program.output("liquidated", liquidated)
    figures = _look(program, adapter, course.feed)
    if cash_yield_ppm is not None:
        over = _is_over(program, liquidated)
        _judge(adapter, course, _as_floats(program, figures), cash_yield_ppm, live, over)
    return program


def tick_parts(adapter: LendingAdapter, course: Course) -> tuple[Program, ...]:
    """A whole tick as programs that run one after the other: borrower, market, liquidator, then observation and reward.

    Each has few paths, where one program has all their combinations. The last takes the output `liquidated` of the
    third as the input `liquidation`. Inputs are those of a tick.
    """
    borrower, market, liquidator, judge = parts = tuple(Program() for _ in range(4))
    lives = [program.input("live") for program in parts]
    borrower.output("acted", _borrower_acts(borrower, adapter, course, lives[0]))
    _market_moves(market, adapter, course, lives[1], _price(market, adapter, course.feed, lives[1]))
    price_e8 = _price(liquidator, adapter, course.feed, lives[2])
    liquidator.output("liquidated", _liquidator_acts(liquidator, adapter, course, lives[2], price_e8))
    over, cash_yield_ppm = _is_over(judge, judge.input("liquidation")), _cash_yield(judge)
    figures = _as_floats(judge, _look(judge, adapter, course.feed))
    _judge(adapter, course, figures, cash_yield_ppm, lives[3], over)
    return parts


def _borrower_acts(program: Program, adapter: LendingAdapter, course: Course, live: Word) -> Word:
    """Add the borrower's transaction and a block; returns its status."""
    debt, headroom = map(program.input, ("debt", "headroom"))
    repay_ppm: Word | int
    borrow_ppm: Word | int
    if course.whole:
        repay_ppm, borrow_ppm = (program.either(live, share, 0) for share in _shares_ppm(program, course.shares_ppm))
    else:
        repay_ppm, borrow_ppm = map(program.input, ("repay_ppm", "borrow_ppm"))
    repay = program.minimum(program.multiply_divide(debt, repay_ppm, MILLION), adapter.cash(program))
    borrow = program.multiply_divide(headroom, borrow_ppm, MILLION)
    borrow = program.either(program.less(program.add(debt, borrow), adapter.terms.least_debt), 0, borrow)
    acted, _, _ = program.call(
        [adapter.repay(repay), adapter.borrow(borrow)], choice=program.less(0, borrow), mask=program.add(repay, borrow)
    )
    program.advance(1, course.block_seconds, mask=live)
    return acted


def _price(program: Program, adapter: LendingAdapter, feed: PostedFeed | None, live: Word) -> Word | int:
    """The price of the tick, an input if prices are posted; without `live`, the present one."""
    if feed is None:
        return adapter.terms.price_e8
    return program.either(live, program.input("price_e8"), feed.price_e8(program))


def _market_moves(
    program: Program, adapter: LendingAdapter, course: Course, live: Word, price_e8: Word | int
) -> FloatWord | None:
    """Post the price, pay the yield, and add a block; returns the annual yield of a whole tick."""
    cash_yield_ppm, feed = None, course.feed
    if course.whole:
        cash_yield_ppm = _cash_yield(program)
        seconds = course.blocks * course.block_seconds
        yield_ppb, pays = program.either(live, _yield_ppb(cash_yield_ppm, seconds), 0), cash_yield_ppm < 0.0
    else:
        yield_ppb, pays = map(program.input, ("yield_ppb", "pays"))
    if feed is not None and not isinstance(price_e8, int):
        feed.post(program, price_e8, program.subtract(1, program.equal(price_e8, feed.price_e8(program))))
    earned = program.multiply_divide(adapter.cash(program), yield_ppb, BILLION)
    token = adapter.debt.contract
    receives = Template(token.address, token.transfer.encode(BORROWER, 0), {36: earned}, sender=BANK)
    gives = Template(token.address, token.transfer.encode(BANK, 0), {36: earned}, sender=BORROWER)
    program.call([receives, gives], choice=pays, mask=earned)
    program.advance(1, course.block_seconds, mask=live)
    return cash_yield_ppm


def _liquidator_acts(
    program: Program, adapter: LendingAdapter, course: Course, live: Word, price_e8: Word | int
) -> Word:
    """Add the liquidator's transaction and the rest of the blocks; returns its status."""
    unhealthy = program.less(adapter.health_factor_wad(program, price_e8), WAD)
    liquidated, _, _ = program.call(adapter.liquidate(), mask=program.multiply(unhealthy, live))
    blocks = course.blocks - 2
    program.advance(blocks, blocks * course.block_seconds, mask=live)
    return liquidated


def _is_over(program: Program, liquidated: Word) -> Word:
    """Whether the episode has ended by a liquidation, of this step or before."""
    return program.add(program.input("liquidated"), program.equal(liquidated, SUCCESS))


def _judge(
    adapter: LendingAdapter,
    course: Course,
    figures: dict[str, FloatWord],
    cash_yield_ppm: FloatWord,
    live: Word,
    over: Word,
) -> None:
    """Add observation, reward and state after a step to the outputs."""
    program = cash_yield_ppm.program
    given = program.input_floats("figures", len(FIGURES))
    before = Moment.of({name: FloatWord(program, word) for name, word in zip(FIGURES, given, strict=True)})
    now, steps = Moment.of(figures), program.add(program.input("steps"), live)
    state = RowState.given(program).after(before, now, live)
    is_last = program.subtract(1, program.less(steps, course.horizon))
    reward = REWARDS[course.reward](Played(now, state, is_last, adapter.unit))
    program.output_floats("reward", [FloatWord(program, LIQUIDATED).where(over, reward).word])
    _hand_back(adapter, figures, now, state, cash_yield_ppm, FloatWord.of(program, steps) / course.horizon)


def _shares_ppm(program: Program, choices: tuple[int, ...] | None) -> tuple[Word | int, Word | int]:
    """Shares of the debt to repay and of the headroom to borrow, in millionths, by the action of the row."""
    if choices is None:
        (given,) = program.input_floats("action", 1)
        asked = FloatWord(program, given) * MILLION
        share, repays = abs(asked).rounded(), asked < 0.0
        return program.either(repays, share, 0), program.either(repays, 0, share)
    action = program.input("action")
    repay: Word | int = 0
    borrow: Word | int = 0
    for number, share_ppm in enumerate(choices):
        if share_ppm < 0:
            repay = program.either(program.equal(action, number), -share_ppm, repay)
        elif share_ppm > 0:
            borrow = program.either(program.equal(action, number), share_ppm, borrow)
    return repay, borrow


def _cash_yield(program: Program) -> FloatWord:
    """Annual yield of the wallet's dollars in millionths, an input."""
    return FloatWord(program, program.input_floats("cash_yield_ppm", 1)[0])


def _yield_ppb(cash_yield_ppm: FloatWord, seconds: int) -> Word:
    """Absolute yield of the wallet's dollars in a step, in billionths, rounded down."""
    a_year = abs(cash_yield_ppm).rounded()
    return cash_yield_ppm.program.multiply_divide(a_year, BILLION // MILLION * seconds, SECONDS_PER_YEAR)


def _as_floats(program: Program, figures: dict[str, Word]) -> dict[str, FloatWord]:
    """Figures of a row as floats, those that are used."""
    exact_alone = {"debt", "cash", "block", "timestamp"}
    return {name: FloatWord.of(program, word) for name, word in figures.items() if name not in exact_alone}


def _hand_back(
    adapter: LendingAdapter,
    figures: dict[str, FloatWord],
    now: Moment,
    state: RowState,
    cash_yield_ppm: FloatWord,
    steps_over_horizon: FloatWord,
) -> None:
    """Add observation and state to the outputs."""
    program = cash_yield_ppm.program
    seen = observation(
        figures,
        now,
        state,
        cash_yield_ppm=cash_yield_ppm,
        steps_over_horizon=steps_over_horizon,
        headroom_price_e8=adapter.terms.debt_price_e8 / adapter.debt_unit,
    )
    program.output_singles("observation", [each.word for each in seen])
    program.output_floats("state", [each.word for each in state])


def _look(program: Program, adapter: LendingAdapter, feed: PostedFeed | None) -> dict[str, Word]:
    """Add the figures to the outputs; returns them by name."""
    price_e8: Word = program.add(adapter.terms.price_e8, 0) if feed is None else feed.price_e8(program)
    cash, (block, timestamp) = adapter.cash(program), program.time()
    worth = program.multiply_divide(cash, adapter.terms.debt_price_e8, adapter.debt_unit)
    figures = (*adapter.standing(program, price_e8), price_e8, cash, worth, block, timestamp)
    for name, word in zip(FIGURES, figures, strict=True):
        program.output(name, word)
    return dict(zip(FIGURES, figures, strict=True))
