"""Chain tables, the facts a replica is built from: one JSON file per chain, and its types."""
