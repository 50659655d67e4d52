"""How fast it is, against bare revm and the peers: `make bench`, or `python -m benchmarks`. See docs/reference/benchmarks.md."""
