"""Read runs, rows and reports for answers."""
