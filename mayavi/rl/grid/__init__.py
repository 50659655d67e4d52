"""Train a grid of settings with several seeds, and choose the best settings on the validation split."""
