"""Pages of replays and incidents."""
