"""Storage layouts of known contracts: names of slots, and the fields packed into their words."""
