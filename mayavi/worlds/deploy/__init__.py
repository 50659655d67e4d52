"""Deploy each protocol's contracts on a replica."""
