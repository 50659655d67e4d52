"""Replay of recorded chain history, compared with the chain's own results."""
