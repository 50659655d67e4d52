"""Pages of trainings and evaluations."""
