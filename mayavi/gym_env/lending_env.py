"""A borrower on a lending protocol: one collateral, one debt, dollars in the wallet. Written once for all protocols.

A step is a tick of the simulation's `Scheduler` with three blocks of agents: the borrower acts; then prices are posted
and the wallet's dollars are credited what they earn outside in this step; then the liquidator looks and, where the
health factor is below one, liquidates. Then the rest of `step_blocks` passes, and the borrower sees what it sees next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.evm.chains import chain
from mayavi.evm.fleet import SUCCESS, Outcome, Program, Template, Words
from mayavi.evm.fork import Fork
from mayavi.gym_env.lending_config import LendingConfig
from mayavi.gym_env.lending_desk import BANK, BORROWER, MARKET, Desk, Looked
from mayavi.gym_env.lending_start import MILLION, Start, drawn_start, fixed_start
from mayavi.gym_env.lending_strategies import STRATEGIES
from mayavi.gym_env.rows import Floats, Observations, Rows, RowsEnv
from mayavi.markets import portable
from mayavi.markets.process import SECONDS_PER_YEAR
from mayavi.protocols.price_feed import PriceFeed

C = TypeVar("C", bound=LendingConfig)
Integers = NDArray[np.int64]

BILLION = 10**9
FIGURES = (*Looked._fields, "cash", "block", "timestamp")
"""What is read of every row after a step."""
OBSERVED: tuple[tuple[str, float, float, str], ...] = (
    ("debt_to_limit", 0.0, 2.0, "debt over the debt at which it is liquidated; 1 / health factor"),
    ("loan_to_value", 0.0, 2.0, "debt over collateral"),
    ("cash_to_value", 0.0, 2.0, "dollars in the wallet over collateral"),
    ("headroom_to_value", 0.0, 1.0, "what may still be borrowed over collateral"),
    ("price", -2.0, 2.0, "logarithm of the collateral's price over that of the start"),
    ("last_return", -1.0, 1.0, "logarithm of the price over that of the step before"),
    ("trend", -1.0, 1.0, "average of such returns, the later ones weighing more"),
    ("borrow_rate", 0.0, 10.0, "what debt costs a year, in tenths"),
    ("supply_rate", 0.0, 10.0, "what collateral earns a year, in tenths"),
    ("cash_yield", -10.0, 10.0, "what dollars in the wallet earn a year, in tenths"),
    ("spread", -10.0, 10.0, "the yield less the borrow rate, in tenths"),
    ("wealth", -2.0, 2.0, "net wealth over that of the start, less one"),
    ("size", 0.0, 1.0, "logarithm to base ten of the collateral in dollars, in tenths"),
    ("time_left", 0.0, 1.0, "the share of the horizon that is left"),
)
"""Name, least, most and meaning of every entry of an observation; what lies outside is clipped."""
TREND_MEMORY = 0.6
THREE_SHARES = (0, -MILLION, MILLION // 4)
FIVE_SHARES = (0, -MILLION // 4, -MILLION, MILLION // 4, MILLION // 2)


class LendingRowsEnv(RowsEnv[C]):
    """A borrower. A subclass names the protocol's `desk`, and its discrete actions."""

    config_type: ClassVar[type[Any]] = LendingConfig
    strategies: ClassVar[dict[str, Callable[[Any], NDArray[Any]]]] = STRATEGIES
    shares_ppm: ClassVar[tuple[int, ...]] = FIVE_SHARES
    """The discrete actions in millionths: below zero of the debt to repay, above of the headroom to borrow."""
    desk_type: ClassVar[type[Desk]]

    def __init__(self, config: C, rows: int = 1, **options: Any) -> None:
        super().__init__(config, rows, **options)
        lows, highs = np.array([each[1:3] for each in OBSERVED], dtype=np.float32).T
        self.observation_space = spaces.Box(lows, highs, dtype=np.float32)
        if config.actions == "discrete":
            self.action_space = spaces.Discrete(len(self.shares_ppm))
        else:
            self.action_space = spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self.columns |= {
            "looked": np.zeros((rows, len(FIGURES), 32), dtype=np.uint8),
            "cash_yield_ppm": np.zeros(rows, dtype=np.int64),
            "start_wealth_e8": np.zeros(rows, dtype=np.int64),
            "start_collateral": np.zeros((rows, 32), dtype=np.uint8),
            "start_price_e8": np.zeros(rows, dtype=np.int64),
            "last_price_e8": np.zeros(rows, dtype=np.int64),
            "last_wealth_e8": np.zeros(rows, dtype=np.int64),
            "last_health": np.zeros(rows, dtype=np.float64),
            "trend": np.zeros(rows, dtype=np.float64),
            "liquidated": np.zeros(rows, dtype=np.bool_),
            "status": np.zeros(rows, dtype=np.int64),
            "paths": np.zeros((rows, config.horizon + 1), dtype=np.int64),
        }

    # -- the stage ----------------------------------------------------------------------------------------------------

    def prepare(self, fork: Fork) -> None:
        """Accounts, approvals, and what is read once."""
        config = self.config
        self.desk = self.desk_type(fork, config.collateral, config.debt)
        self.desk.prepare(int(config.collateral_amount[1] + 1) * self.desk.unit)
        feed = PriceFeed(fork, self.desk.feed)
        self.feed, self.feed_owner = feed.contract, feed.contract.owner()
        self.terms = self.desk.terms()
        self.block_seconds = chain(fork.chain_id).block_seconds
        self._opening = self._opening_program()
        self._acting = self._acting_program()
        self._closing = self._closing_program()

    def _opening_program(self) -> Program:
        program, desk = Program(), self.desk
        live, lend, market_borrow = program.input("live"), program.input("lend"), program.input("market_borrow")
        supply, borrow = program.input("supply"), program.input("borrow")
        program.advance(program.input("blocks"), program.input("seconds"))
        program.call(desk.lend(lend), mask=lend)
        program.call(desk.supply(program.input("market_supply"), MARKET), mask=market_borrow)
        program.call(desk.borrow(market_borrow, MARKET), mask=market_borrow)
        supplied, _, _ = program.call(desk.supply(supply), mask=live)
        borrowed, _, _ = program.call(desk.borrow(borrow), mask=borrow)
        program.output("supplied", supplied)
        program.output("borrowed", borrowed)
        self._look(program)
        return program

    def _acting_program(self) -> Program:
        program, desk = Program(), self.desk
        repay, borrow = program.input("repay"), program.input("borrow")
        blocks, seconds = program.input("blocks"), program.input("seconds")
        status, _, _ = program.call(
            [desk.repay(repay), desk.borrow(borrow)], choice=program.input("borrows"), mask=program.input("acts")
        )
        program.output("status", status)
        program.advance(blocks, seconds)
        answer = program.input("answer")
        post = Template(self.feed.address, self.feed.set_answer.encode(0), {4: answer}, sender=self.feed_owner)
        program.call(post, mask=answer)
        earned = program.input("earned")
        token = desk.debt.contract
        receives = Template(token.address, token.transfer.encode(BORROWER, 0), {36: earned}, sender=BANK)
        pays = Template(token.address, token.transfer.encode(BANK, 0), {36: earned}, sender=BORROWER)
        program.call([receives, pays], choice=program.input("pays"), mask=earned)
        program.advance(blocks, seconds)
        program.output("health_factor_wad", desk.health_factor_wad(program))
        return program

    def _closing_program(self) -> Program:
        program = Program()
        status, _, _ = program.call(self.desk.liquidate(), mask=program.input("liquidates"))
        program.output("liquidated", status)
        program.advance(program.input("blocks"), program.input("seconds"))
        self._look(program)
        return program

    def _look(self, program: Program) -> None:
        token = self.desk.debt
        _, _, cash = program.call(
            Template(token.address, token.contract.balanceOf.encode(BORROWER)), returns=1, commit=False
        )
        block, timestamp = program.time()
        for name, word in zip(FIGURES, (*self.desk.look(program), cash[0], block, timestamp), strict=True):
            program.output(name, word)

    # -- episodes -----------------------------------------------------------------------------------------------------

    def start(self, rows: Rows, chances: Sequence[np.random.Generator]) -> None:
        """Draw the starts, and open the loans by real transactions."""
        amounts = {
            name: [0] * self.rows for name in ("blocks", "lend", "market_supply", "market_borrow", "supply", "borrow")
        }
        for row, chance in zip(rows.tolist(), chances, strict=True):
            drawn = self.drawn(chance)
            for name, value in self._opened(drawn).items():
                amounts[name][row] = value
            self.columns["cash_yield_ppm"][row] = drawn.cash_yield_ppm
            self.columns["paths"][row] = self.path_e8(chance)
        live = np.zeros(self.rows, dtype=np.bool_)
        live[rows] = True
        seconds = [blocks * self.block_seconds for blocks in amounts["blocks"]]
        found = self.fleet.run(self._opening, threads=self.threads, live=live, seconds=seconds, **amounts)
        self._take(found)
        columns = self.columns
        columns["start_collateral"][rows] = self.figure("collateral").words[rows]
        price, wealth = self._int64("price_e8"), self.net_wealth_e8()
        for name, values in {
            "start_price_e8": price,
            "last_price_e8": price,
            "start_wealth_e8": wealth,
            "last_wealth_e8": wealth,
        }.items():
            columns[name][rows] = values[rows]
        columns["last_health"][rows] = self.health()[rows]

    def drawn(self, chance: np.random.Generator) -> Start:
        """The start of an episode."""
        if self.config.start == "fixed":
            return fixed_start(self.desk.unit)
        return drawn_start(self.config, self.desk.unit, self.terms.kink, chance)

    def path_e8(self, chance: np.random.Generator) -> Integers:
        """The collateral's price at the start and after each step; zero where nothing is posted."""
        del chance
        return np.zeros(self.config.horizon + 1, dtype=np.int64)

    def _opened(self, start: Start) -> dict[str, int]:
        """The amounts of the opening transactions."""
        terms, desk = self.terms, self.desk
        lend = market_borrow = 0
        if start.utilisation_ppm is not None:
            wanted = terms.supplied * start.utilisation_ppm // MILLION
            market_borrow = max(0, wanted - terms.borrowed)
            lend = max(0, terms.borrowed * MILLION // start.utilisation_ppm - terms.supplied)
        value = start.collateral * terms.price_e8 // desk.unit
        most = value * terms.ltv_wad // 10**18 * 999 // 1000
        debt = min(value * terms.threshold_wad // 10**18 * MILLION // start.health_factor_ppm, most)
        loan = debt * desk.debt_unit // terms.debt_price_e8
        backing = market_borrow * terms.debt_price_e8 * desk.unit // (terms.price_e8 * desk.debt_unit)
        return {
            "blocks": start.blocks,
            "lend": lend,
            "market_supply": backing * 10**18 * 11 // (terms.ltv_wad * 10),
            "market_borrow": market_borrow,
            "supply": start.collateral,
            "borrow": loan,
        }

    # -- a step -------------------------------------------------------------------------------------------------------

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """A tick of the scheduler, for all rows."""
        columns = self.columns
        columns["last_price_e8"] = np.where(live, self._int64("price_e8"), columns["last_price_e8"])
        columns["last_wealth_e8"] = np.where(live, self.net_wealth_e8(), columns["last_wealth_e8"])
        columns["last_health"] = np.where(live, self.health(), columns["last_health"])
        share = np.where(live, self.shares_of(actions), 0)
        debt, cash = self._int64("debt"), self._int64("cash")
        repay = np.minimum(_of_millionths(debt, np.maximum(-share, 0)), cash)
        borrow = _of_millionths(self.headroom(), np.maximum(share, 0))
        borrow = np.where(debt + borrow >= self.terms.least_debt, borrow, 0)
        step_yield = (
            columns["cash_yield_ppm"] * (self.config.step_blocks * self.block_seconds) * 1000 // SECONDS_PER_YEAR
        )
        earned = np.where(live, (cash + borrow - repay) * np.abs(step_yield) // BILLION, 0)
        after = columns["paths"][np.arange(self.rows), np.minimum(self.steps + 1, self.config.horizon)]
        one = live.astype(np.int64)
        found = self.fleet.run(
            self._acting,
            threads=self.threads,
            repay=repay,
            borrow=borrow,
            borrows=(share > 0).astype(np.int64),
            acts=((repay > 0) | (borrow > 0)).astype(np.int64),
            blocks=one,
            seconds=one * self.block_seconds,
            answer=np.where(live & (after != self._int64("price_e8")), after, 0),
            earned=earned,
            pays=(columns["cash_yield_ppm"] < 0).astype(np.int64),
        )
        columns["status"] = np.where(live, found["status"].uint64().astype(np.int64), columns["status"])
        rest = one * (self.config.step_blocks - 2)
        liquidates = live & (found["health_factor_wad"] < 10**18)
        closed = self.fleet.run(
            self._closing,
            threads=self.threads,
            liquidates=liquidates.astype(np.int64),
            blocks=rest,
            seconds=rest * self.block_seconds,
        )
        columns["liquidated"] |= live & (closed["liquidated"].uint64() == SUCCESS)
        self._take(closed)
        change = self._price_change(self.columns["last_price_e8"])
        columns["trend"] = np.where(
            live, TREND_MEMORY * columns["trend"] + (1 - TREND_MEMORY) * change, columns["trend"]
        )

    def shares_of(self, actions: NDArray[Any]) -> Integers:
        """Actions of either kind as millionths: below zero of the debt, above of the headroom."""
        if self.config.actions == "discrete":
            return np.array(self.shares_ppm, dtype=np.int64)[actions]
        return np.rint(actions[:, 0].astype(np.float64) * MILLION).astype(np.int64)

    def actions_for(self, shares_ppm: Integers) -> NDArray[Any]:
        """The actions that come nearest to `shares_ppm`."""
        if self.config.actions == "continuous":
            return (shares_ppm / MILLION).astype(np.float32)[:, None]
        known = np.array(self.shares_ppm, dtype=np.int64)
        return np.abs(shares_ppm[:, None] - known).argmin(axis=1)

    # -- figures ------------------------------------------------------------------------------------------------------

    def _take(self, found: Outcome) -> None:
        self.columns["looked"][:] = found.words[:, -len(FIGURES) :]

    def figure(self, name: str) -> Words:
        """An exact figure of every row."""
        return Words(self.columns["looked"][:, FIGURES.index(name)])

    def _int64(self, name: str) -> Integers:
        return self.figure(name).uint64().astype(np.int64)

    def limit_e8(self) -> Integers:
        """The debt's value at which the health factor is one."""
        return (self._int64("collateral_value_e8") * self._int64("threshold_bps") + 5_000) // 10_000

    def headroom(self) -> Integers:
        """What may still be borrowed, in smallest units."""
        collateral, ltv = self._int64("collateral_value_e8"), self._int64("ltv_bps")
        most = np.maximum((collateral + 1) * ltv - 1 - ltv // 2, 0) // 10_000
        free, price = most - self._int64("debt_value_e8"), self._int64("debt_price_e8")
        whole, rest = np.divmod(free + 1, price)
        return np.maximum(whole * self.desk.debt_unit + (rest * self.desk.debt_unit - 1) // price, 0)

    def cash_value_e8(self) -> Integers:
        """What the wallet's dollars are worth."""
        whole, rest = np.divmod(self._int64("cash"), self.desk.debt_unit)
        price = self._int64("debt_price_e8")
        return whole * price + rest * price // self.desk.debt_unit

    def net_wealth_e8(self) -> Integers:
        """Collateral and cash, less debt."""
        return self._int64("collateral_value_e8") + self.cash_value_e8() - self._int64("debt_value_e8")

    def health(self) -> Floats:
        """The health factor as a float, at most 10, which stands for no debt too."""
        return np.minimum(self.figure("health_factor_wad").float64(1e18), 10.0)

    def _price_change(self, before: Integers) -> Floats:
        return portable.log(self._int64("price_e8") / np.maximum(before, 1))

    def observe(self) -> Observations:
        """See `OBSERVED`."""
        value = np.maximum(self._int64("collateral_value_e8"), 1).astype(np.float64)
        debt, limit = self._int64("debt_value_e8").astype(np.float64), np.maximum(self.limit_e8(), 1)
        rate, cash_yield = self.figure("borrow_rate_ray").float64(1e26), self.columns["cash_yield_ppm"] / 1e5
        free = self.headroom() * self._int64("debt_price_e8") / self.desk.debt_unit
        columns = {
            "debt_to_limit": debt / limit,
            "loan_to_value": debt / value,
            "cash_to_value": self.cash_value_e8() / value,
            "headroom_to_value": free / value,
            "price": self._price_change(self.columns["start_price_e8"]),
            "last_return": self._price_change(self.columns["last_price_e8"]),
            "trend": self.columns["trend"],
            "borrow_rate": rate,
            "supply_rate": self.figure("supply_rate_ray").float64(1e26),
            "cash_yield": cash_yield,
            "spread": cash_yield - rate,
            "wealth": self.net_wealth_e8() / np.maximum(self.columns["start_wealth_e8"], 1) - 1,
            "size": portable.log(np.maximum(value / 1e8, 1.0)) / 23.025850929940457,
            "time_left": 1 - self.steps / self.config.horizon,
        }
        stacked = np.stack([columns[name] for name, *_ in OBSERVED], axis=1)
        return np.clip(stacked, self.observation_space.low, self.observation_space.high).astype(np.float32)

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Nothing until the end; then the change of net wealth over that of the start, or -1 where liquidated."""
        columns, liquidated = self.columns, self.columns["liquidated"].copy()
        start = np.maximum(columns["start_wealth_e8"], 1)
        gained = np.where(self.steps >= self.config.horizon, (self.net_wealth_e8() - start) / start, 0.0)
        return np.where(liquidated, -1.0, gained), liquidated

    def exact(self) -> dict[str, list[Any]]:
        """Every figure that was read, and what follows from it."""
        told: dict[str, list[Any]] = {name: self.figure(name).ints() for name in FIGURES}
        more = {
            "headroom": self.headroom(),
            "net_wealth_e8": self.net_wealth_e8(),
            **{name: self.columns[name] for name in ("start_wealth_e8", "cash_yield_ppm", "liquidated", "status")},
        }
        return told | {name: values.tolist() for name, values in more.items()}


def _of_millionths(amounts: Integers, shares: Integers) -> Integers:
    """`amounts` times `shares`, rounded down, with no product above 64 bits."""
    whole, rest = np.divmod(amounts, MILLION)
    product: Integers = whole * shares + rest * shares // MILLION
    return product
