"""Fast starts of processes that are Mayavi's alone: commands and workers. Library use changes nothing in a process."""
