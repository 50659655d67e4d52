"""Create the tokens and pools that a scenario adds to the chain."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import BadScenario, UsageError
from mayavi.evm.address import checksum
from mayavi.evm.hashing import keccak256
from mayavi.scenarios.build.chain.routes import UNISWAP_V3, pool_hint
from mayavi.scenarios.build.pricing import pool_price
from mayavi.scenarios.models.config import NewPool, NewToken, pool_tokens

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.tokens import Erc20
    from mayavi.protocols.uniswap.pool import UniswapV3Pool

ISSUER = "issuer"
"""Account that first holds the whole supply of a new token."""


class Liquidity(NamedTuple):
    """A liquidity position: most of each token, between two prices (None: all prices)."""

    provider: str
    token: str
    """Token whose price `low` and `high` are."""
    amounts: Mapping[str, Decimal]
    low: Decimal | None
    high: Decimal | None


def account(name: str) -> bytes:
    """Return the address of a name, as `World.address` does."""
    return keccak256(b"mayavi account " + name.encode())[12:]


def create_token(fork: Fork, symbol: str, token: NewToken) -> bytes:
    """Deploy an ERC-20 token and mint its supply to the issuer."""
    from mayavi.worlds.artifacts import ArtifactStore

    if symbol in fork.labels:
        raise UsageError(f"there is a token '{symbol}' on this chain already", "give the new one another name")
    issuer, address = account(ISSUER), account(f"token {symbol}")
    artifact = ArtifactStore().get("Token")
    fork.create_at(address, artifact.initcode([symbol, symbol, token.decimals, "1", issuer]), sender=issuer)
    supply = units(token.supply, token.decimals)
    fork.contract(address, artifact.abi).mint(issuer, supply, sender=issuer)
    fork.labels[symbol] = checksum(address)
    return address


def create_pool(fork: Fork, name: str, pool: NewPool) -> UniswapV3Pool:
    """Create a Uniswap V3 pool with the scenario's liquidity."""
    if UNISWAP_V3 not in fork.labels:
        raise BadScenario(f"pools.{name} cannot be created: no Uniswap V3 is here", pool_hint(fork, name))
    low, high = pool.range or (None, None)
    amounts = {symbol: amount * pool.liquidity_factor for symbol, amount in pool.liquidity.items()}
    created = open_pool(fork, name, pool_price(fork, name, pool.price))
    provide(fork, created, Liquidity(f"provider of {name}", name.partition("/")[0], amounts, low, high))
    return created


def open_pool(fork: Fork, name: str, price: Decimal) -> UniswapV3Pool:
    """Create a Uniswap V3 pool without liquidity."""
    from mayavi.protocols.uniswap.creation import create_pool as create

    tokens = pool_tokens(name)
    if tokens is None:
        raise BadScenario(f"'{name}' is not a pool name of the form TOKEN/OTHER.FEE", "such as NOVA/USDC.3000")
    return create(fork, tokens[0], tokens[1], tokens[2], price, sender=account(ISSUER))


def provide(fork: Fork, pool: UniswapV3Pool, liquidity: Liquidity) -> int:
    """Add liquidity to a pool and return its amount. New tokens come from the issuer, others are dealt."""
    from mayavi.protocols.tokens import Erc20
    from mayavi.protocols.uniswap.market import UniswapV3
    from mayavi.protocols.uniswap.pool import MAX_TICK

    provider = account(liquidity.provider)
    wanted: dict[str | bytes, int] = {}
    for symbol, amount in liquidity.amounts.items():
        token = Erc20(fork, symbol)
        wanted[symbol] = units(amount, token.decimals)
        give(fork, symbol, provider, wanted[symbol])
    if liquidity.low is None or liquidity.high is None:
        edge = MAX_TICK // pool.tick_spacing * pool.tick_spacing
        ticks = -edge, edge
    else:
        ticks = pool.tick_range(liquidity.low, liquidity.high, liquidity.token)
    minted = UniswapV3(fork).mint(pool, *ticks, wanted, sender=provider)
    return minted.liquidity


def give(fork: Fork, symbol: str, holder: bytes, amount: int) -> None:
    """Give `holder` `amount` more: from the issuer for a token of the scenario, otherwise dealt."""
    from mayavi.protocols.tokens import Erc20

    token, issuer = Erc20(fork, symbol), account(ISSUER)
    if not amount:
        return
    if token.address == account(f"token {symbol}"):
        left = token.balance_of(issuer)
        if left < amount:
            raise _too_little(token, amount, left)
        token.transfer(holder, amount, sender=issuer)
    else:
        fork.deal(symbol, holder, token.balance_of(holder) + amount)


def reserve(fork: Fork, symbol: str, amount: int) -> None:
    """Take `amount` of a scenario's token from the issuer, for an agent that is dealt as much later."""
    from mayavi.protocols.tokens import Erc20

    token, issuer = Erc20(fork, symbol), account(ISSUER)
    if token.address == account(f"token {symbol}"):
        left = token.balance_of(issuer)
        if left < amount:
            raise _too_little(token, amount, left)
        fork.deal(symbol, issuer, left - amount)


def _too_little(token: Erc20, amount: int, left: int) -> BadScenario:
    return BadScenario(
        f"{token.text(amount)} are given out, and {token.text(left)} of the supply are left",
        f"raise tokens.{token.symbol}.supply",
    )


def units(amount: Decimal, decimals: int) -> int:
    """Convert whole tokens to smallest units, rounded down."""
    exact = Fraction(amount) * int(10**decimals)
    return exact.numerator // exact.denominator
