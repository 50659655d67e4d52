"""Replay blocks of a node: scan a range, capture cases, record launches."""
