"""Recorded rollouts: play episodes, write them to Parquet, and read them for offline training."""
