"""Scenarios: a market described in YAML, and the factory that makes a simulation of it. The only place YAML lives."""
