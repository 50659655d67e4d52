"""Compound V3."""
