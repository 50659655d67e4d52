"""Agents on lending markets: borrowers, populations of borrowers, governance."""
