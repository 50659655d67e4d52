"""How `RWAModel` makes its paths: arrays of (paths, hours) for a few paths at a time, no loop over hours.

Of every path's normals the first ones are its start, then come those of hour 1, of hour 2 and so on: one call a path,
and a longer path begins with the shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mayavi.markets import portable
from mayavi.markets.autoregression import autoregress, kept_of_half_life, shock_size
from mayavi.markets.normal_tail import upper_quantile, upper_tail
from mayavi.markets.process import Floats
from mayavi.markets.rwa_assets import MI4_DOLLARS, MI4_WEIGHTS
from mayavi.markets.rwa_data import HOURS_PER_YEAR, PLACE

if TYPE_CHECKING:
    from mayavi.markets.rwa_model import RWAModel

STATES = (
    "vol_slow",
    "vol_fast",
    "vol_eth",
    "vol_btc",
    "usdy_vol",
    "staking",
    "usdy_utilisation",
    "meth_utilisation",
    "gas",
    "rest",
)
"""Series that return to zero, each with a normal of its own every hour and one for where it starts."""

HOURLY = (*STATES, "usdy_peg", "meth_peg", "eth", "btc", "sol", "mnt", "jump", "rate", "usdy_depeg", "meth_depeg")
STARTS = (*STATES, "usdy_peg", "meth_peg", "rate", "meeting")
SUPPLY = {"eth": 120.7e6, "btc": 19.9e6}
"""Coins there are, for the dominance."""
RATE_STEP = 0.25
MOST_STEPS = 3.0


class PathMaker:
    """What all paths of one model share, worked out once."""

    def __init__(self, model: RWAModel, hours: int) -> None:
        self.model, self.hours = model, hours
        m = model
        deviations = {
            "vol_slow": (m.vol_slow_deviation, m.vol_slow_half_life),
            "vol_fast": (m.vol_fast_deviation, m.vol_fast_half_life),
            "vol_eth": (m.vol_own_deviation, m.vol_own_half_life),
            "vol_btc": (m.vol_own_deviation, m.vol_own_half_life),
            "usdy_vol": (m.usdy_vol_deviation, m.usdy_vol_half_life),
            "staking": (m.staking_deviation, m.staking_half_life),
            "usdy_utilisation": (m.usdy_utilisation_deviation, m.utilisation_half_life),
            "meth_utilisation": (m.meth_utilisation_deviation, m.utilisation_half_life),
            "gas": (m.gas_deviation, m.gas_half_life),
            "rest": (m.rest_deviation, m.rest_half_life),
        }
        self.deviation = np.array([deviations[name][0] for name in STATES])
        self.kept = np.array([kept_of_half_life(deviations[name][1]) for name in STATES])
        self.shock = self.deviation * np.array([shock_size(kept) for kept in self.kept.tolist()])
        self.log_vol_variance = m.vol_slow_deviation**2 + m.vol_fast_deviation**2 + m.vol_own_deviation**2
        self.correlation = m.correlation()

    def make(self, chances: Sequence[np.random.Generator], out: Floats) -> None:
        """Fill `out`, (paths, hours + 1, columns), with a path for each of `chances`."""
        start, z = self._normals(chances)
        states = autoregress(
            self.kept, start[: len(STATES)] * self.deviation[:, None], z[: len(STATES)] * self.shock[:, None, None]
        )
        state = dict(zip(STATES, states, strict=True))
        hourly = dict(zip(HOURLY, z, strict=True))
        first = dict(zip(STARTS, start, strict=True))
        m = self.model
        eth_swing = state["vol_slow"] + state["vol_fast"]
        btc_swing = eth_swing + state["vol_btc"]
        eth_swing += state["vol_eth"]
        eth_vol = m.eth_volatility * portable.exp(eth_swing - self.log_vol_variance)
        btc_vol = m.btc_volatility * portable.exp(btc_swing - self.log_vol_variance)
        prices = self._prices(hourly, eth_vol, btc_vol)
        fed_rate = self._policy_rate(first["rate"], first["meeting"], hourly["rate"])
        usdy_vol = m.usdy_vol_mean * portable.exp(state["usdy_vol"])
        usdy_peg, meth_peg, usdy_apy = self._pegs_and_yield(first, hourly, eth_swing, usdy_vol, fed_rate)
        meth_apy = np.maximum(m.staking_mean + state["staking"], 0.0)

        def put(name: str, column: Floats) -> None:
            out[:, :, PLACE[name]] = column

        for name in ("eth", "btc", "sol", "mnt"):
            put(f"{name}_price", prices[name])
        put("eth_vol", eth_vol)
        put("usdy_vol", usdy_vol)
        put("usdy_peg", usdy_peg)
        put("meth_peg", meth_peg)
        put("fed_rate", fed_rate)
        put("usdy_apy", usdy_apy)
        put("meth_apy", meth_apy)
        put("mi4_apy", mi4_apy(m, meth_apy, usdy_apy))
        keep = 1.0 - m.reserve_factor
        put("aave_usdy_apy", np.clip(m.usdy_utilisation_mean + state["usdy_utilisation"], 0.0, 1.0) * (keep * fed_rate))
        put("aave_meth_apy", np.clip(m.meth_utilisation_mean + state["meth_utilisation"], 0.0, 1.0) * (keep * meth_apy))
        put("gas_price", m.gas_median * portable.exp(state["gas"] + m.gas_vol_link * eth_swing))
        put("btc_dominance", btc_dominance(m, prices["eth"], prices["btc"], portable.exp(state["rest"])))

    def _normals(self, chances: Sequence[np.random.Generator]) -> tuple[Floats, Floats]:
        starts, each = len(STARTS), len(HOURLY)
        start = np.empty((starts, len(chances)))
        z = np.empty((each, len(chances), self.hours))
        line = np.empty(starts + each * self.hours)
        for path, chance in enumerate(chances):
            chance.standard_normal(out=line)
            start[:, path] = line[:starts]
            z[:, path] = line[starts:].reshape(self.hours, each).T
        return start, z

    def _prices(self, hourly: dict[str, Floats], eth_vol: Floats, btc_vol: Floats) -> dict[str, Floats]:
        m = self.model
        joint = self.correlation.applied({name: hourly[name] for name in ("eth", "btc", "sol", "mnt")})
        up, down = m.jumps_up_per_year / HOURS_PER_YEAR, m.jumps_down_per_year / HOURS_PER_YEAR
        jumps = m.jump_least, m.jump_up_mean, m.jump_down_mean
        jump = _events(hourly["jump"], up, jumps[0], jumps[1]) - _events(-hourly["jump"], down, jumps[0], jumps[2])
        hour = 1.0 / HOURS_PER_YEAR
        own = {
            "eth": (m.eth_start, m.eth_drift, eth_vol, 1.0, 1.0),
            "btc": (m.btc_start, m.btc_drift, btc_vol, 1.0, m.jump_btc_share),
            "sol": (m.sol_start, m.sol_drift, eth_vol, m.sol_to_eth_volatility, m.jump_sol_share),
            "mnt": (m.mnt_start, m.mnt_drift, eth_vol, m.mnt_to_eth_volatility, m.jump_mnt_share),
        }
        prices = {}
        for name, (begin, drift, vol, ratio, share) in own.items():
            least, up_mean, down_mean = (share * size for size in jumps)
            expected = (
                1.0 + up * (_exp(least) / (1.0 - up_mean) - 1.0) + down * (_exp(-least) / (1.0 + down_mean) - 1.0)
            )
            spread = vol[:, :-1] * (ratio * hour**0.5)
            logs = np.zeros_like(vol)
            moves = logs[:, 1:]
            np.multiply(spread, spread, out=moves)
            moves *= -0.5
            spread *= joint[name]
            moves += spread
            moves += drift * hour - float(portable.log(expected))
            moves += share * jump
            np.cumsum(moves, axis=1, out=moves)
            prices[name] = begin * portable.exp(logs)
        return prices

    def _policy_rate(self, first: Floats, meeting: Floats, z: Floats) -> Floats:
        """Whole steps at the meetings, none below zero."""
        m, paths, hours = self.model, len(first), self.hours
        rate = np.maximum(np.rint((m.rate_start + m.rate_start_deviation * first) / RATE_STEP) * RATE_STEP, 0.0)
        changes = np.zeros((paths, hours + 1))
        changes[:, 0] = rate
        when = np.floor(upper_tail(meeting) * m.meeting_hours).astype(np.int64)
        last = np.zeros(paths)
        while True:
            rows = np.flatnonzero(when < hours)
            if not len(rows):
                break
            wish = (
                m.rate_pull * (m.rate_mean - rate[rows]) / RATE_STEP
                + m.rate_momentum * last[rows]
                + m.rate_noise * z[rows, when[rows]]
            )
            moved = np.clip(np.rint(wish), -MOST_STEPS, MOST_STEPS)
            moved = np.maximum(moved, np.ceil(-rate[rows] / RATE_STEP))
            changes[rows, when[rows] + 1] = moved * RATE_STEP
            rate[rows] += moved * RATE_STEP
            last[rows] = moved
            when[rows] += m.meeting_hours
        return np.cumsum(changes, axis=1)

    def _pegs_and_yield(
        self, first: dict[str, Floats], hourly: dict[str, Floats], eth_swing: Floats, usdy_vol: Floats, fed_rate: Floats
    ) -> tuple[Floats, Floats, Floats]:
        m = self.model
        lives = (
            m.usdy_peg_half_life,
            m.meth_peg_half_life,
            m.usdy_depeg_half_life,
            m.meth_depeg_half_life,
            m.usdy_lag_half_life,
        )
        kept = np.array([kept_of_half_life(life) for life in lives])
        shocks = np.empty((len(lives), *hourly["eth"].shape))
        begin = np.zeros((len(lives), len(fed_rate)))
        begin[0] = usdy_vol[:, 0] * first["usdy_peg"]
        begin[1] = m.meth_peg_deviation * first["meth_peg"]
        begin[4] = fed_rate[:, 0] - m.usdy_fee
        np.multiply(usdy_vol[:, :-1], hourly["usdy_peg"], out=shocks[0])
        shocks[0] *= shock_size(float(kept[0]))
        np.multiply(hourly["meth_peg"], m.meth_peg_deviation * shock_size(float(kept[1])), out=shocks[1])
        shocks[2] = _events(
            hourly["usdy_depeg"], m.usdy_depegs_per_year / HOURS_PER_YEAR, m.usdy_depeg_least, m.usdy_depeg_mean
        )
        shocks[3] = _events(
            hourly["meth_depeg"],
            m.meth_depegs_per_year / HOURS_PER_YEAR,
            m.meth_depeg_least,
            m.meth_depeg_mean,
            m.meth_depeg_vol_link * eth_swing[:, :-1],
            m.meth_depeg_vol_link**2 * self.log_vol_variance,
        )
        np.subtract(fed_rate[:, 1:], m.usdy_fee, out=shocks[4])
        shocks[4] *= 1.0 - float(kept[4])
        noise_usdy, noise_meth, depeg_usdy, depeg_meth, usdy_apy = autoregress(kept, begin, shocks)
        return (
            portable.exp(noise_usdy - depeg_usdy),
            portable.exp(noise_meth - depeg_meth),
            np.maximum(usdy_apy, 0.0),
        )


def mi4_apy(model: RWAModel, meth_apy: Floats, usdy_apy: Floats) -> Floats:
    """What MI4's parts earn, as a yield on the whole of it: staked ETH and SOL, and dollars."""
    sol = MI4_WEIGHTS["sol_price"] * model.sol_staking_apy
    total: Floats = MI4_WEIGHTS["eth_price"] * meth_apy + MI4_DOLLARS * (usdy_apy + model.mi4_dollar_spread) + sol
    return total


def btc_dominance(model: RWAModel, eth: Floats, btc: Floats, rest: Floats | float) -> Floats:
    """BTC's percent of what all coins are worth: `rest` is how far the others are from moving as BTC and ETH do."""
    btc_worth, eth_worth = SUPPLY["btc"] * btc, SUPPLY["eth"] * eth
    begin_btc, begin_eth = btc_worth[:, :1], eth_worth[:, :1]
    others = begin_btc * (100.0 / model.dominance_start - 1.0) - begin_eth
    along = 0.5 * (btc_worth / begin_btc + eth_worth / begin_eth)
    share: Floats = 100.0 * btc_worth / (btc_worth + eth_worth + others * along * rest)
    return share


def _events(
    z: Floats, chance: float, least: float, mean: float, lean: Floats | None = None, lean_variance: float = 0.0
) -> Floats:
    """Zero but where `z` exceeds the bound that it exceeds with `chance`: there `least` and an exponential size more.

    How far `z` is beyond the bound decides the size: the chance to be farther still is uniform. `lean` lowers the
    bound; over all values of a normal `lean` with `lean_variance` the chance is what it is without.
    """
    sizes = np.zeros(z.shape)
    if chance <= 0.0:
        return sizes
    bound = upper_quantile(chance)
    if lean is None:
        rows, hours = np.nonzero(z > bound)
        bounds = np.full(len(rows), bound)
    else:
        bounds_everywhere = bound * (1.0 + lean_variance) ** 0.5 - lean
        rows, hours = np.nonzero(z > bounds_everywhere)
        bounds = bounds_everywhere[rows, hours]
    if len(rows):
        farther = upper_tail(z[rows, hours]) / upper_tail(bounds)
        sizes[rows, hours] = least - mean * portable.log(farther)
    return sizes


def _exp(x: float) -> float:
    return float(portable.exp(x))
