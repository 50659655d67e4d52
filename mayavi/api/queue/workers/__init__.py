"""Worker processes and the supervisor that hands them jobs."""
