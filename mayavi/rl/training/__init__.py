"""Training runs: the train function, sessions, checkpoints and run folders."""
