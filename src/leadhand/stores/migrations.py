"""The tables, as numbered steps that only go forward. Imported only when a database is not at the latest step.

A step that was released is never changed; what follows from a change of mind is another step. ``{bytes}`` is the
database's type for bytes. Times are whole microseconds since 1970, UTC; money is nano-dollars; truth is 0 or 1.
"""

from __future__ import annotations

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (  # 1: the log, its budget and what is kept beside it
        "CREATE TABLE meta (version BIGINT NOT NULL)",
        "INSERT INTO meta (version) VALUES (0)",
        # A run's row: its place in lists, its head and owner, and its budget: ceilings (NULL: none), what composing
        # the answer may always use, what was spent, what open calls may yet cost. Lists are searched in ``searched``,
        # the request in small letters, since databases do not agree on capitals beyond ASCII.
        """
        CREATE TABLE runs (
            run_id TEXT NOT NULL PRIMARY KEY,
            flow TEXT NOT NULL,
            request TEXT NOT NULL,
            searched TEXT NOT NULL,
            status TEXT NOT NULL,
            model TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            finished_at BIGINT,
            head_seq BIGINT NOT NULL,
            epoch BIGINT NOT NULL,
            owner TEXT,
            detached BIGINT NOT NULL,
            subtasks BIGINT NOT NULL,
            completed BIGINT NOT NULL,
            failed BIGINT NOT NULL,
            ceiling_requests BIGINT,
            ceiling_tokens BIGINT,
            ceiling_nanousd BIGINT,
            held_back_requests BIGINT NOT NULL,
            held_back_tokens BIGINT NOT NULL,
            held_back_nanousd BIGINT NOT NULL,
            spent_requests BIGINT NOT NULL,
            spent_tokens BIGINT NOT NULL,
            spent_nanousd BIGINT NOT NULL,
            reserved_requests BIGINT NOT NULL,
            reserved_tokens BIGINT NOT NULL,
            reserved_nanousd BIGINT NOT NULL
        )
        """,
        "CREATE INDEX runs_newest ON runs (created_at, run_id)",
        "CREATE INDEX runs_owned ON runs (owner) WHERE owner IS NOT NULL",
        """
        CREATE TABLE events (
            run_id TEXT NOT NULL,
            seq BIGINT NOT NULL,
            at BIGINT NOT NULL,
            epoch BIGINT NOT NULL,
            kind TEXT NOT NULL,
            type TEXT NOT NULL,
            version BIGINT NOT NULL,
            subject TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (run_id, seq)
        )
        """,
        # Only what ends an attempt is looked up by its subject, so only that pays for an index.
        "CREATE INDEX events_ending ON events (run_id, subject) WHERE type IN ('attempt_settled', 'attempt_lost')",
        """
        CREATE TABLE reservations (
            run_id TEXT NOT NULL,
            attempt TEXT NOT NULL,
            call_id TEXT NOT NULL,
            requests BIGINT NOT NULL,
            tokens BIGINT NOT NULL,
            nanousd BIGINT NOT NULL,
            PRIMARY KEY (run_id, attempt, call_id)
        )
        """,
        "CREATE TABLE blobs (digest TEXT NOT NULL PRIMARY KEY, body {bytes} NOT NULL)",
        """
        CREATE TABLE snapshots (
            run_id TEXT NOT NULL PRIMARY KEY,
            seq BIGINT NOT NULL,
            shape TEXT NOT NULL,
            body {bytes} NOT NULL
        )
        """,
        "CREATE TABLE gates (name TEXT NOT NULL PRIMARY KEY, free_at BIGINT NOT NULL)",
        """
        CREATE TABLE cache (
            cache_key TEXT NOT NULL PRIMARY KEY,
            value TEXT NOT NULL,
            expires_at BIGINT NOT NULL
        )
        """,
        "CREATE INDEX cache_expiry ON cache (expires_at)",
    ),
)
