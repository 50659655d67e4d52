"""Tables of keys and sessions. No secret is stored, only its SHA-256."""

KEY_TABLES = """
CREATE TABLE keys (
    key_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('read', 'full')),
    secret_hash BLOB NOT NULL,
    created_at REAL NOT NULL,
    last_used_at REAL,
    revoked_at REAL,
    requests_per_minute INTEGER NOT NULL,
    concurrent_jobs INTEGER NOT NULL,
    bootstrap INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE sessions (
    session_hash BLOB PRIMARY KEY,
    key_id TEXT NOT NULL REFERENCES keys(key_id),
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL
);
CREATE INDEX sessions_by_key ON sessions (key_id);
"""
