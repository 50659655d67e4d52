"""Background deposits and debts on Aave, held by one account.

The amounts come from the table. They are assumptions (see docs/concepts/replica.md) that make borrowing possible and
rates plausible; no real position is reproduced.
"""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.deploy.tokens import fund
from mayavi.worlds.tables.chain import Aave, Token

VARIABLE_RATE = 2


def fill_aave(
    deployment: Deployment, aave: Aave, tokens: Mapping[str, Token], *, holder: bytes, prefix: str = "AaveV3"
) -> None:
    """Supply to and then borrow from every reserve as `holder`."""
    pool = deployment[f"{prefix}.Pool"]
    for reserve in aave.reserves:
        amount = reserve.supplied * 10**reserve.decimals
        if amount:
            fund(deployment, reserve.symbol, tokens[reserve.symbol], holder, amount)
            deployment.send(reserve.symbol, "approve(address,uint256)", pool, amount, sender=holder)
            asset = deployment[reserve.symbol]
            deployment.send(pool, "supply(address,uint256,address,uint16)", asset, amount, holder, 0, sender=holder)
    for reserve in aave.reserves:
        amount = reserve.borrowed * 10**reserve.decimals
        if amount:
            asset = deployment[reserve.symbol]
            deployment.send(
                pool,
                "borrow(address,uint256,uint256,uint16,address)",
                asset,
                amount,
                VARIABLE_RATE,
                0,
                holder,
                sender=holder,
            )
