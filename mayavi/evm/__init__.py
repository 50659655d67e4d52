"""The EVM in Python's hands: `Fork`, snapshots, ABI, revert reasons, JSON-RPC. The only layer that knows the kernel."""
