"""Integrity of cached state: replicas, answers of nodes, snapshots."""
