"""Runs and sweeps of the queue and the store: index, lists, details, actions."""
