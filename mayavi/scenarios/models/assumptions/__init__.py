"""Assumptions of a scenario: which numbers they are, and how far they are varied."""
