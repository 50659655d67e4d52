"""Deploy Morpho: Blue, the interest rate model and the allocator at their real addresses, then markets and vaults.

Everything is done by the protocol's own calls: the owner enables LLTVs and the model, anybody creates markets, and a
vault's owner submits caps and accepts them when the timelock has passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mayavi.evm.address import ZERO_ADDRESS, to_address
from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.morpho_contracts import MORPHO
from mayavi.worlds.tables import morpho as facts
from mayavi.worlds.tables.morpho_market import (
    ALLOCATOR_LABEL,
    BLUE_LABEL,
    IRM_LABEL,
    PREFIX,
    VAULTS,
    MarketName,
    MarketParameters,
)

TIMELOCK_SECONDS = 86_400
"""Timelock of deployed vaults: the shortest that MetaMorpho allows."""
_PARAMETERS = "(address,address,address,address,uint256)"


@dataclass(frozen=True, slots=True)
class OracleFeeds:
    """What an oracle multiplies and divides: feeds and vaults of the collateral and of the loan token."""

    base: tuple[bytes, ...] = ()
    quote: tuple[bytes, ...] = ()
    base_vault: bytes = ZERO_ADDRESS
    base_sample: int = 1
    """Shares whose conversion is asked for: a whole share of the vault; 1 without a vault."""
    quote_vault: bytes = ZERO_ADDRESS
    quote_sample: int = 1

    def arguments(self, base_decimals: int, quote_decimals: int) -> tuple[object, ...]:
        """Return the arguments of the oracle's constructor."""
        base, quote = ((*each, ZERO_ADDRESS, ZERO_ADDRESS)[:2] for each in (self.base, self.quote))
        return (
            *(self.base_vault, self.base_sample, *base, base_decimals),
            *(self.quote_vault, self.quote_sample, *quote, quote_decimals),
        )


@dataclass(frozen=True, slots=True)
class NewVault:
    """Vault to deploy. `caps` are in smallest units of the asset, by market, in the order of deposits."""

    asset: bytes
    name: str
    caps: Mapping[MarketParameters, int]
    owner: bytes
    fee_wad: int = 0
    at: str | None = None


def deploy_blue(deployment: Deployment) -> bytes:
    """Deploy Morpho Blue with its model and the public allocator; enable the model and Ethereum's LLTVs."""
    owner = to_address(facts.OWNER)
    blue = deployment.place(BLUE_LABEL, f"{MORPHO}Morpho", owner, at=facts.BLUE)
    irm = deployment.place(IRM_LABEL, f"{MORPHO}AdaptiveCurveIrm", blue, at=facts.ADAPTIVE_CURVE_IRM)
    deployment.place(ALLOCATOR_LABEL, f"{MORPHO}PublicAllocator", blue, at=facts.PUBLIC_ALLOCATOR)
    deployment.send(blue, "enableIrm(address)", irm, sender=owner)
    deployment.send(blue, "enableIrm(address)", ZERO_ADDRESS, sender=owner)
    for lltv in facts.LLTVS_WAD:
        deployment.send(blue, "enableLltv(uint256)", lltv, sender=owner)
    return blue


def deploy_market(
    deployment: Deployment, name: MarketName, tokens: tuple[bytes, bytes], feeds: OracleFeeds, *, at: str | None = None
) -> MarketParameters:
    """Deploy an oracle, at `at` if that is free, and create its market, labelled `Morpho.<name>`.

    `tokens` are collateral and loan token. An LLTV that is not enabled yet is enabled by the owner.
    """
    collateral, loan = tokens
    decimals = [deployment.view(token, "decimals()(uint8)") for token in tokens]
    label, blue = f"{PREFIX}{name}", deployment[BLUE_LABEL]
    there = next((place for place in deployment.labels.values() if at and place == to_address(at)), None)
    if there is None:
        deployment.place(label, "MorphoOracle", *feeds.arguments(*decimals), at=at)
    else:  # two markets of the same oracle
        deployment.label(label, there)
    parameters = MarketParameters(loan, collateral, deployment[label], deployment[IRM_LABEL], name.lltv_wad)
    if not deployment.view(blue, "isLltvEnabled(uint256)(bool)", name.lltv_wad):
        owner = deployment.view(blue, "owner()(address)")
        deployment.send(blue, "enableLltv(uint256)", name.lltv_wad, sender=owner)
    deployment.send(blue, f"createMarket({_PARAMETERS})", parameters)
    return parameters


def deploy_vault(deployment: Deployment, symbol: str, vault: NewVault) -> bytes:
    """Deploy a MetaMorpho vault, labelled `MetaMorpho.<symbol>`, and submit its caps.

    `open_vault` accepts them, a day later: that is the shortest timelock.
    """
    label, blue = f"{VAULTS}{symbol}", deployment[BLUE_LABEL]
    arguments = vault.owner, blue, TIMELOCK_SECONDS, vault.asset, vault.name, symbol
    address = deployment.place(label, f"{MORPHO}MetaMorpho", *arguments, at=vault.at)
    for parameters, cap in vault.caps.items():
        deployment.send(address, f"submitCap({_PARAMETERS},uint256)", parameters, cap, sender=vault.owner)
    return address


def open_vault(deployment: Deployment, symbol: str, vault: NewVault) -> None:
    """Accept the caps of a vault, and set its queue of deposits, allocator and fee."""
    address = deployment[f"{VAULTS}{symbol}"]
    for parameters in vault.caps:
        deployment.send(address, f"acceptCap({_PARAMETERS})", parameters, sender=vault.owner)
    ids = [parameters.id for parameters in vault.caps]
    deployment.send(address, "setSupplyQueue(bytes32[])", ids, sender=vault.owner)
    deployment.send(address, "setIsAllocator(address,bool)", deployment[ALLOCATOR_LABEL], True, sender=vault.owner)
    if vault.fee_wad:
        deployment.send(address, "setFeeRecipient(address)", vault.owner, sender=vault.owner)
        deployment.send(address, "setFee(uint256)", vault.fee_wad, sender=vault.owner)
