# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Rewards controller of a replica: no asset has rewards
@notice Aave's tokens tell their controller of every change of a balance; here nothing follows from it.
"""


@external
def handleAction(user: address, total_supply: uint256, user_balance: uint256):
    pass
