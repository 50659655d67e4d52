"""Pages of sweeps and sensitivity analyses."""
