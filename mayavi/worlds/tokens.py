"""The tokens of a replica: WETH9 itself, and our own ERC-20 at the address of every other token."""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.evm.units import ETHER
from mayavi.worlds.deployment import Deployment
from mayavi.worlds.table import Token


def deploy_tokens(deployment: Deployment, tokens: Mapping[str, Token]) -> None:
    """Place every token, labelled by its symbol; the deployer may mint them."""
    for symbol, token in tokens.items():
        if token.kind == "weth9":
            deployment.place(symbol, "WETH9", at=token.address)
            continue
        contract = "SilentToken" if token.kind == "silent" else "Token"
        deployment.place(
            symbol,
            contract,
            token.name,
            symbol,
            token.decimals,
            token.permit_version,
            deployment.deployer,
            at=token.address,
        )


def fund(deployment: Deployment, symbol: str, token: Token, holder: bytes, amount: int) -> None:
    """Give `holder` that much of a token out of nothing: minted, or wrapped from ether made for it."""
    if token.kind == "weth9":
        deployment.chain.set_balance(holder, amount + ETHER)  # one ether stays, where fees are charged
        deployment.send(symbol, "deposit()", sender=holder, value=amount)
    else:
        deployment.send(symbol, "mint(address,uint256)", holder, amount)
