"""Tables of jobs and their events."""

JOB_TABLES = """
CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY,
    place INTEGER NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('run', 'sweep')),
    status TEXT NOT NULL,
    scenario TEXT NOT NULL,
    chain TEXT NOT NULL,
    submission TEXT NOT NULL,
    key_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    idempotency_key TEXT,
    body_hash TEXT NOT NULL DEFAULT '',
    submitted_at REAL NOT NULL,
    started_at REAL,
    ended_at REAL,
    attempts INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    phase TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '',
    cancel INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX jobs_by_status ON jobs (status, place);
CREATE UNIQUE INDEX jobs_by_idempotency_key ON jobs (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE TABLE events (
    job_id TEXT NOT NULL REFERENCES jobs(job_id),
    event_id INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    done INTEGER,
    total INTEGER,
    phase TEXT NOT NULL DEFAULT '',
    message TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, event_id)
) WITHOUT ROWID;
"""
