# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title ERC-20 token of a replica that returns nothing, like USDT
@notice `transfer`, `transferFrom` and `approve` return no data, and a non-zero allowance must be set to zero before it
        is changed: callers that expect a boolean or a plain `approve` fail here as they fail on mainnet.
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
def transfer(receiver: address, amount: uint256):
    ledger._transfer(msg.sender, receiver, amount)


@external
def transferFrom(sender: address, receiver: address, amount: uint256):
    ledger._spend(sender, msg.sender, amount)
    ledger._transfer(sender, receiver, amount)


@external
def approve(spender: address, amount: uint256):
    assert amount == 0 or ledger.allowance[msg.sender][spender] == 0, "approve: reset the allowance to zero first"
    ledger._approve(msg.sender, spender, amount)
