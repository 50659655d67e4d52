"""Backtest portfolio policies and rules, with fees and out of sample."""
