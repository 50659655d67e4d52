"""`mayavi train`, `eval` and `trainings`: reinforcement learning on the command line."""
