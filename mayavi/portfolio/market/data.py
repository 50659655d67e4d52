"""Hourly market data of USDY, mETH and MI4, simulated or historical."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from mayavi.errors import BadArgument, BadSeries, UnknownKey
from mayavi.markets.process import Floats
from mayavi.markets.timestamps import say_time, to_seconds

ASSETS = ("usdy", "meth", "mi4")
"""Assets of the portfolio: tokenised treasury bills, liquid-staked ETH, an index of BTC, ETH, SOL and dollars."""

INPUTS = (
    "usdy_apy",
    "meth_apy",
    "mi4_apy",
    "eth_price",
    "btc_price",
    "btc_dominance",
    "fed_rate",
    "usdy_peg",
    "meth_peg",
    "eth_vol",
    "usdy_vol",
    "aave_usdy_apy",
    "aave_meth_apy",
    "gas_price",
    "mnt_price",
)
"""Columns that an agent observes. Yields, the policy rate and the dominance are in percent, prices in dollars, pegs
ratios to the fair value, `eth_vol` per year (0.5 is 50 %), `usdy_vol` the standard deviation of USDY's peg, `gas_price`
in gwei of MNT."""

COLUMNS = (*INPUTS, "sol_price")
"""All columns. The price of SOL moves MI4 and is not observed directly."""

PLACE = {name: place for place, name in enumerate(COLUMNS)}
"""Index of each column in `RWAMarket.values`."""

HOUR_SECONDS = 3600
HOURS_PER_YEAR = 8760.0

PRICES = ("eth_price", "btc_price", "sol_price", "mnt_price")
ABOVE_ZERO = (*PRICES, "usdy_peg", "meth_peg")
_AT_LEAST_ZERO = ("eth_vol", "usdy_vol", "gas_price")
_RATES = ("usdy_apy", "meth_apy", "mi4_apy", "fed_rate", "aave_usdy_apy", "aave_meth_apy")


@dataclass(frozen=True, slots=True, eq=False)
class RWAMarket:
    """One or more paths of the market: `values[path, hour, column]`, columns in the order of `COLUMNS`.

    `times` are the hours in seconds since 1970, or None in a simulated market. `source` is "simulated" or the file.
    `assumed` names the columns that the file lacks and a rule filled. Values are read-only.
    """

    times: Floats | None
    values: Floats
    source: str = "simulated"
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = self.values
        if values.ndim != 3 or values.shape[2] != len(COLUMNS) or values.dtype != np.float64:
            raise BadArgument(
                f"the values of a market have the shape {values.shape} of {values.dtype}",
                f"paths × hours × {len(COLUMNS)} of float64: {', '.join(COLUMNS)}",
            )
        if not values.shape[0] or values.shape[1] < 2:
            raise BadArgument(
                f"a market of {values.shape[0]} paths and {values.shape[1]} hours has no move",
                "it needs two hours",
            )
        if self.times is not None and self.times.shape != (values.shape[1],):
            raise BadArgument(
                f"there are {len(self.times)} times for {values.shape[1]} hours", "each hour has one time"
            )
        for name in self.assumed:
            if name not in PLACE:
                raise UnknownKey.of("column", name, COLUMNS)
        self._check_values()
        values.flags.writeable = False

    def _check_values(self) -> None:
        paths, hours, columns = self.values.shape
        lines = self.values.reshape(paths, hours * columns)  # reduce over paths first, along memory
        least = lines.min(axis=0).reshape(hours, columns).min(axis=0)
        most = lines.max(axis=0).reshape(hours, columns).max(axis=0)
        for name, place in PLACE.items():
            low, high = float(least[place]), float(most[place])
            if not (np.isfinite(low) and np.isfinite(high)):
                self._refuse(name, ~np.isfinite(self.values[:, :, place]), "is not a number", "every hour has one")
            column = self.values[:, :, place]
            if name in ABOVE_ZERO and low <= 0:
                self._refuse(name, column <= 0, "is not above zero", "a price or a peg is more than zero")
            if name in _AT_LEAST_ZERO and low < 0:
                self._refuse(name, column < 0, "is negative", "it is zero or more")
            if name in _RATES and low <= -100:
                self._refuse(
                    name, column <= -100, "is not a valid rate", "it is in percent a year: 4.25, and above -100"
                )
            if name == "btc_dominance" and not (low >= 0 and high <= 100):
                self._refuse(name, (column < 0) | (column > 100), "is not a valid share", "it is in percent: 0 to 100")

    def _refuse(self, name: str, bad: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], problem: str, hint: str) -> None:
        path, hour = (int(each) for each in np.argwhere(bad)[0])
        when = f"hour {hour}" if self.times is None else say_time(float(self.times[hour]))
        value = self.values[path, hour, PLACE[name]]
        raise BadArgument(f"{name} at {when} of '{self.source}', '{value}', {problem}", hint)

    @property
    def paths(self) -> int:
        """Number of paths."""
        return int(self.values.shape[0])

    @property
    def hours(self) -> int:
        """Number of moves from one hour to the next."""
        return int(self.values.shape[1]) - 1

    def column(self, name: str) -> Floats:
        """Values of one column, of shape (paths, hours + 1)."""
        if name not in PLACE:
            raise UnknownKey.of("column", name, COLUMNS, f"there are {', '.join(COLUMNS)}")
        column: Floats = self.values[:, :, PLACE[name]]
        return column

    def between(self, begin: str | float | None = None, end: str | float | None = None) -> RWAMarket:
        """Slice of a historical market from `begin` to `end`, both included."""
        if self.times is None:
            raise BadArgument("a drawn market has no times", "split drawn markets by seed")
        low, high = self._moment("begin", begin, self.times[0]), self._moment("end", end, self.times[-1])
        hours = np.flatnonzero((self.times >= low) & (self.times <= high))
        if len(hours) < 2:
            raise BadSeries(
                f"'{self.source}' has no two hours from {say_time(low)} to {say_time(high)}",
                f"it runs from {say_time(float(self.times[0]))} to {say_time(float(self.times[-1]))}",
            )
        part = slice(int(hours[0]), int(hours[-1]) + 1)
        return RWAMarket(self.times[part], self.values[:, part], self.source, self.assumed)

    @staticmethod
    def _moment(name: str, asked: str | float | None, otherwise: float) -> float:
        try:
            return float(otherwise) if asked is None else to_seconds(asked)
        except (ValueError, OverflowError):
            raise BadArgument(f"{name} '{asked}' is not a valid time", "write it as 2023-03-11T07:00:00Z") from None

    @property
    def first_hour(self) -> int:
        """Hours from 1970 to the first hour, for MI4's rebalancing schedule; 0 in a simulated market."""
        return 0 if self.times is None else int(self.times[0] // HOUR_SECONDS)

    @property
    def digest(self) -> str:
        """SHA-256 of times and values."""
        found = hashlib.sha256(b"mayavi rwa market")
        if self.times is not None:
            found.update(np.ascontiguousarray(self.times, dtype="<f8").tobytes())
        found.update(repr(self.values.shape).encode())
        found.update(np.ascontiguousarray(self.values, dtype="<f8").data)
        return found.hexdigest()

    def __repr__(self) -> str:
        return f"<RWAMarket '{self.source}': {self.paths} × {self.hours} hours>"
