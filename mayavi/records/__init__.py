"""Rows of a run by column, which the kernel encodes: market figures for the digest and the store, and Parquet files."""
