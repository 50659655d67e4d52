"""`mayavi replay`: a file for each of its commands."""
