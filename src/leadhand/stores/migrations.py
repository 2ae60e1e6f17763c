"""The tables, as numbered steps that only go forward. Imported only when a database is not at the latest step.

A released step is never changed; corrections are further steps. ``{bytes}`` is the
database's type for bytes. Times are whole microseconds since 1970, UTC; money is nano-dollars; truth is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leadhand.core.errors import ConfigurationError

from .connection import Connection, Dialect


def _create_queue(connection: Connection) -> None:
    """Create the tables and functions of Procrastinate 3.10, by its own script. Raises ConfigurationError."""
    try:
        from procrastinate.schema import SchemaManager
    except ImportError as error:
        raise ConfigurationError(
            "a postgresql:// database needs the package procrastinate, which is not installed",
            'run: pip install "leadhand[postgres]"',
        ) from error
    connection.execute(SchemaManager.get_schema())


@dataclass(frozen=True, slots=True)
class OnServer:
    """A part for databases that many machines share, and not for SQLite."""

    part: str | Callable[[Connection], None]


@dataclass(frozen=True, slots=True)
class InFile:
    """A part for SQLite only."""

    part: str


Part = str | Callable[[Connection], None] | OnServer | InFile

MIGRATIONS: tuple[tuple[Part, ...], ...] = (
    (  # 1
        OnServer("CREATE TABLE meta (version BIGINT NOT NULL)"),
        OnServer("INSERT INTO meta (version) VALUES (0)"),
        # The number of commits; see commit_mark.py.
        InFile("CREATE TABLE meta (version BIGINT NOT NULL, commits BIGINT NOT NULL)"),
        InFile("INSERT INTO meta (version, commits) VALUES (0, 0)"),
        # A run's row: its place in lists, its head and owner, and its budget: ceilings (NULL: none), what composing
        # the answer may always use, what was spent, what open calls may yet cost. Lists are searched in ``searched``,
        # the name and request in small letters, since databases do not agree on capitals beyond ASCII. Each tag is a
        # line, [key, value] as JSON, with a line break before and after it. ``label_words`` are the words of the name
        # and the request, with a space before each.
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
            asking BIGINT NOT NULL,
            ceiling_requests BIGINT,
            ceiling_tokens BIGINT,
            ceiling_nanousd BIGINT,
            held_back_requests BIGINT NOT NULL,
            held_back_tokens BIGINT NOT NULL,
            held_back_nanousd BIGINT NOT NULL,
            spent_requests BIGINT NOT NULL,
            spent_tokens BIGINT NOT NULL,
            spent_nanousd BIGINT NOT NULL,
            unpriced BIGINT NOT NULL,
            reserved_requests BIGINT NOT NULL,
            reserved_tokens BIGINT NOT NULL,
            reserved_nanousd BIGINT NOT NULL,
            key_id TEXT NOT NULL,
            follows TEXT NOT NULL,
            name TEXT NOT NULL,
            tags TEXT NOT NULL,
            label_words TEXT NOT NULL
        )
        """,
        "CREATE INDEX runs_newest ON runs (created_at, run_id)",
        "CREATE INDEX runs_asking ON runs (created_at, run_id) WHERE asking > 0",
        "CREATE INDEX runs_owned ON runs (owner) WHERE owner IS NOT NULL",
        "CREATE INDEX runs_of_key ON runs (key_id, created_at, run_id) WHERE key_id <> ''",
        "CREATE INDEX runs_following ON runs (follows, created_at, run_id) WHERE follows <> ''",
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
        "CREATE INDEX events_of_files ON events (at, run_id, seq) WHERE type = 'artifact_written'",
        # ``scopes``: what a reservation was taken from, besides the run: a JSON list, empty text for none.
        """
        CREATE TABLE reservations (
            run_id TEXT NOT NULL,
            attempt TEXT NOT NULL,
            call_id TEXT NOT NULL,
            requests BIGINT NOT NULL,
            tokens BIGINT NOT NULL,
            nanousd BIGINT NOT NULL,
            scopes TEXT NOT NULL,
            shared TEXT NOT NULL,
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
        # ``used_at``: when a gate was last used, which shows that the clock was put back since.
        """
        CREATE TABLE gates (
            name TEXT NOT NULL PRIMARY KEY,
            free_at BIGINT NOT NULL,
            used_at BIGINT NOT NULL,
            last_ticket BIGINT NOT NULL DEFAULT 0
        )
        """,
        # The queues of shared limits. The first tickets of a queue hold its places; see places.py.
        """
        CREATE TABLE places (
            name TEXT NOT NULL,
            ticket BIGINT NOT NULL,
            host TEXT NOT NULL,
            PRIMARY KEY (name, ticket)
        )
        """,
        """
        CREATE TABLE cache (
            cache_key TEXT NOT NULL PRIMARY KEY,
            value TEXT NOT NULL,
            expires_at BIGINT NOT NULL
        )
        """,
        "CREATE INDEX cache_expiry ON cache (expires_at)",
        # ``digest`` is the SHA-256 of a key, which itself is not stored; ``scopes`` are joined by commas.
        """
        CREATE TABLE api_keys (
            key_id TEXT NOT NULL PRIMARY KEY,
            name TEXT NOT NULL,
            prefix TEXT NOT NULL,
            digest TEXT NOT NULL UNIQUE,
            scopes TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            ceilings TEXT NOT NULL,
            revoked_at BIGINT,
            last_used_at BIGINT
        )
        """,
        "CREATE UNIQUE INDEX api_keys_named ON api_keys (name) WHERE revoked_at IS NULL",
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
        # Webhooks, and the messages to them. Secrets are stored as they are, since they sign.
        """
        CREATE TABLE webhooks (
            webhook_id TEXT NOT NULL PRIMARY KEY,
            url TEXT NOT NULL,
            secret TEXT NOT NULL,
            events TEXT NOT NULL,
            key_id TEXT NOT NULL,
            every BIGINT NOT NULL,
            by_whom TEXT NOT NULL,
            created_at BIGINT NOT NULL
        )
        """,
        """
        CREATE TABLE deliveries (
            delivery_id TEXT NOT NULL PRIMARY KEY,
            webhook_id TEXT NOT NULL,
            run_id TEXT NOT NULL,
            event TEXT NOT NULL,
            body TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            next_at BIGINT,
            attempts BIGINT NOT NULL,
            delivered BIGINT NOT NULL,
            code BIGINT,
            error TEXT NOT NULL
        )
        """,
        "CREATE INDEX deliveries_due ON deliveries (next_at) WHERE next_at IS NOT NULL",
        "CREATE INDEX deliveries_of_webhook ON deliveries (webhook_id, created_at)",
        "CREATE INDEX deliveries_of_run ON deliveries (run_id)",
        # Search in runs. ``words`` are those of the events through ``seq``, each once, with a space in between.
        InFile(
            "CREATE TABLE run_texts (id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, seq BIGINT NOT NULL, words TEXT)"
        ),
        OnServer(
            """
            CREATE TABLE run_texts (
                id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
                run_id TEXT NOT NULL,
                seq BIGINT NOT NULL,
                words TEXT
            )
            """
        ),
        "CREATE INDEX run_texts_of_run ON run_texts (run_id, seq)",
        OnServer("CREATE INDEX run_words ON run_texts USING GIN (array_to_tsvector(string_to_array(words, ' ')))"),
        InFile(
            "CREATE VIRTUAL TABLE run_words USING fts5(words, content='run_texts', content_rowid='id', detail=none,"
            " columnsize=0, tokenize='unicode61 remove_diacritics 0')"
        ),
        InFile(
            "CREATE TRIGGER run_texts_added AFTER INSERT ON run_texts BEGIN"
            " INSERT INTO run_words (rowid, words) VALUES (new.id, new.words); END"
        ),
        InFile(
            "CREATE TRIGGER run_texts_deleted AFTER DELETE ON run_texts BEGIN"
            " INSERT INTO run_words (run_words, rowid, words) VALUES ('delete', old.id, old.words); END"
        ),
        # Many machines: the queue, the processes that take work from it, and which attempts have begun.
        OnServer(_create_queue),
        # ``said`` is an Announcement, ``attempts`` a JSON list, ``limit_us`` the time without a heartbeat after which
        # the host counts as dead.
        OnServer(
            """
            CREATE TABLE hosts (
                host TEXT NOT NULL PRIMARY KEY,
                kind TEXT NOT NULL,
                said TEXT NOT NULL,
                since BIGINT NOT NULL,
                attempts TEXT NOT NULL,
                draining BIGINT NOT NULL,
                limit_us BIGINT NOT NULL,
                seen_at BIGINT NOT NULL
            )
            """
        ),
        OnServer("CREATE INDEX events_starting ON events (run_id, subject) WHERE type = 'attempt_started'"),
    ),
)


def apply(step: tuple[Part, ...], connection: Connection, dialect: Dialect) -> None:
    """Execute the parts of a step that a database of this kind needs."""
    for part in step:
        if isinstance(part, OnServer | InFile):
            if dialect.alone != isinstance(part, InFile):
                continue
            part = part.part
        if isinstance(part, str):
            connection.execute(part.format(bytes=dialect.bytes_type))
        else:
            part(connection)
