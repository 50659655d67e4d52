"""Change parameters of Morpho's markets and vaults by the calls of their owners.

A market's collateral, oracle, model and LLTV never change: another LLTV is another market.
"""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.errors import BadArgument, CallReverted
from mayavi.evm.address import ZERO_ADDRESS
from mayavi.protocols.morpho.blue import MorphoBlue
from mayavi.protocols.morpho.creation import at_time
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import atomic

Values = Mapping[str, int]
"""Values by parameter: `fee_wad` with 18 decimals, `supply_cap` in smallest units."""


class MorphoConfigurator:
    """Parameters of Morpho's markets and vaults.

    ```python
    MorphoConfigurator(blue).set_cap("steakUSDC", "sDAI/USDC.96.5", {"supply_cap": 10**12})
    ```
    """

    def __init__(self, blue: MorphoBlue) -> None:
        self.blue, self.fork = blue, blue.fork

    def market_values(self, market: str) -> dict[str, int]:
        """Return the parameters of a market that `set_market` takes."""
        return {"fee_wad": self.blue.market(market).stored_state().fee_wad}

    def set_market(self, market: str, values: Values) -> None:
        """Set the share of interest that Morpho keeps, as its owner: at most 25 %."""
        fee, found = _only(values, "fee_wad"), self.blue.market(market)
        if fee == found.stored_state().fee_wad:
            return
        with atomic(self.fork):
            try:
                self.blue.contract.setFee(found.parameters, fee, sender=self.blue.contract.owner())
            except CallReverted as error:
                raise with_context(error, what=f"setFee of {found.name}") from None

    def vault_values(self, vault: str) -> dict[str, int]:
        """Return the parameters of a vault that `set_vault` takes."""
        return {"fee_wad": self.blue.vault(vault).fee_wad}

    def set_vault(self, vault: str, values: Values) -> None:
        """Set the share of interest that a vault keeps, as its owner: at most 50 %. It needs a recipient."""
        fee, found = _only(values, "fee_wad"), self.blue.vault(vault)
        if fee == found.fee_wad:
            return
        contract = found.contract
        owner = contract.owner()
        with atomic(self.fork):
            try:
                if contract.feeRecipient() == ZERO_ADDRESS:
                    contract.setFeeRecipient(owner, sender=owner)
                contract.setFee(fee, sender=owner)
            except CallReverted as error:
                raise with_context(error, what=f"setFee of the vault {found.name}") from None

    def cap_values(self, vault: str, market: str) -> dict[str, int]:
        """Return the cap of a market in a vault."""
        return {"supply_cap": self.blue.vault(vault).cap(market)}

    def set_cap(self, vault: str, market: str, values: Values) -> None:
        """Set the cap of a market in a vault, as its owner. For a higher one the timelock counts as passed."""
        cap, found = _only(values, "supply_cap"), self.blue.vault(vault)
        current, owner = found.cap(market), found.contract.owner()
        if cap == current:
            return
        with atomic(self.fork):
            found.submit_cap(market, cap, sender=owner)
            if cap > current:
                with at_time(self.fork, self.fork.timestamp + found.timelock):
                    found.accept_cap(market, sender=owner)


def _only(values: Values, name: str) -> int:
    for each in values:
        if each != name:
            raise BadArgument(f"'{each}' is not a parameter here", f"there is: {name}")
    return values[name]
