"""Code that runs inside a peer's own environment, with only the peer and the standard library."""
