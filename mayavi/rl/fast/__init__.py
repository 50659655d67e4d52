"""Train with PPO of our own, over all rows at once."""
