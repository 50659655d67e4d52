"""Measure how often every kind of interval covers the truth, for `docs/concepts/intervals.md`."""
