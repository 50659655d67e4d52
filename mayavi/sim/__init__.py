"""The simulation: a world, a scheduler that lets agents act on it block by block, and what is kept of it."""
