"""Named incidents: recorded facts, scenarios that repeat them, and recorded against simulated figures."""
