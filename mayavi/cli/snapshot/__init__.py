"""`mayavi snapshot`: commands about snapshot files."""
