"""Settings of a scenario's agents."""
