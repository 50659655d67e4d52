"""Common interface to Uniswap's routers: SwapRouter, or SwapRouter02 where that is the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from mayavi.errors import UnknownName
from mayavi.protocols.uniswap.route import Route

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

_ORIGINAL = [
    "exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline,"
    " uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)",
    "exactInput((bytes path, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum) params)",
    "exactOutputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline,"
    " uint256 amountOut, uint256 amountInMaximum, uint160 sqrtPriceLimitX96) params)",
    "exactOutput((bytes path, address recipient, uint256 deadline, uint256 amountOut, uint256 amountInMaximum) params)",
]
_SECOND = [
    "exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountIn,"
    " uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)",
    "exactInput((bytes path, address recipient, uint256 amountIn, uint256 amountOutMinimum) params)",
    "exactOutputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountOut,"
    " uint256 amountInMaximum, uint160 sqrtPriceLimitX96) params)",
    "exactOutput((bytes path, address recipient, uint256 amountOut, uint256 amountInMaximum) params)",
    "multicall(uint256 deadline, bytes[] data)",
]
_FOREVER = 2**256 - 1
_SECOND_BY_CHAIN = {
    8453: "0x2626664c2603336E57B271c5C0b26F421741e481",
    43114: "0xbb00FF08d01D300023C629E8fFfFcb65A5a578cE",
}
"""SwapRouter02 on Base and Avalanche, which never had the original."""


class Terms(TypedDict):
    """Terms of a swap beside its route and amounts."""

    exact_input: bool
    recipient: bytes
    deadline: int
    sqrt_price_limit_x96: int


class Router:
    """Swap router. The original takes a deadline per swap, SwapRouter02 one per multicall."""

    def __init__(self, fork: Fork) -> None:
        self.contract, self._deadline_inside = _find(fork)
        self.address = self.contract.address

    def swap(
        self,
        route: Route,
        amount: int,
        bound: int,
        *,
        exact_input: bool,
        sender: bytes,
        recipient: bytes,
        deadline: int,
        sqrt_price_limit_x96: int,
        gas: int | None = None,
    ) -> Receipt:
        """Swap `amount` in for at least `bound` out, or at most `bound` in for `amount` out."""
        name, params = self._call(route, amount, bound, exact_input, recipient, deadline, sqrt_price_limit_x96)
        swap = self.contract[name]
        receipt: Receipt
        if self._deadline_inside:
            receipt = swap(params, sender=sender, gas=gas)
        else:
            receipt = self.contract.multicall(deadline, [swap.encode(params)], sender=sender, gas=gas)
        return receipt

    def calldata(
        self,
        route: Route,
        amount: int,
        bound: int,
        *,
        recipient: bytes,
        deadline: int,
        exact_input: bool = True,
        sqrt_price_limit_x96: int = 0,
    ) -> bytes:
        """Encode a call to `address` that makes the same swap as `swap`; the caller must have approved it."""
        name, params = self._call(route, amount, bound, exact_input, recipient, deadline, sqrt_price_limit_x96)
        swap: bytes = self.contract[name].encode(params)
        if self._deadline_inside:
            return swap
        wrapped: bytes = self.contract.multicall.encode(deadline, [swap])
        return wrapped

    @staticmethod
    def returned(receipt: Receipt) -> int:
        """Return the amount that a swap returned, which is the last word of a multicall's answer too."""
        return int.from_bytes(receipt.output[-32:])

    def single_swap(self, route: Route, *, recipient: bytes) -> tuple[bytes, int, int]:
        """Encode a template of a single-pool sale at any price.

        Returns the calldata and the offsets of the amount in and of the square root price limit.
        """
        assert route.single
        name, params = self._call(route, 0, 0, True, recipient, _FOREVER, 0)
        calldata: bytes = self.contract[name].encode(params)
        return calldata, len(calldata) - 3 * 32, len(calldata) - 32

    def _call(
        self,
        route: Route,
        amount: int,
        bound: int,
        exact_input: bool,
        recipient: bytes,
        deadline: int,
        sqrt_price_limit_x96: int,
    ) -> tuple[str, tuple[object, ...]]:
        name = "exactInput" if exact_input else "exactOutput"
        when = [deadline] if self._deadline_inside else []
        if route.single:
            hop = [route.token_in, route.token_out, route.fees[0]]
            return name + "Single", (*hop, recipient, *when, amount, bound, sqrt_price_limit_x96)
        return name, (route.path(backwards=not exact_input), recipient, *when, amount, bound)


def router_names(fork: Fork) -> tuple[str | None, str | None]:
    """Return what `fork.labels` says about the routers, by which one is found."""
    return fork.labels.get("UniswapV3.SwapRouter"), fork.labels.get("UniswapV3.SwapRouter02")


def _find(fork: Fork) -> tuple[Contract, bool]:
    original, second = router_names(fork)
    candidates = (
        (original, _ORIGINAL, True),
        (second, _SECOND, False),
        (_SECOND_BY_CHAIN.get(fork.chain_id), _SECOND, False),
    )
    for address, abi, deadline_inside in candidates:
        if address is not None and fork.code(address):
            return fork.contract(address, abi), deadline_inside
    raise UnknownName(
        "this world has no router of Uniswap V3",
        'name one: fork.labels["UniswapV3.SwapRouter"] or fork.labels["UniswapV3.SwapRouter02"]',
    )
