"""Run a scenario once, and check that it repeats exactly."""
