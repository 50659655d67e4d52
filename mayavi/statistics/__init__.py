"""Estimates with confidence intervals. NumPy only."""
