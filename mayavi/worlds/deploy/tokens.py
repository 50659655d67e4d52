"""Deploy the tokens of a replica: WETH9, and our own ERC-20 at every other token's address."""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.evm.units import ETHER
from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.tables.chain import Token

WETH9_NAME_SLOT, WETH9_SYMBOL_SLOT = 0, 1


def deploy_tokens(deployment: Deployment, tokens: Mapping[str, Token]) -> None:
    """Deploy every token, labelled by its symbol; the deployer may mint them."""
    for symbol, token in tokens.items():
        if token.kind == "weth9":
            _deploy_wrapped_native(deployment, symbol, token)
            continue
        contract = "SilentToken" if token.kind == "silent" else "Token"
        deployment.place(
            symbol,
            contract,
            token.name,
            token.symbol or symbol,
            token.decimals,
            token.permit_version,
            deployment.deployer,
            at=token.address,
        )


def _deploy_wrapped_native(deployment: Deployment, symbol: str, token: Token) -> None:
    """Deploy WETH9; for other wrapped coins, name and symbol are written into its storage."""
    address = deployment.place(symbol, "WETH9", at=token.address)
    if symbol != "WETH":
        for slot, text in ((WETH9_NAME_SLOT, token.name), (WETH9_SYMBOL_SLOT, token.symbol or symbol)):
            deployment.chain.set_storage(address, slot, _short_string(text))


def _short_string(text: str) -> int:
    """Return Solidity's storage word of a string of up to 31 bytes: its bytes, then twice its length."""
    content = text.encode()
    assert len(content) < 32
    return int.from_bytes(content.ljust(31, b"\0") + bytes([2 * len(content)]), "big")


def fund(deployment: Deployment, symbol: str, token: Token, holder: bytes, amount: int) -> None:
    """Give `holder` an amount of a token by minting it, or by wrapping newly set ether."""
    if token.kind == "weth9":
        deployment.chain.set_balance(holder, amount + ETHER)  # keeps one ether for fees
        deployment.send(symbol, "deposit()", sender=holder, value=amount)
    else:
        deployment.send(symbol, "mint(address,uint256)", holder, amount)
