"""Solidity ABI: types, codecs, contract interfaces and revert reasons."""
