"""Validation gates: each compares one claim of Mayavi with independent data."""
