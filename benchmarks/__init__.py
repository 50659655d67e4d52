"""Benchmarks against bare revm and peer libraries: `python -m benchmarks`. See docs/reference/benchmarks.md."""
