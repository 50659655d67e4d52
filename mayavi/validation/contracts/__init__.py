"""Our own contracts in lockstep with the real bytecode that they replace."""
