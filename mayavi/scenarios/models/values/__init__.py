"""Values of a scenario file: quantities, distributions, mixes, and how they are written."""
