"""Training runs on disk: folder, checkpoints, copies between machines, and the catalogue of a models folder."""
