"""`mayavi validate`: the command that runs all gates, and a command for each gate."""
