"""Morpho Blue, MetaMorpho vaults and the public allocator."""
