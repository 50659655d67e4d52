"""Request and response bodies of the service."""
