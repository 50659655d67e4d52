"""`AaveLiquidatorRows`: a liquidator on Aave V3 that watches borrowers, and sells collateral into a pool.

Real transactions open the loans and post prices to the feed that Aave reads. Liquidations are calls of
`liquidationCall`. Seized collateral is sold at once on the WETH/USDC pool of Uniswap V3, which moves its price.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION
from mayavi.evm.units import WAD
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.lending.describe import describe_debt_figure
from mayavi.gym_env.liquidator.actions import action_space, decode
from mayavi.gym_env.liquidator.config import LiquidatorConfig
from mayavi.gym_env.liquidator.loans import Loans
from mayavi.gym_env.liquidator.programs import looking, opening, stepping
from mayavi.gym_env.liquidator.view import STRATEGIES, LiquidatorView, observation_space
from mayavi.gym_env.roles import Floats, Observations, Script
from mayavi.gym_env.rows import Rows

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork


def _script(name: str) -> Script:
    return lambda env: STRATEGIES[name](env.view())


class AaveLiquidatorRows(ChainRowsEnv[LiquidatorConfig]):
    """A liquidator that watches `borrowers` accounts. A step: liquidate one or wait, sell what was seized, pass time.

    Then the next price is posted to the feed, and arbitrageurs move the pool towards it. Accounts are observed and
    chosen by rank: liquidatable accounts first, those with the largest repayment in front, then the rest by health
    factor. No transaction is sent for an account that cannot be liquidated.

    Actions. Discrete: 0 waits; 1 + 3 · rank + k repays a quarter, half or all (k is 0, 1, 2) of what the close factor
    allows: half of a debt, all of it up to a health factor of 0.95. Continuous: two numbers from -1 to 1. The first is
    the rank (in even parts of the range). The second is the share of what the close factor allows; up to zero waits.
    A repayment is limited by the liquidator's money.

    Observations, clipped to the bounds of the space: eight common entries, then five for each rank.

    | | |
    |---|---|
    | 0 | steps left, of all |
    | 1 | five times the logarithm of the price over that of the start |
    | 2 | twenty times the logarithm of the price over that of the step before |
    | 3 | a hundred times the logarithm of the pool's price over the reference price |
    | 4 | the liquidator's money over all debts of the start |
    | 5 | expected gas cost over the scale, times a hundred |
    | 6 | share of the gap to the reference price that arbitrage closes in a step |
    | 7 | volatility of the price, in a step, times fifty |
    | 8 + 5 · rank | ten times (health factor minus one) |
    | … + 1 | its debt, of all debts of the start |
    | … + 2 | the most that can be paid of it now, of all debts of the start |
    | … + 3 | what the most would seize against the pool's depth, times ten |
    | … + 4 | the profit expected of the most, over the scale, times ten |

    The expected profit is computed from the present liquidity of the pool, as a quote. Rewards are the profit in
    dollars after bonus, sale and gas, divided by the scale of the episode: the liquidation bonus on all initial debts.
    One USDC counts as a dollar. An episode terminates when no account has debt, and is truncated after `horizon` steps.
    """

    name = "liquidator"
    config_type = LiquidatorConfig
    strategies: ClassVar[dict[str, Script]] = {name: _script(name) for name in STRATEGIES}

    def __init__(self, config: LiquidatorConfig, rows: int = 1, **options: Any) -> None:
        super().__init__(config, rows, **options)
        self.columns |= self.loans.columns(self._step.outputs)
        self.columns |= {"reward": np.zeros(rows), "earned": np.zeros(rows)}
        self.observation_space, self.action_space = observation_space(config), action_space(config)

    def prepare(self, fork: Fork) -> None:
        """Fund all accounts, and build the two programs."""
        self.loans = Loans(self, fork)
        self._start, self._step = opening(self.loans, looking(self.loans, fork, {})), stepping(self.loans, fork)

    # -- an episode ---------------------------------------------------------------------------------------------------

    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        """Let blocks pass, post the first price, and open the loans."""
        self.loans.open(self._start, rows, rngs)

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Liquidate, sell, pass time, post the price, let arbitrageurs trade."""
        columns, loans, every = self.columns, self.loans, np.arange(self.rows)
        rank, share = decode(self.config, actions)
        accounts = loans.accounts()
        chosen = accounts.ranked[every, rank]
        outcome = self.fleet.run(
            self._step,
            threads=self.threads,
            live=live,
            acts=accounts.liquidatable[every, chosen],
            borrower=loans.addresses[chosen],
            debt=loans.of_accounts("debt")[every, chosen],
            close_bps=accounts.close_bps[every, chosen],
            share_ppm=np.rint(share * MILLION).astype(np.int64),
            **({"held": loans.of_accounts("collateral")[every, chosen]} if loans.by_value else {}),
            **loans.market_inputs(),
        )
        columns["looked"][live] = outcome.words[live]
        columns["reward"][live] = (self._profit_usd() / loans.scale_usd)[live]
        columns["earned"][live] += columns["reward"][live]

    def _profit_usd(self) -> Floats:
        """Profit of the last liquidation and sale, with gas at the price of that step."""
        paid, received, gas = (self.loans.words(name).float64() for name in ("paid", "received", "gas"))
        return np.asarray((received - paid) / self.loans.trades.money_unit - self.loans.gas_usd(gas))

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Scaled profit of the step, or of all steps at the end; terminated when no account has debt."""
        done = np.asarray(~self.loans.of_accounts("debt").any(axis=(1, 2)))
        if self.config.reward == "at_end":
            return np.where(done | (self.steps >= self.config.horizon), self.columns["earned"], 0.0), done
        return self.columns["reward"].copy(), done

    # -- observations -------------------------------------------------------------------------------------------------

    def view(self) -> LiquidatorView:
        """Present view of the liquidator on the loans."""
        money = self.loans.words("money").float64(self.loans.trades.money_unit)
        return LiquidatorView(self.loans, self.loans.accounts(), money, self.observation_space)

    def observe(self) -> Observations:
        """Observations as the table of the class lists them."""
        return self.view().observe()

    def exact(self) -> dict[str, list[Any]]:
        """Amounts in wei and in millionths of a USDC, prices with eight decimals, accounts by their numbers."""
        loans, count = self.loans, self.config.borrowers
        return {
            "price_usd_e8": loans.price_e8(),
            "pool_sqrt_price_x96": loans.words("root").ints(),
            "money_usdc": loans.words("money").ints(),
            "paid_usdc": loans.words("paid").ints(),
            "seized_wei": loans.words("seized").ints(),
            "received_usdc": loans.words("received").ints(),
            "gas_used": loans.words("gas").ints(),
            "gas_price_wei": self.columns["gas_price_wei"].tolist(),
            "collateral_wei": loans.lists("collateral", count),
            "debt_usdc": loans.lists("debt", count),
            "health_factor_wad": loans.lists("health", count),
            "block": loans.words("block").ints(),
            "timestamp": loans.words("timestamp").ints(),
        }

    def describe_value(self, name: str, value: Any) -> str:
        """A figure as text; the health factor of an account without debt is "no debt"."""
        return describe_debt_figure(name, value) or super().describe_value(name, value)

    def curves(self) -> dict[str, dict[str, Floats]]:
        """Prices, health factors and profit."""
        loans = self.loans
        health = np.minimum(loans.floats("health", WAD), 3.0)
        return {
            "WETH in USD": {"price": loans.price(), "pool": loans.trades.price_of(loans.words("root").words)},
            "health factor": {f"account {at}": health[:, at] for at in range(self.config.borrowers)},
            "USD": {"profit": self.columns["earned"] * loans.scale_usd},
        }
