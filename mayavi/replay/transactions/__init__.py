"""Replay single transactions: decoded trace, names, what-if."""
