"""Benchmarks of rows and trainings on a GPU."""
