"""Scenarios: simulations described in YAML. The only package that reads YAML."""
