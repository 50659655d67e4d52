"""File names inside an RLlib checkpoint."""

from __future__ import annotations

ALGORITHM = "algorithm"
"""Folder that RLlib saves the algorithm to."""
RESUME_STATE = "standing.pkl"
