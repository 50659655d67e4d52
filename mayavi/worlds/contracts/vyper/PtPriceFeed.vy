# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Price feed of a PT: the price of its asset times the PT's rate in that asset
@notice The rate comes from an oracle of Pendle with 18 decimals, such as an average of the market's implied rate or a
        linear discount; the price from a feed like Chainlink's, whose decimals, round and time this one has too.
"""

interface Feed:
    def latestAnswer() -> int256: view
    def latestRoundData() -> (uint80, int256, uint256, uint256, uint80): view
    def decimals() -> uint8: view

ONE: constant(int256) = 10**18

description: public(String[64])
base: public(immutable(address))
rate_oracle: public(immutable(address))
decimals: public(immutable(uint8))


@deploy
def __init__(description: String[64], base_: address, rate_oracle_: address):
    base = base_
    rate_oracle = rate_oracle_
    decimals = staticcall Feed(base_).decimals()
    self.description = description


@external
@view
def latestAnswer() -> int256:
    return self._scaled(staticcall Feed(base).latestAnswer())


@external
@view
def latestRoundData() -> (uint80, int256, uint256, uint256, uint80):
    round_id: uint80 = 0
    answer: int256 = 0
    started_at: uint256 = 0
    updated_at: uint256 = 0
    answered_in: uint80 = 0
    round_id, answer, started_at, updated_at, answered_in = staticcall Feed(base).latestRoundData()
    return round_id, self._scaled(answer), started_at, updated_at, answered_in


@internal
@view
def _scaled(answer: int256) -> int256:
    round_id: uint80 = 0
    rate: int256 = 0
    started_at: uint256 = 0
    updated_at: uint256 = 0
    answered_in: uint80 = 0
    round_id, rate, started_at, updated_at, answered_in = staticcall Feed(rate_oracle).latestRoundData()
    return answer * rate // ONE
