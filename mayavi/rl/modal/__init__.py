"""Train on Modal."""
