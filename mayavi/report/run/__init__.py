"""Parts of the report of a single run: its rows by SQL, and the sections that shapes are put together from."""
