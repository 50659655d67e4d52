"""The facts a replica is built from: one JSON table a chain, and the types that read it."""
