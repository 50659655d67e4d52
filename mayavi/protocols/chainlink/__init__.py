"""Chainlink-compatible price feeds."""
