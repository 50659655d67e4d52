"""Settings files: strict pydantic models, YAML with positions, and validation errors for users."""
