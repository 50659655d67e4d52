"""Price and rate processes and historical series: NumPy only, no chain."""
