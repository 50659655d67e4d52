"""Storage triples of worlds: invariants of every chain at any block, and values of a freshly built replica."""

from __future__ import annotations

from collections.abc import Iterator

from mayavi.errors import UnknownName
from mayavi.evm.address import to_address
from mayavi.evm.chains import chain
from mayavi.evm.hashing import keccak256
from mayavi.evm.storage_triples import Invariant, StorageTriple
from mayavi.worlds import world_names
from mayavi.worlds.deploy.feeds import feed_label
from mayavi.worlds.tables.chain import Aave, ChainTable, load_table

IMPLEMENTATION_SLOT = int.from_bytes(keccak256(b"eip1967.proxy.implementation"), "big") - 1
_LOWEST_ROOT, _HIGHEST_ROOT = 4295128739, 1461446703485210103287273052203988822378723970342
_ROOT_BITS, _TICK_BITS, _UNLOCKED_BIT = 160, 24, 240
_SLOT0, _LIQUIDITY = 0, 4
_ANSWER, _UPDATED_AT, _ROUND = 1, 2, 3  # the compiler keeps slot 0 for a lock
_WETH9 = {
    0: int.from_bytes(b"Wrapped Ether".ljust(31, b"\0") + bytes([26]), "big"),
    1: int.from_bytes(b"WETH".ljust(31, b"\0") + bytes([8]), "big"),
    2: 18,
}
"""Name, symbol and decimals in the storage of Ethereum's WETH."""


def chain_triples(chain_id: int) -> list[StorageTriple]:
    """Return the invariants that hold on this chain at any block; none for a chain without a table."""
    try:
        name = chain(chain_id).name
    except UnknownName:
        return []
    return list(_invariants(load_table(name))) if name in world_names() else []


def replica_triples(table: ChainTable) -> list[StorageTriple]:
    """Return what the table says about the storage of its replica: implementations, prices and all invariants."""
    return [*_invariants(table), *_implementations(table), *_feeds(table)]


def _invariants(table: ChainTable) -> Iterator[StorageTriple]:
    if table.chain_id == 1:
        weth = to_address(table.tokens[table.wrapped_native].address)
        for slot, value in _WETH9.items():
            yield StorageTriple(f"WETH: {('name', 'symbol', 'decimals')[slot]}", weth, slot, value)
    for pool in table.uniswap.pools:
        address, name = to_address(pool.address), f"UniswapV3.{pool.name}"
        yield StorageTriple(f"{name}: price, tick and lock", address, _SLOT0, Invariant(_SLOT0_SAYS, _sound_slot0))
        yield StorageTriple(f"{name}: liquidity", address, _LIQUIDITY, Invariant("at most 128 bits", _is_uint128))
    for name, market in table.lending_markets.items():
        for proxy, what, _ in _proxies(market):
            yield StorageTriple(
                f"{name} {what}: implementation", proxy, IMPLEMENTATION_SLOT, Invariant("an address", _is_address)
            )


def _implementations(table: ChainTable) -> Iterator[StorageTriple]:
    for name, market in table.lending_markets.items():
        for proxy, what, implementation in _proxies(market):
            expected = int.from_bytes(implementation, "big")
            yield StorageTriple(f"{name} {what}: implementation", proxy, IMPLEMENTATION_SLOT, expected)


def _proxies(market: Aave) -> Iterator[tuple[bytes, str, bytes]]:
    at = market.addresses
    yield to_address(at.pool), "Pool", to_address(at.pool_implementation)
    yield to_address(at.pool_configurator), "PoolConfigurator", to_address(at.pool_configurator_implementation)
    for reserve in market.reserves:
        yield to_address(reserve.a_token), f"a{reserve.symbol}", to_address(reserve.a_token_implementation)
        debt, behind = reserve.variable_debt_token, reserve.variable_debt_token_implementation
        yield to_address(debt), f"variableDebt{reserve.symbol}", to_address(behind)


def _feeds(table: ChainTable) -> Iterator[StorageTriple]:
    for name, feed in table.feeds.items():
        if feed.base is None:
            label, address = feed_label(name, feed), to_address(feed.address)
            yield StorageTriple(f"{label}: answer", address, _ANSWER, feed.answer % 2**256)
            yield StorageTriple(f"{label}: time", address, _UPDATED_AT, feed.updated_at or table.block.timestamp)
            yield StorageTriple(f"{label}: round", address, _ROUND, feed.round_id)


_SLOT0_SAYS = "a price in range, the tick of that price, and an open lock"


def _sound_slot0(word: int) -> bool:
    """Whether a pool's first slot is consistent, or empty because the pool does not exist yet."""
    if word == 0:
        return True
    root = word & (1 << _ROOT_BITS) - 1
    tick = word >> _ROOT_BITS & (1 << _TICK_BITS) - 1
    tick -= (1 << _TICK_BITS) if tick >> _TICK_BITS - 1 else 0
    return _LOWEST_ROOT <= root < _HIGHEST_ROOT and _is_tick_of(tick, root) and bool(word >> _UNLOCKED_BIT & 1)


def _is_tick_of(tick: int, root: int) -> bool:
    """Whether `root` lies between the square root prices of `tick` and the next tick, up to their rounding.

    A pool whose price stands exactly on a tick after a fall keeps the tick below.
    """
    from decimal import Context, Decimal, localcontext

    with localcontext(Context(prec=60)):
        base = Decimal("1.0001").sqrt()
        lower, upper = (base**each * 2**96 for each in (tick, tick + 1))
        return lower - 1 <= root <= upper + 1


def _is_uint128(word: int) -> bool:
    return word < 2**128


def _is_address(word: int) -> bool:
    return word < 2**160
