# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Price adapter of a replica: a principal token at a linear discount to its asset
@notice Stands where Aave's price adapters of Pendle's principal tokens stand. The discount is a yearly rate times the
        time to maturity; from maturity on the price is that of the asset. The owner sets the rate.
"""

interface Feed:
    def latestAnswer() -> int256: view
    def latestRoundData() -> (uint80, int256, uint256, uint256, uint80): view
    def decimals() -> uint8: view

event DiscountRateUpdated:
    discount_rate: uint256

ONE: constant(uint256) = 10**18
YEAR: constant(uint256) = 365 * 86400

discount_rate: public(uint256)
owner: public(address)
description: public(String[64])
base: public(immutable(address))
maturity: public(immutable(uint256))
decimals: public(immutable(uint8))


@deploy
def __init__(description: String[64], base_: address, maturity_: uint256, discount_rate: uint256, owner: address):
    """
    @param discount_rate Discount for each year to maturity, with 18 decimals.
    """
    base = base_
    maturity = maturity_
    decimals = staticcall Feed(base_).decimals()
    self.description = description
    self.owner = owner
    self._set_discount_rate(discount_rate)


@external
@view
def latestAnswer() -> int256:
    return self._discounted(staticcall Feed(base).latestAnswer())


@external
@view
def latestRoundData() -> (uint80, int256, uint256, uint256, uint80):
    round_id: uint80 = 0
    answer: int256 = 0
    started_at: uint256 = 0
    updated_at: uint256 = 0
    answered_in: uint80 = 0
    round_id, answer, started_at, updated_at, answered_in = staticcall Feed(base).latestRoundData()
    return round_id, self._discounted(answer), started_at, updated_at, answered_in


@external
@view
def current_discount() -> uint256:
    return self._discount()


@external
def set_discount_rate(discount_rate: uint256):
    assert msg.sender == self.owner, "set_discount_rate: caller is not the owner"
    self._set_discount_rate(discount_rate)


@external
def set_owner(owner: address):
    assert msg.sender == self.owner, "set_owner: caller is not the owner"
    self.owner = owner


@internal
def _set_discount_rate(discount_rate: uint256):
    self.discount_rate = discount_rate
    assert self._discount() < ONE, "set_discount_rate: nothing would be left of the price"
    log DiscountRateUpdated(discount_rate=discount_rate)


@internal
@view
def _discount() -> uint256:
    if block.timestamp >= maturity:
        return 0
    return (maturity - block.timestamp) * self.discount_rate // YEAR


@internal
@view
def _discounted(answer: int256) -> int256:
    return answer * convert(ONE - self._discount(), int256) // convert(ONE, int256)
