"""Adapters over `Fork`: each protocol in its own words. They know contracts and selectors, and keep no state."""
