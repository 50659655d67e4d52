"""Amounts of swaps by Uniswap's first `Quoter`.

It makes the same swap as QuoterV2 and reports the amount alone. It does not measure gas, so that its calls are replayed
by kept paths, many times faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mayavi.errors import ExecutionError, MissingStateError
from mayavi.evm.abi.interface import Interface
from mayavi.protocols.uniswap.route import Route

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_LABEL = "UniswapV3.Quoter"
_HOP = "address tokenIn, address tokenOut, uint24 fee"
_QUOTER = Interface.of(
    [
        f"quoteExactInputSingle({_HOP}, uint256 amountIn, uint160 limit) returns (uint256)",
        f"quoteExactOutputSingle({_HOP}, uint256 amountOut, uint160 limit) returns (uint256)",
        "quoteExactInput(bytes path, uint256 amountIn) returns (uint256)",
        "quoteExactOutput(bytes path, uint256 amountOut) returns (uint256)",
        "factory() view returns (address)",
    ]
)
_FUNCTIONS = {
    (exact_input, single): _QUOTER.function(f"quoteExact{'Input' if exact_input else 'Output'}{'Single' * single}")
    for exact_input in (True, False)
    for single in (True, False)
}
"""By whether the input is exact, and whether there is one pool."""


class AmountQuoter:
    """`Quoter` of a fork."""

    def __init__(self, fork: Fork, address: bytes) -> None:
        self._fork, self._address = fork, address

    @classmethod
    def find(cls, fork: Fork, factory: bytes) -> AmountQuoter | None:
        """Return the `Quoter` of this factory's pools; None if the fork has none, or may have to fetch it."""
        if fork.fetches_missing or _LABEL not in fork.labels:
            return None
        address, function = fork.address_of(_LABEL), _QUOTER.function("factory")
        try:
            return cls(fork, address) if function.decode(fork.call(address, function.encode())) == factory else None
        except (ExecutionError, MissingStateError):  # a recorded world may lack the contract
            return None

    def amounts(self, route: Route, amounts: Sequence[int], limit: int, *, exact_input: bool) -> list[int] | None:
        """Return the other amount of each swap; None if one cannot be made."""
        function = _FUNCTIONS[exact_input, route.single]
        if route.single:
            hop = *route.tokens, route.fees[0]
            datas = [function.encode(*hop, amount, limit) for amount in amounts]
        else:
            path = route.path(backwards=not exact_input)
            datas = [function.encode(path, amount) for amount in amounts]
        outputs: Sequence[bytes | None]
        try:
            if len(datas) == 1:
                outputs = [self._fork.call(self._address, datas[0])]
            else:
                outputs = self._fork.call_many(self._address, datas, check=False)
        except ExecutionError:
            return None
        found = [int.from_bytes(output) for output in outputs if output is not None and len(output) == 32]
        return found if len(found) == len(datas) else None
