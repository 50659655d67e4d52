"""Minimal ECDSA over secp256k1, to sign a permit in a test."""

from __future__ import annotations

from mayavi.evm.hashing import keccak256

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
Point = tuple[int, int]


def address_of_key(key: int) -> bytes:
    """Return the address of the private key `key`."""
    x, y = _multiply(key, G)
    return keccak256(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[-20:]


def sign(digest: bytes, key: int) -> tuple[int, bytes, bytes]:
    """Return (v, r, s) of `digest` with a low s. The nonce is derived from key and digest."""
    nonce = int.from_bytes(keccak256(key.to_bytes(32, "big") + digest), "big") % N
    x, y = _multiply(nonce, G)
    r = x % N
    s = pow(nonce, -1, N) * (int.from_bytes(digest, "big") + r * key) % N
    odd = y & 1
    if s > N // 2:
        s, odd = N - s, odd ^ 1
    return 27 + odd, r.to_bytes(32, "big"), s.to_bytes(32, "big")


def _multiply(factor: int, point: Point) -> Point:
    result: Point | None = None
    addend = point
    while factor:
        if factor & 1:
            result = addend if result is None else _add(result, addend)
        addend = _add(addend, addend)
        factor >>= 1
    assert result is not None
    return result


def _add(a: Point, b: Point) -> Point:
    slope = 3 * a[0] ** 2 * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope**2 - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P
