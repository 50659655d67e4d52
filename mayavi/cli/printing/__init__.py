"""Results of commands as tables and sentences."""
