"""Liquidators: which accounts they go for, what limits them, and how they act."""
