"""The tables, as numbered steps that only go forward. Imported only when a database is not at the latest step.

A released step is never changed; corrections are further steps. ``{bytes}`` is the
database's type for bytes. Times are whole microseconds since 1970, UTC; money is nano-dollars; truth is 0 or 1.
Where a step must read the log, a part of it is a function.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from operator import itemgetter

from leadhand.domain.errors import StoreError
from leadhand.domain.listing import APPROVAL_EVENTS, OpenApproval, open_approvals_after

from .codec import entries_of_types, stored
from .connection import Connection, Table


def _fill_asking(connection: Connection) -> None:
    """Fill the table of open approvals, as it was called then, from the logs."""
    types = [event.model_fields["type"].default for event in APPROVAL_EVENTS]
    for run_id, found in groupby(entries_of_types(connection, types), key=itemgetter(0)):
        approvals: dict[str, OpenApproval] = {}
        try:
            for _, decoded in found:
                entry = decoded()
                approvals = open_approvals_after(approvals, [entry.event], entry.at)
        except StoreError:
            continue  # a run whose log is damaged cannot be resumed or answered, but must not block other runs
        rows = [(run_id, name, *approval[:4], stored(approval.expires_at)) for name, approval in approvals.items()]
        Table("asking", "run_id, approval_id, kind, tool, attempt, args_hash, expires_at").insert(connection, rows)


Part = str | Callable[[Connection], None]

MIGRATIONS: tuple[tuple[Part, ...], ...] = (
    (  # 1: the log, its budget and side tables
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
        # Only events that end an attempt are looked up by subject, so only they need an index.
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
    (  # 2: open approvals, API keys, and settings of roles
        # The fields of an approval that decide whether an event answers it; see domain/listing.py.
        """
        CREATE TABLE asking (
            run_id TEXT NOT NULL,
            approval_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            tool TEXT NOT NULL,
            attempt TEXT NOT NULL,
            args_hash TEXT NOT NULL,
            expires_at BIGINT,
            PRIMARY KEY (run_id, approval_id)
        )
        """,
        _fill_asking,
        # ``digest`` is the SHA-256 of a key, which itself is not stored; ``scopes`` are joined by commas.
        """
        CREATE TABLE api_keys (
            key_id TEXT NOT NULL PRIMARY KEY,
            name TEXT NOT NULL,
            prefix TEXT NOT NULL,
            digest TEXT NOT NULL UNIQUE,
            scopes TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            revoked_at BIGINT,
            last_used_at BIGINT
        )
        """,
        "CREATE TABLE agents (name TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL)",
    ),
    (  # 3: allowances within a run, and a plain name for the table of open approvals
        "ALTER TABLE asking RENAME TO open_approvals",
        """
        CREATE TABLE allowances (
            run_id TEXT NOT NULL,
            scope TEXT NOT NULL,
            ceiling_requests BIGINT,
            ceiling_tokens BIGINT,
            ceiling_nanousd BIGINT,
            spent_requests BIGINT NOT NULL,
            spent_tokens BIGINT NOT NULL,
            spent_nanousd BIGINT NOT NULL,
            reserved_requests BIGINT NOT NULL,
            reserved_tokens BIGINT NOT NULL,
            reserved_nanousd BIGINT NOT NULL,
            PRIMARY KEY (run_id, scope)
        )
        """,
        # The scopes that a reservation was taken from, besides the run: a JSON list, empty text for none.
        "ALTER TABLE reservations ADD COLUMN scopes TEXT NOT NULL DEFAULT ''",
    ),
    (  # 4: when a gate was last used, which shows that the clock was put back since
        "DELETE FROM gates",
        "ALTER TABLE gates ADD COLUMN used_at BIGINT NOT NULL DEFAULT 0",
    ),
    (  # 5: runs belong to keys, keys have ceilings and names of their own, budgets span runs
        "ALTER TABLE runs ADD COLUMN key_id TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX runs_of_key ON runs (key_id, created_at, run_id) WHERE key_id <> ''",
        "ALTER TABLE api_keys ADD COLUMN ceilings TEXT NOT NULL DEFAULT '{{}}'",
        # Of keys with one name, the oldest keeps it.
        """
        UPDATE api_keys SET name = name || ' (' || key_id || ')' WHERE revoked_at IS NULL AND EXISTS (
            SELECT 1 FROM api_keys AS other WHERE other.name = api_keys.name AND other.revoked_at IS NULL
            AND (other.created_at, other.key_id) < (api_keys.created_at, api_keys.key_id)
        )
        """,
        "CREATE UNIQUE INDEX api_keys_named ON api_keys (name) WHERE revoked_at IS NULL",
        # Accounts of budgets that span runs. Their ceilings are in the calls, as each run was started with.
        """
        CREATE TABLE shared_accounts (
            scope TEXT NOT NULL PRIMARY KEY,
            spent_requests BIGINT NOT NULL,
            spent_tokens BIGINT NOT NULL,
            spent_nanousd BIGINT NOT NULL,
            reserved_requests BIGINT NOT NULL,
            reserved_tokens BIGINT NOT NULL,
            reserved_nanousd BIGINT NOT NULL
        )
        """,
        "ALTER TABLE reservations ADD COLUMN shared TEXT NOT NULL DEFAULT ''",
    ),
    (  # 6: which run a follow-up continues, and the files that runs wrote, newest first
        "ALTER TABLE runs ADD COLUMN follows TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX runs_following ON runs (follows, created_at, run_id) WHERE follows <> ''",
        "CREATE INDEX events_of_files ON events (at, run_id, seq) WHERE type = 'artifact_written'",
    ),
)
