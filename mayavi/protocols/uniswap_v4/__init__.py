"""Uniswap V4 pools, swaps and positions."""
