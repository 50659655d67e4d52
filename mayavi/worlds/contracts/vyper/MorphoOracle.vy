# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Price of a Morpho market from Chainlink feeds and ERC-4626 vaults
@notice Stands where MorphoChainlinkOracleV2 stands on chain, and is written from its documentation. The price is that
        of one unit of the collateral in units of the loan token, times 10**36: vault conversion, two feeds of the
        collateral, divided by vault conversion and two feeds of the loan token. What is not there counts as one.
        The product is computed in 256 bits, where the contract on chain has 512: larger ones revert here.
"""

interface Feed:
    def latestRoundData() -> (uint80, int256, uint256, uint256, uint80): view
    def decimals() -> uint8: view

interface Vault:
    def convertToAssets(shares: uint256) -> uint256: view

BASE_VAULT: public(immutable(address))
BASE_VAULT_CONVERSION_SAMPLE: public(immutable(uint256))
QUOTE_VAULT: public(immutable(address))
QUOTE_VAULT_CONVERSION_SAMPLE: public(immutable(uint256))
BASE_FEED_1: public(immutable(address))
BASE_FEED_2: public(immutable(address))
QUOTE_FEED_1: public(immutable(address))
QUOTE_FEED_2: public(immutable(address))
SCALE_FACTOR: public(immutable(uint256))


@deploy
def __init__(
    base_vault: address,
    base_vault_conversion_sample: uint256,
    base_feed_1: address,
    base_feed_2: address,
    base_token_decimals: uint256,
    quote_vault: address,
    quote_vault_conversion_sample: uint256,
    quote_feed_1: address,
    quote_feed_2: address,
    quote_token_decimals: uint256,
):
    assert base_vault != empty(address) or base_vault_conversion_sample == 1, "vault conversion sample is not one"
    assert quote_vault != empty(address) or quote_vault_conversion_sample == 1, "vault conversion sample is not one"
    assert base_vault_conversion_sample != 0, "vault conversion sample is zero"
    assert quote_vault_conversion_sample != 0, "vault conversion sample is zero"
    BASE_VAULT = base_vault
    BASE_VAULT_CONVERSION_SAMPLE = base_vault_conversion_sample
    QUOTE_VAULT = quote_vault
    QUOTE_VAULT_CONVERSION_SAMPLE = quote_vault_conversion_sample
    BASE_FEED_1 = base_feed_1
    BASE_FEED_2 = base_feed_2
    QUOTE_FEED_1 = quote_feed_1
    QUOTE_FEED_2 = quote_feed_2
    quote_places: uint256 = quote_token_decimals + self._decimals(quote_feed_1) + self._decimals(quote_feed_2)
    base_places: uint256 = base_token_decimals + self._decimals(base_feed_1) + self._decimals(base_feed_2)
    SCALE_FACTOR = (
        10 ** (36 + quote_places - base_places) * quote_vault_conversion_sample // base_vault_conversion_sample
    )


@external
@view
def price() -> uint256:
    base: uint256 = self._assets(BASE_VAULT, BASE_VAULT_CONVERSION_SAMPLE)
    base = base * self._answer(BASE_FEED_1) * self._answer(BASE_FEED_2)
    quote: uint256 = self._assets(QUOTE_VAULT, QUOTE_VAULT_CONVERSION_SAMPLE)
    quote = quote * self._answer(QUOTE_FEED_1) * self._answer(QUOTE_FEED_2)
    return SCALE_FACTOR * base // quote


@internal
@view
def _decimals(feed: address) -> uint256:
    if feed == empty(address):
        return 0
    return convert(staticcall Feed(feed).decimals(), uint256)


@internal
@view
def _answer(feed: address) -> uint256:
    if feed == empty(address):
        return 1
    answer: int256 = (staticcall Feed(feed).latestRoundData())[1]
    assert answer >= 0, "negative answer"
    return convert(answer, uint256)


@internal
@view
def _assets(vault: address, shares: uint256) -> uint256:
    if vault == empty(address):
        return 1
    return staticcall Vault(vault).convertToAssets(shares)
