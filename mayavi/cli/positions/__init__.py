"""An account's position on one market, by protocol."""
