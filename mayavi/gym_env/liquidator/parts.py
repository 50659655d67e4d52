"""A step of the liquidator environment as programs: liquidation, sale, price, arbitrage, and the outcome.

Each has few paths, where one program has all their combinations. Figures have the bits of `AaveLiquidatorRows`.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from mayavi.agents.quantities import MILLION
from mayavi.evm.fleet import Program, Word
from mayavi.evm.float_word import FloatWord
from mayavi.evm.fork.token_balance import balance_slot
from mayavi.evm.units import ETHER, WAD
from mayavi.gym_env.liquidator.actions import SHARES
from mayavi.gym_env.liquidator.loans import ALL_BPS, DUST_USD, Loans
from mayavi.gym_env.liquidator.programs import most_to_pay
from mayavi.gym_env.liquidator.view import GAS_OF_BOTH
from mayavi.markets.process import SECONDS_PER_YEAR
from mayavi.protocols.aave.rules.liquidation import CLOSE_FACTOR_BPS, FULL_CLOSE_BELOW_WAD
from mayavi.protocols.aave.rules.v36 import FULL_CLOSE_BELOW_USD_E8

if TYPE_CHECKING:
    from mayavi.gym_env.liquidator.env import AaveLiquidatorRows

_E8 = 10**8
COMMON, OF_ACCOUNT = 8, 5
"""Entries of an observation: those of the row, and those of each account."""


def step_parts(env: AaveLiquidatorRows) -> tuple[Program, Program, Program, Program, Program]:
    """Liquidate; sell and pass time; post the price; let arbitrageurs trade; look at it all."""
    loans = env.loans
    return _liquidation(env), _sale(loans), _post(loans), loans.trades.arbitrage(loans.arbitrageur), _outcome(env)


class Seen(NamedTuple):
    """A borrowing account as words of a program, with the names of `Accounts`."""

    held: Word
    owed: Word
    collateral: FloatWord
    debt: FloatWord
    health: FloatWord
    liquidatable: Word
    close_bps: Word
    most_usd: FloatWord
    key: FloatWord
    """Number that accounts are ranked by, ascending."""


class Given:
    """What the outcome of a step is computed from, apart from its chain."""

    NUMBERS = (
        *("steps", "start_e8", "last_e8", "price_e8", "recovery_ppm", "gas_price_wei"),
        *("paid", "received", "gas", "sale_gas"),
    )
    FLOATS = ("debts_usd", "volatility", "earned")

    def __init__(self, program: Program) -> None:
        """Add the inputs to `program`."""
        self.program = program
        self.numbers = {name: program.input(name) for name in self.NUMBERS}
        self.floats = {name: FloatWord(program, program.input_floats(name, 1)[0]) for name in self.FLOATS}

    def float_of(self, name: str) -> FloatWord:
        """A number as a float."""
        return FloatWord.of(self.program, self.numbers[name])

    def price(self, name: str) -> FloatWord:
        """A price in dollars."""
        return _price(self.program, self.numbers[name])

    def gas_usd(self, gas: FloatWord, price: FloatWord) -> FloatWord:
        """As `Loans.gas_usd`."""
        return gas * self.float_of("gas_price_wei") / ETHER * price


def _look(loans: Loans, program: Program, price_e8: Word) -> list[Seen]:
    """As `Loans.accounts`."""
    price, found = _price(program, price_e8), []
    for account in loans.book.look(program, price_e8):
        collateral = FloatWord.of(program, account.collateral) / loans.trades.unit
        debt = FloatWord.of(program, account.debt) / loans.trades.money_unit
        health = (FloatWord.of(program, account.health_factor_wad) / WAD).at_most(1e6)
        value = collateral * price
        backed = FloatWord(program, DUST_USD) < value
        liquidatable = program.multiply(program.less(account.health_factor_wad, WAD), backed)
        at_once = program.less(account.health_factor_wad, FULL_CLOSE_BELOW_WAD + 1)
        if loans.by_value:
            values = (debt * (loans.book.debt.price_usd_e8 / _E8)).at_most(value)
            at_once = program.maximum(at_once, values < FULL_CLOSE_BELOW_USD_E8 / _E8)
        close_bps = program.either(at_once, ALL_BPS, CLOSE_FACTOR_BPS)
        most_usd = (debt * FloatWord.of(program, close_bps) / ALL_BPS).where(liquidatable, 0.0)
        key = (0.0 - most_usd).where(liquidatable, health.where(backed, inf))
        found.append(
            Seen(account.collateral, account.debt, collateral, debt, health, liquidatable, close_bps, most_usd, key)
        )
    return found


def _ranks(program: Program, accounts: list[Seen]) -> list[Word | int]:
    """The rank of each account. Of equal keys the first comes first."""
    ranks = []
    for at, own in enumerate(accounts):
        before: Word | int = 0
        for other, its in enumerate(accounts):
            if other < at:
                before = program.add(before, program.equal(own.key < its.key, 0))
            elif other > at:
                before = program.add(before, its.key < own.key)
        ranks.append(before)
    return ranks


def _asked(env: AaveLiquidatorRows, program: Program) -> tuple[Word | int, Word]:
    """Rank of the account that the action pays for, and the share in millionths; zero waits. As `decode`."""
    if env.config.actions == "continuous":
        return _asked_by_numbers(program, env.config.borrowers)
    action = program.input("action")
    acts = program.less(0, action)
    number = program.subtract(action, acts)
    rank = program.divide(number, len(SHARES))
    which = program.subtract(number, program.multiply(rank, len(SHARES)))
    share: Word | int = round(SHARES[-1] * MILLION)
    for place, each in enumerate(SHARES[:-1]):
        share = program.either(program.equal(which, place), round(each * MILLION), share)
    return rank, program.multiply(acts, share)


def _asked_by_numbers(program: Program, count: int) -> tuple[Word | int, Word]:
    """Rank and share of two floats."""
    first, second = (FloatWord(program, each) for each in program.input_floats("action", 2))
    place = (first + 1.0) / 2.0 * count
    rank: Word | int = 0
    for least in range(1, count):
        rank = program.add(rank, program.equal(place < least, 0))
    return rank, (second.at_least(0.0) * MILLION).rounded()


def _liquidation(env: AaveLiquidatorRows) -> Program:
    program, loans = Program(), env.loans
    accounts, (rank, share) = _look(loans, program, program.input("last_e8")), _asked(env, program)
    chosen: Word | int = 0
    acts, debt, held, close = accounts[0].liquidatable, accounts[0].owed, accounts[0].held, accounts[0].close_bps
    for at, (own, its) in enumerate(zip(accounts, _ranks(program, accounts), strict=True)):
        if at:
            is_chosen = program.equal(its, rank)
            chosen = program.either(is_chosen, at, chosen)
            acts, debt, held, close = (
                program.either(is_chosen, one, other)
                for one, other in zip(
                    (own.liquidatable, own.owed, own.held, own.close_bps), (acts, debt, held, close), strict=True
                )
            )
    place = balance_slot(loans.fork, loans.trades.money, loans.liquidator)
    money = program.load(*place)
    cover = program.minimum(money, program.multiply_divide(most_to_pay(program, debt, close), share, MILLION))
    if loans.by_value:
        cover = loans.accepted(program, cover, debt, held, money)
    cover = program.multiply(acts, cover)
    calls = [loans.book.liquidate(loans.liquidator, int.from_bytes(each), cover) for each in loans.borrowers]
    _, gas, _ = program.call(calls, choice=chosen, mask=cover)
    program.output("paid", program.subtract(money, program.load(*place)))
    program.output("gas", gas)
    return program


def _sale(loans: Loans) -> Program:
    program = Program()
    seized = program.load(*balance_slot(loans.fork, loans.trades.token, loans.liquidator))
    sale = loans.trades.swap(loans.liquidator, seized, sells=True)
    _, gas, received = program.call(sale, mask=seized, returns=1)
    blocks = loans.config.step_blocks
    program.advance(blocks, blocks * loans.block_seconds)
    program.output("received", received[0])
    program.output("sale_gas", gas)
    return program


def _post(loans: Loans) -> Program:
    program = Program()
    loans.feed.post(program, program.input("price_e8"), 1)
    return program


def _outcome(env: AaveLiquidatorRows) -> Program:
    program, loans = Program(), env.loans
    given = Given(program)
    accounts = _look(loans, program, given.numbers["price_e8"])
    scale = (given.floats["debts_usd"] * ((loans.bonus_bps - ALL_BPS) / ALL_BPS)).at_least(1e-6)
    reward = _profit(loans, given) / scale
    earned = given.floats["earned"] + reward
    owed: Word | int = 0
    for account in accounts:
        owed = program.maximum(owed, account.owed)
    done, steps = program.equal(owed, 0), program.add(given.numbers["steps"], 1)
    if env.config.reward == "at_end":
        reward = earned.where(program.maximum(done, program.less(env.config.horizon - 1, steps)), 0.0)
    program.output("closed", done)
    program.output_floats("reward", [reward.word])
    program.output_floats("earned", [earned.word])
    seen = _observation(loans, given, accounts, scale, steps)
    space = env.observation_space
    bounds = zip(seen, space.low.tolist(), space.high.tolist(), strict=True)
    program.output_singles("observation", [each.at_least(low).at_most(high).word for each, low, high in bounds])
    return program


def _price(program: Program, price_e8: Word) -> FloatWord:
    return (FloatWord.of(program, price_e8) / _E8).at_least(1e-8)


def _profit(loans: Loans, given: Given) -> FloatWord:
    """As `AaveLiquidatorRows._profit_usd`."""
    paid, received = (given.float_of(name) for name in ("paid", "received"))
    gas = FloatWord.of(given.program, given.program.add(given.numbers["gas"], given.numbers["sale_gas"]))
    return (received - paid) / loans.trades.money_unit - given.gas_usd(gas, given.price("last_e8"))


def _observation(loans: Loans, given: Given, accounts: list[Seen], scale: FloatWord, steps: Word) -> list[FloatWord]:
    """As `LiquidatorView.observe`, before entries are clipped."""
    program, trades, debts = given.program, loans.trades, given.floats["debts_usd"].at_least(1e-6)
    price, last, began = (given.price(name) for name in ("price_e8", "last_e8", "start_e8"))
    money = balance_slot(loans.fork, trades.money, loans.liquidator)
    money_usd = FloatWord.of(program, program.load(*money)) / trades.money_unit
    root = FloatWord.of(program, trades.root(program))
    gas = given.gas_usd(FloatWord(program, float(GAS_OF_BOTH)), price)
    step_years = loans.config.step_blocks * loans.block_seconds / SECONDS_PER_YEAR
    common = [
        1.0 - FloatWord.of(program, steps) / loans.config.horizon,
        5.0 * (price / began).log(),
        20.0 * (price / last).log(),
        100.0 * (trades.price_word(root).at_least(1e-8) / price).log(),
        money_usd / debts,
        100.0 * gas / scale,
        given.float_of("recovery_ppm") / MILLION,
        50.0 * given.floats["volatility"] * step_years**0.5,
    ]
    depth = trades.depth_word(root, FloatWord.of(program, trades.liquidity(program))).at_least(1e-9)
    quote = trades.quote_words(root)
    bonus, kept = loans.bonus_bps / ALL_BPS, 1 - loans.fee_bps / ALL_BPS
    each: list[tuple[FloatWord, ...]] = []
    for account in accounts:
        paid = account.most_usd.at_most(money_usd)
        gross = (paid / price * bonus).at_most(account.collateral)
        paid = paid.at_most(gross * price / bonus)
        seized = gross / bonus * (1 + (bonus - 1) * kept)
        profit = (quote(seized) - paid - gas).where(FloatWord(program, 0.0) < paid, 0.0)
        health = 10.0 * (account.health - 1)
        each.append((health, account.debt / debts, paid / debts, 10.0 * (seized / depth), 10.0 * profit / scale))
    ranks = _ranks(program, accounts)
    for rank in range(len(accounts)):
        entries = each[0]
        for own, its in zip(each[1:], ranks[1:], strict=True):
            is_there = program.equal(its, rank)
            entries = tuple(one.where(is_there, other) for one, other in zip(own, entries, strict=True))
        common.extend(entries)
    return common
