# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Bounds of the numbers of a Comet market
@notice A module, not a contract. What does not fit is refused with the same data as on mainnet: by a named error where
        a number is narrowed, by Solidity's Panic where arithmetic fails.
"""

OVERFLOW: constant(uint256) = 17
DIVISION_BY_ZERO: constant(uint256) = 18


@internal
@pure
def _panic(code: uint256):
    raw_revert(abi_encode(code, method_id=method_id("Panic(uint256)")))


@internal
@pure
def _times(a: uint256, b: uint256) -> uint256:
    product: uint256 = unsafe_mul(a, b)
    if a != 0 and unsafe_div(product, a) != b:
        self._panic(OVERFLOW)
    return product


@internal
@pure
def _over(a: uint256, b: uint256) -> uint256:
    if b == 0:
        self._panic(DIVISION_BY_ZERO)
    return unsafe_div(a, b)


@internal
@pure
def _minus(a: uint256, b: uint256) -> uint256:
    if b > a:
        self._panic(OVERFLOW)
    return unsafe_sub(a, b)


@internal
@pure
def _to_64(a: uint256) -> uint256:
    if a >> 64 != 0:
        raw_revert(method_id("InvalidUInt64()"))
    return a


@internal
@pure
def _plus_64(a: uint256, b: uint256) -> uint256:
    total: uint256 = a + self._to_64(b)
    if total >> 64 != 0:
        self._panic(OVERFLOW)
    return total


@internal
@pure
def _plus_signed(a: int256, b: int256) -> int256:
    total: int256 = unsafe_add(a, b)
    if (b >= 0) != (total >= a):
        self._panic(OVERFLOW)
    return total


@internal
@pure
def _to_104(a: uint256) -> uint256:
    if a >> 104 != 0:
        self._panic(OVERFLOW)
    return a


@internal
@pure
def _to_128(a: uint256) -> uint256:
    if a >> 128 != 0:
        raw_revert(method_id("InvalidUInt128()"))
    return a


@internal
@pure
def _to_signed_104(a: uint256) -> int256:
    if a >> 104 != 0:
        raw_revert(method_id("InvalidUInt104()"))
    if a >> 103 != 0:
        raw_revert(method_id("InvalidInt104()"))
    return convert(a, int256)


@internal
@pure
def _to_signed(a: uint256) -> int256:
    if a >> 255 != 0:
        raw_revert(method_id("InvalidInt256()"))
    return convert(a, int256)
