"""Remarks shared by several chains."""

from __future__ import annotations

ASSUMED_PRICES = {
    "what": "prices",
    "from": "Ethereum's replica; what it has no price of is assumed to the precision written in tools/facts/prices.py",
    "date": "2024-01-13",
}
UNISWAP_SOURCE = {
    "what": "Uniswap V3 addresses",
    "from": "Uniswap's deployment documentation; pools follow from the factory",
}

NATIVE_USDC = "'USDC' is Circle's native one, which Aave's address book calls USDCn; the bridged one is 'USDC.e'"

# Of every chain but Ethereum.
NOT_ETHEREUM = {
    "other prices": "as on Ethereum's replica: those not tied to ETH, BTC or DAI are of 31 October 2023, and those "
    "only this chain has are round numbers of the day. Bridged tokens cost what the original costs",
    "stable borrowing": "off in every reserve, as it has been on all markets since November 2023",
    "Uniswap owner": "the factory belongs to 'Mayavi.Deployer'",
    "permit": "all tokens but the wrapped native one have EIP-2612 permit, whether or not the real one has",
}

# Of every rollup besides.
ROLLUP = {
    **NOT_ETHEREUM,
    "fees": "no fee for data posted to Ethereum, in any form: neither charged nor in the gas used",
    "sequencer": "no sequencer, uptime feed or price oracle sentinel: Aave acts as if the sequencer never stopped",
    "system contracts": "no predeployed contracts of the rollup, no messages to or from Ethereum",
}
