"""Search for the best plan of an episode."""
