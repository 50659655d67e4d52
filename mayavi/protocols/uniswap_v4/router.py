"""Our router for Uniswap V4, deployed on first use: the pool manager trades only with contracts that it calls back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.evm.hashing import keccak256
from mayavi.protocols.uniswap_v4.pool_key import Route
from mayavi.worlds.deploy.uniswap_v4 import wrapped_coin

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract
    from mayavi.evm.fork import Fork

_KEYS = "(address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks)[] keys"
_ENDS = "address currency_in, address currency_out"
_REST = "address recipient, uint256 deadline, uint160 sqrt_price_limit_x96) payable returns (uint256, uint256)"
_ABI = [
    f"swap_exact_input({_KEYS}, {_ENDS}, uint256 amount_in, uint256 least_out, {_REST}",
    f"swap_exact_output({_KEYS}, {_ENDS}, uint256 amount_out, uint256 most_in, {_REST}",
]


def router_of(fork: Fork) -> Contract:
    """Return the router for the fork's pool manager, deployed on first use."""
    manager = fork.address_of("UniswapV4.PoolManager")
    wrapped = wrapped_coin(fork)
    place = keccak256(b"mayavi.uniswap_v4_router" + manager + wrapped)[-20:]
    if not fork.code(place):
        from mayavi.worlds.artifacts import ArtifactStore

        fork.create_at(place, ArtifactStore().get("UniswapV4Router").initcode([manager, wrapped]))
    return fork.contract(place, _ABI)


def wrapped_ends(fork: Fork, route: Route) -> tuple[bytes, bytes]:
    """Return the first and last currency of a route, with the wrapped coin for ether."""
    first, last = (each if any(each) else wrapped_coin(fork) for each in (route.currency_in, route.currency_out))
    return first, last


def sale_calldata(fork: Fork, route: Route, amount_in: int, least_out: int, recipient: bytes, deadline: int) -> bytes:
    """Encode a call to the router that sells `amount_in`, which the caller must have approved.

    Where the route begins or ends with ether, it takes and gives the wrapped coin.
    """
    ends = wrapped_ends(fork, route)
    data: bytes = router_of(fork).swap_exact_input.encode(
        list(route.keys), *ends, amount_in, least_out, recipient, deadline, 0
    )
    return data
