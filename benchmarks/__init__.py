"""Benchmarks against bare revm and peers: `make bench`, or `python -m benchmarks`. See docs/reference/benchmarks.md."""
