"""File names inside a Stable-Baselines3 checkpoint."""

from __future__ import annotations

MODEL = "model.zip"
"""Weights and optimizer, as SB3 saves them."""
ROWS = "rows.json"
"""Episode and actions so far of every row."""
RNG = "chance.json"
"""Global random generators."""
LSTM_STATE = "memory.pt"
REPLAY_BUFFER = "replay_buffer.pkl"
