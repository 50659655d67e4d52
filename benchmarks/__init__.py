"""Benchmarks against bare revm and peer libraries: `make bench` or `python -m benchmarks`. See docs/reference/benchmarks.md."""
