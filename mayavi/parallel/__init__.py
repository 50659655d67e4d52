"""Run tasks in worker processes or on a Ray cluster."""
