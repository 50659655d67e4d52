"""Facts of each chain that no package publishes, with their sources."""
