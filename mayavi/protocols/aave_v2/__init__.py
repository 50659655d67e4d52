"""Aave V2."""
