"""Readers of what reports show: sweeps, trainings, policies, replays. They return plain data and draw nothing."""
