"""What runs inside a peer's own environment: the peer, the standard library, and nothing of Mayavi."""
