"""Rows as Gymnasium, Stable-Baselines3 and RLlib environments."""
