"""The database file of the store, the segments beside it, and the locks between their readers and writers.

These modules import `_duckdb`, the native module of DuckDB. The package `duckdb` around it reads the metadata of
installed packages on import, which takes as long as a merge.
"""
