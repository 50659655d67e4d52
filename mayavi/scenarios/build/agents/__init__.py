"""Build the agents of a scenario."""
