"""File names inside a checkpoint of our own PPO."""

from __future__ import annotations

WEIGHTS = "weights.pt"
"""Weights of policy and value network, by name."""
OPTIMIZER = "optimizer.pt"
"""Moments and step count of Adam."""
ROWS = "rows.json"
"""Episode and actions so far of every row, and the returns of the last episodes."""
DEVICE_ROWS = "rows.npz"
"""The same of rows on a device, as arrays."""
RNG = "chance.json"
"""Global random generators, and that of the device."""
