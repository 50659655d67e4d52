"""Stochastic model of the market of USDY, mETH and MI4: joint prices, volatilities, rates, pegs and gas.

docs/reference/rwa-market.md has every equation and the source of each default; `tools/calibrate_rwa.py` prints the
defaults that are estimated from data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from mayavi.errors import BadArgument
from mayavi.markets.autoregression import SHORTEST_HALF_LIFE, autoregress, kept_of_half_life
from mayavi.markets.correlation import Correlation
from mayavi.markets.process import Floats
from mayavi.numerics import portable
from mayavi.numerics.parameters import above_zero, at_least_zero, finite, whole
from mayavi.portfolio.market.data import COLUMNS, HOURS_PER_YEAR, RWAMarket
from mayavi.portfolio.market.paths import PathMaker

_DAILY = ("usdy_vol_half_life", "staking_half_life", "usdy_lag_half_life")
_SHORTEST_OF_DAYS = 3.0
_CHUNK = 24
"""Paths per batch: the arrays of a month stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class RWAModel:
    """Parameters of the market; `draw` simulates paths.

    Volatilities and drifts are per year, rates in percent a year, half-lives in hours, frequencies per year. Jump sizes
    are logarithms; a depeg of size s takes a peg to 1 / (1 + s). A deviation is a long-run standard deviation.
    """

    eth_start: float = 3000.0
    btc_start: float = 60_000.0
    sol_start: float = 150.0
    mnt_start: float = 0.7

    eth_drift: float = 0.17
    btc_drift: float = 0.14
    sol_drift: float = 0.2
    mnt_drift: float = 0.2
    """Drift of the expected price: jumps and volatility are compensated."""

    eth_volatility: float = 0.54
    btc_volatility: float = 0.43
    sol_to_eth_volatility: float = 1.25
    mnt_to_eth_volatility: float = 1.25
    """Root of the mean variance without jumps; the volatility of SOL and MNT is proportional to ETH's."""

    vol_slow_deviation: float = 0.34
    vol_slow_half_life: float = 600.0
    vol_fast_deviation: float = 0.27
    vol_fast_half_life: float = 10.0
    vol_apart_deviation: float = 0.11
    vol_apart_half_life: float = 500.0
    """Log-volatility: a slow and a fast part that all prices share, and one added for ETH and subtracted for BTC."""

    eth_btc_correlation: float = 0.79
    eth_sol_correlation: float = 0.75
    btc_sol_correlation: float = 0.70
    eth_mnt_correlation: float = 0.55
    btc_mnt_correlation: float = 0.50
    sol_mnt_correlation: float = 0.50
    """Correlations of hourly shocks without jumps."""

    jumps_up_per_year: float = 33.0
    jumps_down_per_year: float = 44.0
    jump_least: float = 0.02
    jump_up_mean: float = 0.012
    jump_down_mean: float = 0.014
    jump_btc_share: float = 0.57
    jump_sol_share: float = 1.2
    jump_mnt_share: float = 1.0
    """All prices jump together: ETH by `jump_least` plus an exponential size, the others by a share of that."""

    rate_start: float = 4.75
    rate_start_deviation: float = 0.5
    rate_mean: float = 2.89
    rate_pull: float = 0.06
    rate_momentum: float = 0.49
    rate_noise: float = 0.9
    meeting_days: int = 46
    """At a meeting the policy rate moves by whole steps of 0.25: the number nearest to pull times the distance to the
    mean, plus momentum times the last number, plus noise."""

    usdy_fee: float = 0.5
    usdy_lag_half_life: float = 168.0
    staking_mean: float = 3.8
    staking_deviation: float = 0.3
    staking_half_life: float = 336.0
    sol_staking_apy: float = 6.5
    mi4_dollar_spread: float = 2.0
    """Spread that MI4's dollars earn over USDY's yield; its ETH earns the staking yield, its SOL `sol_staking_apy`."""

    usdy_vol_mean: float = 0.001
    usdy_vol_deviation: float = 0.3
    usdy_vol_half_life: float = 72.0
    usdy_peg_half_life: float = 6.0
    usdy_depegs_per_year: float = 0.33
    usdy_depeg_least: float = 0.01
    usdy_depeg_mean: float = 0.1
    usdy_depeg_half_life: float = 17.0
    """The peg's noise has the deviation `usdy_vol`; a depeg is `least` plus an exponential size, and decays with its
    half-life. A path starts with the remainder of the last depeg before it."""

    meth_peg_deviation: float = 0.0013
    meth_peg_half_life: float = 62.0
    meth_depegs_per_year: float = 1.0
    meth_depeg_least: float = 0.01
    meth_depeg_mean: float = 0.035
    meth_depeg_half_life: float = 890.0
    meth_depeg_vol_link: float = 0.8
    """Probability of a depeg in an hour: Φ(a + link · deviation of ETH's log-volatility), with a set by the mean."""

    usdy_utilisation_mean: float = 0.5
    usdy_utilisation_deviation: float = 0.1
    meth_utilisation_mean: float = 0.45
    meth_utilisation_deviation: float = 0.1
    utilisation_half_life: float = 48.0
    reserve_factor: float = 0.1

    gas_median: float = 0.02
    gas_deviation: float = 0.3
    gas_half_life: float = 6.0
    gas_vol_link: float = 0.5
    """Gas rises with volatility: its logarithm includes `link` times the deviation of ETH's log-volatility."""

    dominance_start: float = 55.0
    dominance_deviation: float = 3.0
    """BTC dominance at the start, in percent; prices move it afterwards."""

    def __post_init__(self) -> None:
        for field in fields(self):
            self._check(field.name)
        for name in ("usdy_utilisation_mean", "meth_utilisation_mean", "reserve_factor"):
            if getattr(self, name) > 1:
                raise BadArgument(f"{name} '{getattr(self, name)}' is more than 1", "it is a share, from 0 to 1")
        if not 1 <= self.dominance_start <= 99:
            raise BadArgument(f"dominance_start '{self.dominance_start}' is out of range", "percent: from 1 to 99")
        largest = max(1.0, self.jump_btc_share, self.jump_sol_share, self.jump_mnt_share)
        if largest * self.jump_up_mean >= 0.5:
            raise BadArgument(
                f"jump_up_mean '{self.jump_up_mean}' is too large", "0.01 is 1 %; below 0.5, times its share"
            )
        self.correlation()

    def _check(self, name: str) -> None:
        value = getattr(self, name)
        if name == "meeting_days":
            whole(name, value, 1, "days from one meeting to the next")
        elif name.endswith("half_life"):
            shortest = _SHORTEST_OF_DAYS if name in _DAILY else SHORTEST_HALF_LIFE
            if finite(name, value, "in hours") < shortest:
                raise BadArgument(f"{name} '{value}' is too short", f"in hours, and {shortest:g} or more")
        elif name.endswith(("_start", "_volatility", "_median", "_vol_mean")) and name != "rate_start":
            above_zero(name, value)
        elif name.endswith(("_drift", "_correlation", "_pull", "_momentum", "_link", "_spread")):
            finite(name, value, "a plain number, as in 0.17")
        elif name.endswith("_per_year"):
            if not (at_least_zero(name, value, "how many a year on average") == 0 or 1e-6 <= value <= 2000):
                raise BadArgument(f"{name} '{value}' is out of range", "none, or from 1e-6 to 2000 a year")
        else:
            at_least_zero(name, value)

    def correlation(self) -> Correlation:
        """Correlation of the shocks of the four prices."""
        return Correlation(
            {
                ("eth", "btc"): self.eth_btc_correlation,
                ("eth", "sol"): self.eth_sol_correlation,
                ("btc", "sol"): self.btc_sol_correlation,
                ("eth", "mnt"): self.eth_mnt_correlation,
                ("btc", "mnt"): self.btc_mnt_correlation,
                ("sol", "mnt"): self.sol_mnt_correlation,
            }
        )

    @property
    def log_vol_variance(self) -> float:
        """Long-run variance of the log-volatility of ETH and BTC."""
        return self.vol_slow_deviation**2 + self.vol_fast_deviation**2 + self.vol_apart_deviation**2

    def expected_jump(self, share: float) -> float:
        """Logarithm of the mean hourly growth factor by jumps that are `share` of ETH's."""
        up, down = self.jumps_up_per_year / HOURS_PER_YEAR, self.jumps_down_per_year / HOURS_PER_YEAR
        rise = float(portable.exp(share * self.jump_least)) / (1.0 - share * self.jump_up_mean) - 1.0
        fall = float(portable.exp(-share * self.jump_least)) / (1.0 + share * self.jump_down_mean) - 1.0
        return float(portable.log(1.0 + up * rise + down * fall))

    def usdy_apy_of(self, fed_rate: Floats, step_hours: float) -> Floats:
        """Yields of USDY along policy rates, both of shape (paths, steps): less the fee, and lagged."""
        kept = kept_of_half_life(self.usdy_lag_half_life / step_hours)
        wanted = fed_rate - self.usdy_fee
        shocks = (1.0 - kept) * wanted[None, :, 1:]
        lagged: Floats = autoregress(np.array([kept]), wanted[None, :, 0], shocks)[0]
        return np.maximum(lagged, 0.0)

    def draw(self, rngs: Sequence[np.random.Generator], hours: int) -> RWAMarket:
        """Simulate one path of `hours` moves for each generator.

        A path depends, bit for bit, on its own generator alone. A longer path from a generator in the same state begins
        with the shorter one.
        """
        whole("hours", hours, 1, "a path has at least one move")
        if not rngs:
            raise BadArgument(
                "there is no generator to draw a path from", "give one for each path: stream(7, 'market', '0')"
            )
        maker = PathMaker(self, hours)
        values = np.empty((len(rngs), hours + 1, len(COLUMNS)))
        for begin in range(0, len(rngs), _CHUNK):
            maker.make(rngs[begin : begin + _CHUNK], values[begin : begin + _CHUNK])
        return RWAMarket(None, values)
