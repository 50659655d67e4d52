"""Run a scenario with many seeds at every point of a grid."""
