"""Routes between tokens through the labelled Uniswap V3 pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.protocols.tokens import Erc20
from mayavi.scenarios.models.config import pool_tokens

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.uniswap.pool import UniswapV3Pool
    from mayavi.protocols.uniswap.route import RouteLike

UNISWAP_V3 = "UniswapV3.Factory"
_BRIDGES = ("WETH", "USDC", "WMATIC", "WAVAX")


def route_between(fork: Fork, token: str, other: str) -> RouteLike | None:
    """Return a route through the deepest direct pool, else through two pools and a bridge token, else None."""
    direct = deepest_pool(fork, token, other)
    if direct is not None:
        return token, other, direct
    for bridge in _BRIDGES:
        if bridge in (token, other) or bridge not in fork.labels:
            continue
        first, second = deepest_pool(fork, token, bridge), deepest_pool(fork, bridge, other)
        if first is not None and second is not None:
            return token, first, bridge, second, other
    return None


def deepest_pool(fork: Fork, token: str, other: str) -> int | None:
    """Return the fee of the pool of both tokens that holds most of `other`; None if there is none."""
    return fork.read_once(("deepest pool", token, other, len(fork.labels)), lambda: _deepest(fork, token, other))


def _deepest(fork: Fork, token: str, other: str) -> int | None:
    found: list[tuple[int, int]] = []
    for label, address in fork.labels.items():
        tokens = pool_tokens(label) if label.startswith("UniswapV3.") and "/" in label else None
        if tokens and {tokens[0], tokens[1]} == {token, other}:
            held = Erc20(fork, other).balance_of(address)
            found.append((-held, tokens[2]))
    return min(found)[1] if found else None


def pools_of(fork: Fork, route: RouteLike) -> list[str]:
    """Return the names of the pools on a route: `WETH/USDC.500`."""
    from mayavi.protocols.uniswap.route import Route

    hops = {(frozenset(hop[:2]), hop[2]) for hop in Route.of(fork, route).hops}
    found = []
    for label in fork.labels:
        tokens = pool_tokens(label) if label.startswith("UniswapV3.") and "/" in label else None
        if tokens and (frozenset(map(fork.address_of, tokens[:2])), tokens[2]) in hops:
            found.append(label.removeprefix("UniswapV3."))
    return found


def pool_named(fork: Fork, name: str) -> UniswapV3Pool:
    """Return the pool called `WETH/USDC.500`; raise `UnknownName` with the nearest names."""
    from mayavi.errors import UnknownName
    from mayavi.protocols.uniswap.pool import UniswapV3Pool

    label = name if name.startswith("UniswapV3.") else f"UniswapV3.{name}"
    if label in fork.labels and "/" in label:
        return UniswapV3Pool(fork, label)
    known = [each.removeprefix("UniswapV3.") for each in fork.labels if each.startswith("UniswapV3.") and "/" in each]
    hint = f"there are: {', '.join(known)}" if known else pool_hint(fork, label.removeprefix("UniswapV3."))
    raise UnknownName.of("pool", name, known, hint)


def pool_hint(fork: Fork, name: str) -> str:
    """Say how a scenario creates a pool on this world."""
    if UNISWAP_V3 in fork.labels:
        return f"add a pool: `pools: {{{name}: {{price: …, liquidity: …}}}}`"
    return (
        "this world has no Uniswap V3; add a pool of V4 and name it in `routes`:"
        f" `uniswap_v4_pools: {{{name}: {{price: …, liquidity: …}}}}`"
    )
