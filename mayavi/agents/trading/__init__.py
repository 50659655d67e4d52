"""Trading agents: arbitrageurs, holders, sellers of vested tokens, noise and recorded trades."""
