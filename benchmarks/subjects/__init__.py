"""What benchmarks measure: positions, populations, stored runs, environments and services."""
