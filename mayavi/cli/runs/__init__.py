"""`mayavi runs`: commands about stored runs."""
