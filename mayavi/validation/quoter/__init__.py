"""Quotes against executed swaps, on every pool of a world."""
