# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title LP token of a StableSwap pool
@notice An ERC-20 with 18 decimals. Its minter, the pool, creates shares and takes them back without an allowance.
"""
import ledger

initializes: ledger

exports: (
    ledger.balanceOf,
    ledger.allowance,
    ledger.totalSupply,
    ledger.minter,
    ledger.name,
    ledger.symbol,
    ledger.decimals,
    ledger.set_minter,
)


@deploy
def __init__(name: String[64], symbol: String[32], minter: address):
    ledger.__init__(name, symbol, 18, "1", minter)


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


@external
def mint(receiver: address, amount: uint256) -> bool:
    ledger._mint(receiver, amount)
    return True


@external
def burnFrom(holder: address, amount: uint256) -> bool:
    """
    @notice The minter takes `amount` back from `holder`.
    """
    assert msg.sender == ledger.minter, "burnFrom: caller is not the minter"
    balance: uint256 = ledger.balanceOf[holder]
    assert balance >= amount, "burnFrom: amount exceeds balance"
    ledger.balanceOf[holder] = unsafe_sub(balance, amount)
    ledger.totalSupply -= amount
    log ledger.Transfer(sender=holder, receiver=empty(address), value=amount)
    return True
