# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Gauge controller of Pendle without incentives
@notice Markets name the PENDLE token by it and ask it for rewards, of which there are none.
"""

pendle: public(immutable(address))


@deploy
def __init__(pendle_: address):
    pendle = pendle_


@external
def redeemMarketReward():
    pass
