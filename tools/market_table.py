"""Build the table of a chain from its facts, the address book and the prices of Ethereum's table."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import Any

from facts.forms import Adapter, ChainFacts, rows
from facts.prices import ASSUMED_USD
from lending_section import make_lending, token_names
from npm_packages import Packages
from uniswap_section import WAD, make_uniswap, price_of

_ADDRESSES = {
    "provider": "POOL_ADDRESSES_PROVIDER",
    "pool": "POOL",
    "pool_configurator": "POOL_CONFIGURATOR",
    "oracle": "ORACLE",
    "acl_manager": "ACL_MANAGER",
    "acl_admin": "ACL_ADMIN",
    "registry": "POOL_ADDRESSES_PROVIDER_REGISTRY",
    "treasury": "COLLECTOR",
    "l2_encoder": "L2_ENCODER",
}


def make_chain(facts: ChainFacts, packages: Packages, ethereum_feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Build the table."""
    feeds = make_feeds(facts, packages, ethereum_feeds)
    tokens = make_tokens(facts, packages)
    return {
        "chain": facts.chain,
        "title": facts.title,
        "chain_id": facts.chain_id,
        "hardfork": facts.hardfork,
        "native": facts.native,
        "wrapped_native": facts.wrapped_native,
        "block": facts.block,
        "sources": facts.sources,
        "differences": [{"subject": subject, "text": text} for subject, text in facts.differences.items()],
        "tokens": tokens,
        "feeds": feeds,
        "aave": make_aave(facts, packages, tokens),
        "uniswap": make_uniswap(facts.uniswap, facts.pools, tokens, market_prices(facts, feeds, ethereum_feeds)),
    }


def make_tokens(facts: ChainFacts, packages: Packages) -> dict[str, Any]:
    """Every reserve's underlying token."""
    book, decimals = packages.book(f"AaveV3{facts.book}"), packages.book_decimals(f"AaveV3{facts.book}")
    listed = packages.tokens(facts.chain_id)
    tokens: dict[str, Any] = {}
    for line in rows(facts.aave.reserves):
        symbol, address = line["symbol"], book[f"{line['book']}_UNDERLYING"]
        token = {
            "address": address,
            "name": listed[address]["name"],
            "decimals": decimals[line["book"]],
            "kind": "weth9" if symbol == facts.wrapped_native else "standard",
        }
        if symbol.startswith("USDC"):
            token["permit_version"] = "2"
        if listed[address]["symbol"] != symbol:
            token["symbol"] = listed[address]["symbol"]
        token |= facts.tokens.get(symbol, {})
        if token.get("symbol") == symbol:
            del token["symbol"]
        tokens[symbol] = token
    return tokens


def make_feeds(facts: ChainFacts, packages: Packages, ethereum_feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Chainlink's feeds, then the adapters that read them."""
    chainlink = packages.book(f"Chainlink{facts.book}")
    read_directly = [line["feed"] for line in rows(facts.aave.reserves) if line["feed"] not in facts.adapters]
    bases = [adapter.base for adapter in facts.adapters.values()]
    feeds: dict[str, Any] = {}
    for name in dict.fromkeys([*read_directly, *bases]):
        feeds[name] = {
            "address": facts.feeds.get(name) or chainlink[name.upper().replace("/", "__")],
            "description": name.upper().replace("/", " / "),
            "operator": "Chainlink",
            "decimals": 8,
            "answer": int(price_usd(name, ethereum_feeds).scaleb(8)),
        }
    for name, adapter in facts.adapters.items():
        feeds[name] = {
            "address": adapter.address,
            "description": f"{name.removesuffix('/USD')}/{adapter.base}",
            "operator": adapter.operator,
            "base": adapter.base,
            "ratio_e18": ratio_e18(name, adapter, ethereum_feeds),
        }
    return feeds


def price_usd(name: str, ethereum_feeds: Mapping[str, Any]) -> Decimal:
    """Answer of Ethereum's feed of that name, or the assumed price."""
    return ASSUMED_USD[name] if name in ASSUMED_USD else price_of(name, ethereum_feeds)


def ratio_e18(name: str, adapter: Adapter, ethereum_feeds: Mapping[str, Any]) -> int:
    """Price of one token in the asset of its base feed."""
    if adapter.ratio is not None:
        return int(adapter.ratio * WAD)
    assert ethereum_feeds[name]["base"] == adapter.base
    return int(ethereum_feeds[name]["ratio_e18"])


def make_aave(facts: ChainFacts, packages: Packages, tokens: Mapping[str, Any]) -> dict[str, Any]:
    """Aave's contracts, rate curves and reserves; token addresses must match the address book."""
    book, listed = packages.book(f"AaveV3{facts.book}"), packages.tokens(facts.chain_id)
    market_id, provider_id = packages.market(facts.deploy_market)
    addresses = {ours: book[theirs] for ours, theirs in _ADDRESSES.items() if theirs in book}
    addresses |= {ours: facts.aave.implementations[ours] for ours in _DATED}
    names = {}
    for line in rows(facts.aave.reserves):
        a_token = listed[book[f"{line['book']}_A_TOKEN"]]
        names[line["symbol"]] = token_names(a_token["name"], a_token["symbol"], a_token["name"].split()[-1])
    section = make_lending(
        facts.aave,
        identity={
            "market_id": market_id,
            "provider_id": provider_id,
            "pool_contract": facts.pool_contract,
            "flash_loan_premium_bps": packages.flash_loan_premium_bps,
        },
        addresses=addresses,
        names=names,
        decimals={symbol: token["decimals"] for symbol, token in tokens.items()},
    )
    for line, reserve in zip(rows(facts.aave.reserves), section["reserves"], strict=True):
        assert reserve["a_token"] == book[f"{line['book']}_A_TOKEN"], line["symbol"]
        assert reserve["variable_debt_token"] == book[f"{line['book']}_V_TOKEN"], line["symbol"]
    return section


_DATED = ("pool_implementation", "pool_configurator_implementation", "data_provider")


def market_prices(facts: ChainFacts, feeds: Mapping[str, Any], ethereum_feeds: Mapping[str, Any]) -> dict[str, Decimal]:
    """Market price in USD of each reserve's token."""
    prices = {line["symbol"]: price_of(line["feed"], feeds) for line in rows(facts.aave.reserves)}
    if "wstETH" in prices:  # the market has it at the price of stETH, Aave's oracle at its rate alone
        with localcontext(prec=60):
            prices["wstETH"] = prices["wstETH"] * ethereum_feeds["stETH/ETH"]["answer"] / WAD
    return prices
