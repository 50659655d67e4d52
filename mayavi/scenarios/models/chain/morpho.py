"""Markets and vaults of Morpho that a scenario creates."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from mayavi.errors import did_you_mean
from mayavi.scenarios.models.values.quantities import NotNegative, Share, fault
from mayavi.settings.model import Model
from mayavi.worlds.tables.morpho_market import MarketName

PROTOCOL = "morpho"
EXAMPLE = "such as wstETH/USDC.86: collateral, loan token, and LLTV in percent"


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


class NewMorphoMarket(Model):
    """A market of Morpho Blue. Its name, COLLATERAL/LOAN.LLTV, has its tokens and the LLTV in percent."""

    supplied: NotNegative = Decimal(0)
    """What other accounts lend to it, beside vaults, in whole tokens."""


_Market = Annotated[NewMorphoMarket, BeforeValidator(_or_empty, json_schema_input_type=NewMorphoMarket | None)]


class NewVault(Model):
    """A MetaMorpho vault over markets that lend the same token."""

    caps: Annotated[dict[str, NotNegative], Field(min_length=1)]
    """Most that the vault may lend to each market, in whole tokens: {wstETH/USDC.86: 10_000_000}."""
    queue: list[str] = Field(default_factory=list)
    """Markets that deposits go to, and withdrawals come from, in order; by default all of `caps` by name."""
    deposits: NotNegative = Decimal(0)
    """What its depositors have deposited when the run begins, in whole tokens."""
    fee: Share = Decimal(0)
    """Share of the interest that its owner keeps, at most 50%."""

    @model_validator(mode="after")
    def _makes_sense(self) -> NewVault:
        if self.deposits > sum(self.caps.values()):
            raise fault(f"deposits {self.deposits}, and its caps allow {sum(self.caps.values())}")
        if self.queue and sorted(self.queue) != sorted(self.caps):
            raise fault(f"has a queue of {', '.join(self.queue)}, and caps for {', '.join(self.caps)}")
        return self

    @property
    def ordered_caps(self) -> dict[str, Decimal]:
        """Caps in the order of the queue."""
        return {name: self.caps[name] for name in self.queue or sorted(self.caps)}


class NewMorpho(Model):
    """Morpho Blue with its markets and vaults, for agents with `protocol: morpho`."""

    markets: Annotated[dict[str, _Market], Field(min_length=1)]
    """Markets by name: {wstETH/USDC.86: {supplied: 1_000_000}}. Oracles divide the dollar prices of both tokens.
    A collateral may be a PT of `pendle_markets`."""
    vaults: dict[str, NewVault] = Field(default_factory=dict)
    """Vaults by the symbol of their shares: {steakUSDC: {caps: {wstETH/USDC.86: 10_000_000}, deposits: 5_000_000}}."""

    @model_validator(mode="after")
    def _makes_sense(self) -> NewMorpho:
        for name in self.markets:
            if MarketName.parse(name) is None:
                raise fault(f"names a market '{name}', which is not the name of a Morpho market: {EXAMPLE}")
        for symbol, vault in self.vaults.items():
            for name in vault.caps:
                if name not in self.markets:
                    near = did_you_mean(name, self.markets) or f"there are: {', '.join(self.markets)}"
                    raise fault(f"has a vault '{symbol}' with a cap for '{name}', which is not a market here; {near}")
        return self


def market_fault(market: str) -> str | None:
    """Return what is wrong with the `market` of an agent on Morpho; None if nothing is."""
    if MarketName.parse(market) is None:
        return f"is on Morpho in the market '{market}', which is not the name of one: {EXAMPLE}"
    return None
