"""Build a simulation from a validated scenario."""
