"""Uniswap V3."""
