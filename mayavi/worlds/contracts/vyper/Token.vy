# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title ERC-20 token of a replica
@notice Stands at the address of a real token with its name, symbol and decimals. EIP-2612 permit; the minter may mint.
"""
import ledger

initializes: ledger

exports: (
    ledger.balanceOf,
    ledger.allowance,
    ledger.totalSupply,
    ledger.nonces,
    ledger.minter,
    ledger.name,
    ledger.symbol,
    ledger.version,
    ledger.decimals,
    ledger.DOMAIN_SEPARATOR,
    ledger.permit,
    ledger.mint,
    ledger.set_minter,
)


@deploy
def __init__(name: String[64], symbol: String[32], decimals: uint8, version: String[8], minter: address):
    ledger.__init__(name, symbol, decimals, version, minter)


@external
def transfer(receiver: address, amount: uint256) -> bool:
    ledger._transfer(msg.sender, receiver, amount)
    return True


@external
def transferFrom(sender: address, receiver: address, amount: uint256) -> bool:
    ledger._spend(sender, msg.sender, amount)
    ledger._transfer(sender, receiver, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    ledger._approve(msg.sender, spender, amount)
    return True
