"""Curve StableSwap pools."""
