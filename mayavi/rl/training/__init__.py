"""Train policies: the train function, sessions between rollouts, normalisation and validation."""
