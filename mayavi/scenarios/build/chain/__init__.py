"""Create a scenario's tokens, markets, pools and contracts on the chain, and set its parameters."""
