"""Run scenarios, once or as a sweep, and summarise the results."""
