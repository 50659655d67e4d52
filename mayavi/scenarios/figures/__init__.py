"""Compute, format and explain the figures of a run: KPIs, accounts, limits, notes."""
