"""Hashes of the EVM, computed by the kernel."""

from __future__ import annotations

from mayavi._kernel import checksum_address as checksum_address
from mayavi._kernel import create_address as create_address
from mayavi._kernel import keccak256 as keccak256


def keccak_text(text: str) -> bytes:
    """Keccak-256 of `text` in UTF-8, as Solidity hashes signatures and role names."""
    return keccak256(text.encode())


def selector_of(signature: str) -> bytes:
    """Four-byte selector of a canonical signature such as `transfer(address,uint256)`."""
    return keccak256(signature.encode("ascii"))[:4]
