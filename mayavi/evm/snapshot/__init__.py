"""Snapshot files: read and write them, compare their contents, prove them against a state root."""
