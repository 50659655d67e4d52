"""Keys, sessions, limits and headers."""
