"""Files of the store: tables, the database, segments beside it, and the view over both."""
