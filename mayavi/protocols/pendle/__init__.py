"""Pendle V2 markets."""
