"""Agents that move price feeds, and the reference prices other agents look up."""
