"""Train with Stable-Baselines3."""
