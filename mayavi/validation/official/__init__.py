"""Official Ethereum tests: chains of blocks and single transactions, with the state that they must lead to."""
