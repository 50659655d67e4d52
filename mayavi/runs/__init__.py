"""Run ids and bundles, shared by simulations and trainings."""
