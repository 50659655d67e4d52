"""Shapes of reports: what a page says first depends on what happened in the run."""
