"""Floats of a borrower's row inside a program: its figures at one moment, and what it keeps from step to step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mayavi.evm.fleet import Program, Word
from mayavi.evm.float_word import FloatWord

TREND_MEMORY = 0.6
"""Weight of the trend so far in the next step's trend."""
HIGHEST_FACTOR = 10.0
"""Cap of the health factor; also its value without debt."""


class Moment(NamedTuple):
    """Figures of a row at one moment."""

    price_e8: FloatWord
    collateral: FloatWord
    collateral_value_e8: FloatWord
    health: FloatWord
    """Health factor, capped at 10."""
    net_wealth_e8: FloatWord
    """Collateral plus cash minus debt; exact up to ninety million dollars."""

    @classmethod
    def of(cls, figures: Mapping[str, FloatWord]) -> Moment:
        """The moment with these figures."""
        value, cash, debt = (figures[f"{name}_value_e8"] for name in ("collateral", "cash", "debt"))
        health = (figures["health_factor_wad"] / 1e18).at_most(HIGHEST_FACTOR)
        return cls(figures["price_e8"], figures["collateral"], value, health, value + cash - debt)


class RowState(NamedTuple):
    """What a row keeps from step to step, as floats. `last_…` are the figures before the last step."""

    start_wealth_e8: FloatWord
    start_price_e8: FloatWord
    last_wealth_e8: FloatWord
    last_price_e8: FloatWord
    last_collateral: FloatWord
    last_health: FloatWord
    last_return: FloatWord
    trend: FloatWord
    volatility: FloatWord
    since_last: FloatWord
    """Logarithm of the price over the last step's price."""
    since_start: FloatWord
    """Logarithm of the price over the initial price."""
    of_size: FloatWord
    """Logarithm of the collateral's value in dollars."""

    @classmethod
    def given(cls, program: Program) -> RowState:
        """The state that a run is given."""
        return cls(*(FloatWord(program, word) for word in program.input_floats("state", len(cls._fields))))

    @classmethod
    def at_start(cls, now: Moment, volatility: FloatWord) -> RowState:
        """The state of a row whose episode begins at `now`."""
        zero = FloatWord(volatility.program, 0.0)
        wealth, price = now.net_wealth_e8, now.price_e8
        begun = cls(
            wealth, price, wealth, price, now.collateral, now.health, zero, zero, volatility, zero, zero, zero
        )  # fmt: skip
        return begun.with_logs(now)

    def after(self, before: Moment, now: Moment, live: Word) -> RowState:
        """The state after a step from `before` to `now`; where the row is not `live`, the old one."""
        kept = self._replace(
            last_wealth_e8=before.net_wealth_e8.where(live, self.last_wealth_e8),
            last_price_e8=before.price_e8.where(live, self.last_price_e8),
            last_collateral=before.collateral.where(live, self.last_collateral),
            last_health=before.health.where(live, self.last_health),
        ).with_logs(now)
        trend = TREND_MEMORY * self.trend + (1.0 - TREND_MEMORY) * kept.since_last
        return kept._replace(
            last_return=kept.since_last.where(live, self.last_return), trend=trend.where(live, self.trend)
        )

    def with_logs(self, now: Moment) -> RowState:
        """The state with its logarithms at `now`."""
        price = now.price_e8.at_least(1.0)
        return self._replace(
            since_last=(price / self.last_price_e8.at_least(1.0)).log(),
            since_start=(price / self.start_price_e8.at_least(1.0)).log(),
            of_size=(now.collateral_value_e8.at_least(1.0) / 1e8).at_least(1.0).log(),
        )
