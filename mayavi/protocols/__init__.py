"""Adapters over `Fork`: a protocol in its own words, with amounts as exact integers. They know the contracts' selectors."""
