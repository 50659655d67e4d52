# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title The StableSwap invariant for any number of coins up to MAX_COINS
@notice For n coins of normalised amounts x_i, amplification A and invariant D:

            A n^n sum(x) + D = A n^n D + D^(n+1) / (n^n prod(x))

        `amp` below is A n^(n-1), which pools call A. Both unknowns are found by Newton's method on integers, from D's
        or y's upper end, until two steps differ by at most one. The order of multiplications and divisions is part of
        the result: every division rounds down.
"""

MAX_COINS: constant(uint256) = 3
MAX_STEPS: constant(uint256) = 255


@internal
@pure
def _invariant(amounts: DynArray[uint256, MAX_COINS], amp: uint256) -> uint256:
    """
    @notice D of a pool that holds `amounts`. An empty pool has none; one that lacks some coins reverts.
    """
    n: uint256 = len(amounts)
    total: uint256 = 0
    for x: uint256 in amounts:
        total += x
    if total == 0:
        return 0
    leverage: uint256 = amp * n
    d: uint256 = total
    for _: uint256 in range(MAX_STEPS):
        # D^(n+1) / (n^n prod(x)), one coin at a time so that it fits
        product: uint256 = d
        for x: uint256 in amounts:
            product = product * d // (x * n)
        before: uint256 = d
        d = (leverage * total + product * n) * d // ((leverage - 1) * d + (n + 1) * product)
        if self._settled(d, before):
            break
    return d


@internal
@pure
def _amount_of(k: uint256, amounts: DynArray[uint256, MAX_COINS], d: uint256, amp: uint256) -> uint256:
    """
    @notice How much of coin `k` a pool with invariant `d` holds, given its amounts of all others; what `amounts` says
            of `k` itself is ignored.
    """
    n: uint256 = len(amounts)
    assert k < n, "no such coin"
    leverage: uint256 = amp * n
    others: uint256 = 0
    c: uint256 = d
    for i: uint256 in range(n, bound=MAX_COINS):
        if i != k:
            others += amounts[i]
            c = c * d // (amounts[i] * n)
    c = c * d // (leverage * n)
    # The invariant is y² + (b - D) y = c in this coin's amount y.
    b: uint256 = others + d // leverage
    y: uint256 = d
    for _: uint256 in range(MAX_STEPS):
        before: uint256 = y
        y = (y * y + c) // (2 * y + b - d)
        if self._settled(y, before):
            break
    return y


@internal
@pure
def _settled(a: uint256, b: uint256) -> bool:
    return self._distance(a, b) <= 1


@internal
@pure
def _distance(a: uint256, b: uint256) -> uint256:
    return a - b if a > b else b - a
