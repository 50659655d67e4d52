"""Simulation of `RWAModel`: arrays of (paths, hours) for a batch of paths, without a loop over hours.

A path's normals are drawn in one call: first those of its start, then those of day 1, day 2 and so on; within a day the
daily ones first, then the hourly ones. So a longer path begins with the shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mayavi.markets.autoregression import LN2, autoregress, kept_of_half_life, shock_size
from mayavi.markets.normal_tail import upper_tail
from mayavi.markets.process import Floats
from mayavi.numerics import portable
from mayavi.portfolio.market.data import COLUMNS, HOURS_PER_YEAR, PLACE
from mayavi.portfolio.market.derived import btc_dominance, mi4_apy
from mayavi.portfolio.market.events import event_bound, event_sizes

if TYPE_CHECKING:
    from mayavi.portfolio.market.model import RWAModel

DAY = 24
PRICES = ("eth", "btc", "sol", "mnt")
HOURLY_STATES = ("vol_slow", "vol_fast", "vol_apart", "usdy_utilisation", "meth_utilisation", "gas")
DAILY_STATES = ("usdy_vol", "staking")
"""Mean-reverting series: each has its own normal every hour or day, and one for its start."""

HOURLY = (*HOURLY_STATES, *PRICES, "usdy_peg", "meth_peg", "jump", "depeg")
DAILY = (*DAILY_STATES, "rate")
DEPEGS = ("usdy_depeg_age", "meth_depeg_age", "usdy_depeg_size", "meth_depeg_size")
STARTS = (*HOURLY_STATES, *DAILY_STATES, "usdy_peg", "meth_peg", "rate", "meeting", "dominance", *DEPEGS)
RATE_STEP = 0.25
MOST_STEPS = 3.0


class PathMaker:
    """Constants of a model, computed once, and the simulation of paths from them."""

    def __init__(self, model: RWAModel, hours: int) -> None:
        self.model, self.hours = model, hours
        self.days = -(-hours // DAY)
        m = model
        own = {
            "vol_slow": (m.vol_slow_deviation, m.vol_slow_half_life),
            "vol_fast": (m.vol_fast_deviation, m.vol_fast_half_life),
            "vol_apart": (m.vol_apart_deviation, m.vol_apart_half_life),
            "usdy_utilisation": (m.usdy_utilisation_deviation, m.utilisation_half_life),
            "meth_utilisation": (m.meth_utilisation_deviation, m.utilisation_half_life),
            "gas": (m.gas_deviation, m.gas_half_life),
            "usdy_vol": (m.usdy_vol_deviation, m.usdy_vol_half_life / DAY),
            "staking": (m.staking_deviation, m.staking_half_life / DAY),
        }
        self.hourly = _MeanReverting([own[name] for name in HOURLY_STATES])
        self.daily = _MeanReverting([own[name] for name in DAILY_STATES])
        self.log_vol_variance = m.log_vol_variance
        self.correlation = m.correlation()
        self.jump_up_bound, self.jump_down_bound = event_bound(m.jumps_up_per_year), event_bound(m.jumps_down_per_year)
        self.usdy_depeg_bound = event_bound(m.usdy_depegs_per_year)
        self.meth_depeg_bound = event_bound(m.meth_depegs_per_year, m.meth_depeg_vol_link**2 * self.log_vol_variance)

    def make(self, rngs: Sequence[np.random.Generator], out: Floats) -> None:
        """Fill `out`, of shape (paths, hours + 1, columns), with a path for each generator."""
        m = self.model
        start, daily, z = self._normals(rngs)
        columns = np.empty((len(COLUMNS), len(rngs), self.days * DAY + 1))
        column = {name: columns[place] for name, place in PLACE.items()}
        self._days(start, daily, column)
        states = self.hourly.path([start[name] for name in HOURLY_STATES], z[: len(HOURLY_STATES)])
        slow, fast, apart, usdy_utilisation, meth_utilisation, gas = states
        hourly = dict(zip(HOURLY, z, strict=True))
        slow += fast
        swing = np.add(slow, apart, out=fast)
        eth_vol = column["eth_vol"]
        np.multiply(portable.exp(swing - self.log_vol_variance), m.eth_volatility, out=eth_vol)
        slow -= apart
        slow -= self.log_vol_variance
        btc_vol = portable.exp(slow)
        btc_vol *= m.btc_volatility
        self._prices(hourly, eth_vol, btc_vol, column)
        self._pegs(start, hourly, swing, column)
        keep = 1.0 - m.reserve_factor
        for utilisation, mean, rate, lending in (
            (usdy_utilisation, m.usdy_utilisation_mean, "fed_rate", "aave_usdy_apy"),
            (meth_utilisation, m.meth_utilisation_mean, "meth_apy", "aave_meth_apy"),
        ):
            utilisation += mean
            np.clip(utilisation, 0.0, 1.0, out=utilisation)
            utilisation *= keep
            np.multiply(utilisation, column[rate], out=column[lending])
        swing *= m.gas_vol_link
        gas += swing
        np.multiply(portable.exp(gas), m.gas_median, out=column["gas_price"])
        share = m.dominance_start + m.dominance_deviation * start["dominance"]
        btc_dominance(column["eth_price"], column["btc_price"], column["sol_price"], share, column["btc_dominance"])
        for path, values in enumerate(out):
            values[:] = columns[:, path, : self.hours + 1].T

    def _normals(self, rngs: Sequence[np.random.Generator]) -> tuple[dict[str, Floats], dict[str, Floats], Floats]:
        starts, own, days = len(STARTS), len(DAILY), self.days
        line = np.empty(starts + days * (own + DAY * len(HOURLY)))
        by_day = line[starts:].reshape(days, -1)
        start = np.empty((starts, len(rngs)))
        daily = np.empty((own, len(rngs), days))
        z = np.empty((len(HOURLY), len(rngs), days, DAY))
        for path, rng in enumerate(rngs):
            rng.standard_normal(out=line)
            start[:, path] = line[:starts]
            daily[:, path] = by_day[:, :own].T
            z[:, path] = by_day[:, own:].reshape(days, DAY, -1).transpose(2, 0, 1)
        hourly = z.reshape(len(HOURLY), len(rngs), days * DAY)
        return dict(zip(STARTS, start, strict=True)), dict(zip(DAILY, daily, strict=True)), hourly

    def _days(self, start: dict[str, Floats], z: dict[str, Floats], column: dict[str, Floats]) -> None:
        """Fill daily columns: the policy rate, yields that follow it, the staking yield, `usdy_vol`."""
        m = self.model
        states = self.daily.path([start[name] for name in DAILY_STATES], np.stack([z[name] for name in DAILY_STATES]))
        usdy_vol, staking = dict(zip(DAILY_STATES, states, strict=True)).values()
        fed_rate = self._policy_rate(start["rate"], start["meeting"], z["rate"])
        usdy_apy = m.usdy_apy_of(fed_rate, DAY)
        meth_apy = np.maximum(m.staking_mean + staking, 0.0)
        daily = {
            "usdy_vol": m.usdy_vol_mean * portable.exp(usdy_vol),
            "fed_rate": fed_rate,
            "usdy_apy": usdy_apy,
            "meth_apy": meth_apy,
            "mi4_apy": mi4_apy(meth_apy, usdy_apy, m.sol_staking_apy, m.mi4_dollar_spread),
        }
        for name, days in daily.items():
            column[name][:, 0] = days[:, 0]
            column[name][:, 1:].reshape(len(days), -1, DAY)[:] = days[:, 1:, None]

    def _policy_rate(self, first: Floats, meeting: Floats, z: Floats) -> Floats:
        """Policy rate, (paths, days + 1): changes by whole steps at meetings, never below zero."""
        m, (paths, days) = self.model, z.shape
        rate = np.maximum(np.rint((m.rate_start + m.rate_start_deviation * first) / RATE_STEP) * RATE_STEP, 0.0)
        changes = np.zeros((paths, days + 1))
        changes[:, 0] = rate
        uniform = meeting * 1024.0
        uniform -= np.floor(uniform)  # low digits of a normal are uniform
        when = np.floor(uniform * m.meeting_days).astype(np.int64)
        last = np.zeros(paths)
        while len(rows := np.flatnonzero(when < days)):
            wish = (
                m.rate_pull * (m.rate_mean - rate[rows])
                + m.rate_momentum * last[rows]
                + m.rate_noise * z[rows, when[rows]]
            )
            change = np.clip(np.rint(wish), -MOST_STEPS, MOST_STEPS)
            change = np.maximum(change, np.ceil(-rate[rows] / RATE_STEP))
            changes[rows, when[rows] + 1] = change * RATE_STEP
            rate[rows] += change * RATE_STEP
            last[rows] = change
            when[rows] += m.meeting_days
        return np.cumsum(changes, axis=1)

    def _prices(self, hourly: dict[str, Floats], eth_vol: Floats, btc_vol: Floats, column: dict[str, Floats]) -> None:
        m = self.model
        joint = self.correlation.apply({name: hourly[name] for name in PRICES})
        jump = event_sizes(hourly["jump"], self.jump_up_bound, m.jump_least, m.jump_up_mean)
        jump -= event_sizes(-hourly["jump"], self.jump_down_bound, m.jump_least, m.jump_down_mean)
        when = np.nonzero(jump)
        hour = 1.0 / HOURS_PER_YEAR
        own = {
            "eth": (m.eth_start, m.eth_drift, eth_vol, 1.0, 1.0),
            "btc": (m.btc_start, m.btc_drift, btc_vol, 1.0, m.jump_btc_share),
            "sol": (m.sol_start, m.sol_drift, eth_vol, m.sol_to_eth_volatility, m.jump_sol_share),
            "mnt": (m.mnt_start, m.mnt_drift, eth_vol, m.mnt_to_eth_volatility, m.jump_mnt_share),
        }
        logs = np.empty(eth_vol.shape)
        logs[:, 0] = 0.0
        moves = logs[:, 1:]
        for name, (begin, drift, vol, ratio, share) in own.items():
            spread = vol[:, :-1] * (ratio * hour**0.5)
            np.multiply(spread, -0.5, out=moves)
            moves += joint[name]
            moves *= spread  # z·σ − σ²/2
            moves += drift * hour - m.expected_jump(share)
            moves[when] += share * jump[when]
            np.cumsum(moves, axis=1, out=moves)
            np.multiply(portable.exp(logs), begin, out=column[f"{name}_price"])

    def _pegs(
        self, start: dict[str, Floats], hourly: dict[str, Floats], swing: Floats, column: dict[str, Floats]
    ) -> None:
        """Fill pegs, 1 / (1 + noise + depeg): always positive, as the noise is clipped."""
        m, usdy_vol = self.model, column["usdy_vol"]
        lives = (m.usdy_peg_half_life, m.usdy_depeg_half_life, m.meth_peg_half_life, m.meth_depeg_half_life)
        kept = np.array([kept_of_half_life(life) for life in lives])
        shocks = np.empty((len(lives), *hourly["depeg"].shape))
        begin = np.zeros((len(lives), len(swing)))
        begin[0] = usdy_vol[:, 0] * start["usdy_peg"]
        begin[1], begin[3] = self._depegs_before(start)
        begin[2] = m.meth_peg_deviation * start["meth_peg"]
        np.multiply(usdy_vol[:, :-1], hourly["usdy_peg"], out=shocks[0])
        shocks[0] *= shock_size(float(kept[0]))
        shocks[1] = event_sizes(hourly["depeg"], self.usdy_depeg_bound, m.usdy_depeg_least, m.usdy_depeg_mean)
        np.multiply(hourly["meth_peg"], m.meth_peg_deviation * shock_size(float(kept[2])), out=shocks[2])
        lean = m.meth_depeg_vol_link * swing[:, :-1]
        shocks[3] = event_sizes(-hourly["depeg"], self.meth_depeg_bound, m.meth_depeg_least, m.meth_depeg_mean, lean)
        usdy_noise, usdy_depeg, meth_noise, meth_depeg = autoregress(kept, begin, shocks)
        for name, noise, depeg in (("usdy_peg", usdy_noise, usdy_depeg), ("meth_peg", meth_noise, meth_depeg)):
            np.clip(noise, -0.5, 0.5, out=noise)
            depeg += noise
            depeg += 1.0
            np.divide(1.0, depeg, out=column[name])

    def _depegs_before(self, start: dict[str, Floats]) -> Floats:
        """Remainder of the last depeg before the path, of USDY and of mETH: (2, paths)."""
        m = self.model
        uniform = upper_tail(np.stack([start[name] for name in DEPEGS])).reshape(2, 2, -1)
        age, size = -portable.log(uniform)
        left: Floats = np.zeros((2, uniform.shape[2]))
        for row, (each_year, least, mean, life) in enumerate(
            (
                (m.usdy_depegs_per_year, m.usdy_depeg_least, m.usdy_depeg_mean, m.usdy_depeg_half_life),
                (m.meth_depegs_per_year, m.meth_depeg_least, m.meth_depeg_mean, m.meth_depeg_half_life),
            )
        ):
            if each_year > 0:
                kept = portable.exp(age[row] * (-LN2 * HOURS_PER_YEAR / (each_year * life)))
                left[row] = (least + mean * size[row]) * kept
        return left


class _MeanReverting:
    """Series that revert to zero, given standard deviations and half-lives in steps."""

    def __init__(self, own: list[tuple[float, float]]) -> None:
        self.deviation = np.array([deviation for deviation, _ in own])
        self.kept = np.array([kept_of_half_life(life) for _, life in own])
        self.shock = self.deviation * np.array([shock_size(kept) for kept in self.kept.tolist()])

    def path(self, start: list[Floats], z: Floats) -> Floats:
        """Simulate (series, paths, steps + 1) from normals: `start` for the first values, `z` for the steps."""
        first = np.stack(start) * self.deviation[:, None]
        z *= self.shock[:, None, None]
        return autoregress(self.kept, first, z)
