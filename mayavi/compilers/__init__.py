"""Compile contracts, and read what compilers wrote."""
