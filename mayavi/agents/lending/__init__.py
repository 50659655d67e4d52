"""Agents on lending markets: borrowers, populations of borrowers and liquidators."""
