"""Code of other packages: entry points, import paths, who may use them, and where the code came from."""
