"""The portfolio environment, `mayavi/RWAYield-v0`."""
