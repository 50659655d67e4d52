"""Create the Morpho markets and vaults of a scenario, and the readers of their figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.scenarios.build.chain.creation import account, give, units
from mayavi.scenarios.models.chain.morpho import NewMorpho

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.sim.market_figures import Reader

_WAD = 10**18


def create_morpho(fork: Fork, model: NewMorpho) -> None:
    """Deploy Morpho with its markets and vaults; suppliers lend to markets, depositors to vaults."""
    from mayavi.protocols.morpho.creation import create_blue, create_market, create_vault

    blue = create_blue(fork)
    for name, each in sorted(model.markets.items()):
        market = blue.market(name) if name in blue.markets else create_market(fork, name)
        if amount := units(each.supplied, market.loan.decimals):
            supplier = account(f"supplier of Morpho.{name}")
            give(fork, market.loan.symbol, supplier, amount)
            market.account(supplier).supply(amount)
    for symbol, vault in sorted(model.vaults.items()):
        decimals = blue.market(next(iter(vault.caps))).loan.decimals
        caps = {name: units(cap, decimals) for name, cap in vault.ordered_caps.items()}
        created = create_vault(fork, symbol, caps, fee_wad=int(vault.fee * _WAD))
        if amount := units(vault.deposits, decimals):
            depositor = account(depositor_of(symbol))
            give(fork, created.asset.symbol, depositor, amount)
            created.deposit(amount, sender=depositor)


def depositor_of(symbol: str) -> str:
    """Return the name of the account that holds a vault's shares."""
    return f"depositors of {symbol}"


def vault_readers(fork: Fork, model: NewMorpho | None) -> list[Reader]:
    """Return the readers of all vaults of the scenario."""
    if model is None or not model.vaults:
        return []
    from mayavi.protocols.morpho.blue import MorphoBlue
    from mayavi.sim.morpho_figures import VaultFigures

    blue = MorphoBlue(fork)
    return [VaultFigures(blue.vault(symbol)) for symbol in sorted(model.vaults)]
