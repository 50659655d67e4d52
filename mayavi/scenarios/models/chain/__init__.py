"""What a scenario adds to the chain or changes there: markets, pools, contracts, parameters."""
