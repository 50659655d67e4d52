"""How benchmarks measure and report."""
