"""Pydantic models of a scenario file."""
