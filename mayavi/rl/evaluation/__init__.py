"""Evaluate policies against baselines on the same episodes."""
