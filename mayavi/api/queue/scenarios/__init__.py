"""Scenarios of submissions: what an inline document may not hold."""
