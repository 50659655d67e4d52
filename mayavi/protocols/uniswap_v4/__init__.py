"""Uniswap V4 adapter."""
