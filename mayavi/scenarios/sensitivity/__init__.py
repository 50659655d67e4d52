"""Move each assumption of a scenario alone and rank the effects."""
