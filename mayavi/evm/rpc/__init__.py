"""JSON-RPC client, cache and remote state of a chain."""
