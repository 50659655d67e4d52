"""Reference implementation of the portfolio environment in plain Python."""

from __future__ import annotations

import math
from typing import Any

from mayavi.portfolio.env.config import RWAConfig

HOURS_A_YEAR = 8760
PRICES = {"eth_price", "btc_price", "mnt_price", "sol_price"}
USUAL = {
    "usdy_apy": (4, 2), "meth_apy": (4, 2), "mi4_apy": (2.5, 2), "eth_price": (1, 0.1), "btc_price": (1, 0.1),
    "btc_dominance": (55, 10), "fed_rate": (4, 2), "usdy_peg": (1, 0.005), "meth_peg": (1, 0.01), "eth_vol": (0.5, 0.5),
    "usdy_vol": (0.001, 0.001), "aave_usdy_apy": (2, 2), "aave_meth_apy": (1.5, 2), "gas_price": (0.02, 0.02),
    "mnt_price": (1, 0.2), "sol_price": (1, 0.2),
}  # fmt: skip


class PortfolioByHand:
    """One episode on hourly `inputs` by name, and `growth`, the hourly growth factors of the three assets.

    Hour 0 of the episode is the index `start` of these lists.
    """

    def __init__(
        self, config: RWAConfig, inputs: dict[str, list[float]], growth: list[list[float]], gas: list[float], start: int
    ) -> None:
        self.config, self.inputs, self.growth, self.gas, self.start = config, inputs, growth, gas, start
        self.hour = 0
        self.value = self.peak = config.initial_capital
        self.values = [self.value]
        self.weights = list(config.initial_weights)
        self.target = list(config.initial_weights)
        self.variance = self.turnover = self.cost = self.gas_usd = self.costs = self.hourly_return = 0.0
        self.by_asset = [0.0] * 3

    def step(self, action: list[float]) -> tuple[float, bool, bool]:
        """Play one step; returns reward, terminated, truncated."""
        config = self.config
        self.target = self._target([(each + 1) / 2 for each in action])
        self.turnover = sum(abs(new - old) for new, old in zip(self.target, self.weights, strict=True))
        broken = any(not config.min_weight <= each <= config.max_weight for each in self.weights)
        if self.turnover < config.least_turnover and not broken:
            self.target, self.turnover = list(self.weights), 0.0
        before = self.value
        self.cost = before * self.turnover * config.rebalance_cost_bps / 10_000
        self.gas_usd = self.gas[self.start + self.hour] if self.turnover > 0 else 0.0
        invested = before - self.cost - self.gas_usd
        factors = self.growth[self.start + self.hour]
        worth = [invested * share * factor for share, factor in zip(self.target, factors, strict=True)]
        gains = [invested * share * (factor - 1) for share, factor in zip(self.target, factors, strict=True)]
        self.by_asset = [each / before for each in gains]
        self.value = sum(worth)
        self.weights = [each / self.value for each in worth]
        self.hourly_return = self.value / before - 1
        keeps = 0.5 ** (1 / 24)
        self.variance = keeps * self.variance + (1 - keeps) * self.hourly_return**2
        self.costs += self.cost + self.gas_usd
        self.peak = max(self.peak, self.value)
        self.values.append(self.value)
        self.hour += 1
        ruined = self.drawdown > config.stop_drawdown
        return self._reward(), ruined, self.hour >= config.horizon and not ruined

    def _target(self, request: list[float]) -> list[float]:
        """Allowed weights nearest to the request, over all ways to fix some weights at a bound."""
        low, high = self.config.min_weight, self.config.max_weight
        best: tuple[float, list[float]] | None = None
        for code in range(27):
            fixed = [{0: None, 1: low, 2: high}[code // 3**at % 3] for at in range(3)]
            free = [at for at in range(3) if fixed[at] is None]
            rest = 1 - sum(each for each in fixed if each is not None)
            if not free:
                if abs(rest) > 1e-12:
                    continue
                weights = [each for each in fixed if each is not None]
            else:
                shift = (rest - sum(request[at] for at in free)) / len(free)
                weights = [request[at] + shift if (each := fixed[at]) is None else each for at in range(3)]
            if any(not low - 1e-12 <= each <= high + 1e-12 for each in weights):
                continue
            distance = sum((new - old) ** 2 for new, old in zip(weights, request, strict=True))
            if best is None or distance < best[0]:
                best = distance, weights
        assert best is not None
        return [min(max(each, low), high) for each in best[1]]

    @property
    def drawdown(self) -> float:
        return (self.peak - self.value) / self.peak

    def _reward(self) -> float:
        config, free = self.config, self.config.risk_free_rate / 100 / HOURS_A_YEAR
        if config.reward == "log_growth":
            excess = math.log(1 + self.hourly_return) - free
            return config.reward_scaling * (excess - config.risk_aversion / 2 * excess**2)
        returns = [later / earlier - 1 for earlier, later in zip(self.values, self.values[1:], strict=False)][-168:]
        mean = sum(returns) / len(returns)
        deviation = math.sqrt(sum((each - mean) ** 2 for each in returns) / len(returns))
        excess = self.hourly_return - free
        sharpe = excess * 100 if len(self.values) == 2 else excess / (deviation + 1e-8)
        now = self.start + self.hour
        depeg = 10 * self.target[0] if self.inputs["usdy_peg"][now] < 0.995 else 0.0
        depeg += 10 * self.target[1] if self.inputs["meth_peg"][now] < 0.98 else 0.0
        share = self.turnover * config.rebalance_cost_bps / 10_000
        return sharpe * config.reward_scaling - 50 * self.drawdown - depeg - 1_000 * share

    def sharpe(self) -> float:
        """Annual Sharpe ratio of the last 168 returns."""
        returns = [later / earlier - 1 for earlier, later in zip(self.values, self.values[1:], strict=False)][-168:]
        if len(returns) < 2:
            return 0.0
        mean = sum(returns) / len(returns)
        deviation = math.sqrt(sum((each - mean) ** 2 for each in returns) / len(returns))
        return (mean - self.config.risk_free_rate / 100 / HOURS_A_YEAR) / deviation * math.sqrt(HOURS_A_YEAR)

    def observe(self) -> list[float]:
        config = self.config
        seen = [(config.horizon - self.hour) / config.horizon, *self.weights, self.drawdown / config.stop_drawdown]
        for back, scale in ((1, 100), (24, 20), (168, 10)):
            seen.append(scale * (self.value / self.values[max(self.hour - back, 0)] - 1))
        seen.append(math.sqrt(self.variance * HOURS_A_YEAR))
        seen.append(10 * (self.value / config.initial_capital - 1))
        seen.append(100 * self.costs / config.initial_capital)
        seen.append(1_000 * (self.cost + self.gas_usd) / self.value)
        now = self.start + self.hour
        for back, scale in ((1, 100), (24, 20), (168, 10)):
            for asset in range(3):
                grown = 1.0
                for factors in self.growth[now - back : now]:
                    grown *= factors[asset]
                seen.append(scale * (grown - 1))
        for name, (off, over) in USUAL.items():
            now_value = self.inputs[name][now]
            value = now_value / self.inputs[name][now - 168] if name in PRICES else now_value
            seen.append((value - off) / over)
        bounded: Any = [min(max(each, -10.0), 10.0) for each in seen]
        return list(bounded)

    def info(self) -> dict[str, Any]:
        """Figures of the info."""
        return {
            "portfolio_value": self.value,
            "weights": self.weights,
            "drawdown": self.drawdown,
            "hourly_return": self.hourly_return,
            "sharpe": self.sharpe(),
            "turnover": self.turnover,
            "cost": self.cost,
            "gas_usd": self.gas_usd,
            "target_weights": self.target,
            "return_by_asset": self.by_asset,
            "peak_value": self.peak,
            "market": [self.inputs[name][self.start + self.hour] for name in USUAL],
        }
