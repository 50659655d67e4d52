"""Rules of the generations of Aave V3's code."""
