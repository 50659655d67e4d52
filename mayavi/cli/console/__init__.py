"""Console support that all commands share: output, progress, exit codes, interruption."""
