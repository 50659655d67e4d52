# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Price adapter of a replica: a ratio times the answer of another feed
@notice Stands where Aave's synchronicity adapters stand (wstETH/ETH/USD, sDAI/DAI/USD, ...), so that the price follows
        its base feed. On mainnet the ratio is read from the token or from a second feed; here the owner sets it.
"""

interface Feed:
    def latestAnswer() -> int256: view
    def latestRoundData() -> (uint80, int256, uint256, uint256, uint80): view
    def decimals() -> uint8: view

event RatioUpdated:
    ratio: uint256

ONE: constant(int256) = 10**18

ratio: public(uint256)
owner: public(address)
description: public(String[64])
base: public(immutable(address))
decimals: public(immutable(uint8))


@deploy
def __init__(description: String[64], base_: address, ratio: uint256, owner: address):
    """
    @param ratio Units of the base asset one unit of this asset is worth, with 18 decimals.
    """
    base = base_
    decimals = staticcall Feed(base_).decimals()
    self.description = description
    self.owner = owner
    self._set_ratio(ratio)


@external
@view
def latestAnswer() -> int256:
    return self._scale(staticcall Feed(base).latestAnswer())


@external
@view
def latestRoundData() -> (uint80, int256, uint256, uint256, uint80):
    round_id: uint80 = 0
    answer: int256 = 0
    started_at: uint256 = 0
    updated_at: uint256 = 0
    answered_in: uint80 = 0
    round_id, answer, started_at, updated_at, answered_in = staticcall Feed(base).latestRoundData()
    return round_id, self._scale(answer), started_at, updated_at, answered_in


@external
def set_ratio(ratio: uint256):
    assert msg.sender == self.owner, "set_ratio: caller is not the owner"
    self._set_ratio(ratio)


@external
def set_owner(owner: address):
    assert msg.sender == self.owner, "set_owner: caller is not the owner"
    self.owner = owner


@internal
def _set_ratio(ratio: uint256):
    self.ratio = ratio
    log RatioUpdated(ratio=ratio)


@internal
@view
def _scale(answer: int256) -> int256:
    return answer * convert(self.ratio, int256) // ONE
