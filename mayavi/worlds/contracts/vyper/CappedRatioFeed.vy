# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Price adapter of a replica: a ratio, capped by how fast it may grow, times the answer of another feed
@notice Stands where Aave's correlated-asset price oracles stand (wstETH/ETH/USD, sUSDe/USDT/USD, ...). The cap begins
        at the ratio of a snapshot and grows evenly by a maximal rate a year; a ratio above it counts as the cap. On
        mainnet the ratio is read from the token; here the owner sets it.
"""

interface Feed:
    def latestAnswer() -> int256: view
    def latestRoundData() -> (uint80, int256, uint256, uint256, uint80): view
    def decimals() -> uint8: view

event RatioUpdated:
    ratio: uint256

event CapUpdated:
    snapshot_ratio: uint256
    snapshot_at: uint256
    growth_bps: uint256

ONE: constant(int256) = 10**18
YEAR: constant(uint256) = 365 * 86400
BASIS_POINTS: constant(uint256) = 10_000

ratio: public(uint256)
snapshot_ratio: public(uint256)
snapshot_at: public(uint256)
growth_bps: public(uint256)
owner: public(address)
description: public(String[64])
base: public(immutable(address))
decimals: public(immutable(uint8))


@deploy
def __init__(
    description: String[64],
    base_: address,
    ratio: uint256,
    snapshot_ratio: uint256,
    snapshot_at: uint256,
    growth_bps: uint256,
    owner: address,
):
    """
    @param ratio Units of the base asset one unit of this asset is worth, with 18 decimals.
    @param snapshot_ratio The cap at the time `snapshot_at`.
    @param growth_bps How much the cap grows in a year, in basis points of `snapshot_ratio`.
    """
    base = base_
    decimals = staticcall Feed(base_).decimals()
    self.description = description
    self.owner = owner
    self._set_ratio(ratio)
    self._set_cap(snapshot_ratio, snapshot_at, growth_bps)


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
@view
def max_ratio() -> uint256:
    return self._max_ratio()


@external
@view
def is_capped() -> bool:
    return self.ratio > self._max_ratio()


@external
def set_ratio(ratio: uint256):
    assert msg.sender == self.owner, "set_ratio: caller is not the owner"
    self._set_ratio(ratio)


@external
def set_cap(snapshot_ratio: uint256, snapshot_at: uint256, growth_bps: uint256):
    assert msg.sender == self.owner, "set_cap: caller is not the owner"
    self._set_cap(snapshot_ratio, snapshot_at, growth_bps)


@external
def set_owner(owner: address):
    assert msg.sender == self.owner, "set_owner: caller is not the owner"
    self.owner = owner


@internal
def _set_ratio(ratio: uint256):
    self.ratio = ratio
    log RatioUpdated(ratio=ratio)


@internal
def _set_cap(snapshot_ratio: uint256, snapshot_at: uint256, growth_bps: uint256):
    assert snapshot_at <= block.timestamp, "set_cap: the snapshot is in the future"
    self.snapshot_ratio = snapshot_ratio
    self.snapshot_at = snapshot_at
    self.growth_bps = growth_bps
    log CapUpdated(snapshot_ratio=snapshot_ratio, snapshot_at=snapshot_at, growth_bps=growth_bps)


@internal
@view
def _max_ratio() -> uint256:
    growth: uint256 = self.snapshot_ratio * self.growth_bps * (block.timestamp - self.snapshot_at)
    return self.snapshot_ratio + growth // (BASIS_POINTS * YEAR)


@internal
@view
def _scale(answer: int256) -> int256:
    return answer * convert(min(self.ratio, self._max_ratio()), int256) // ONE
