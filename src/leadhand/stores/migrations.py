"""The tables, as numbered steps that only go forward. Imported only when a database is not at the latest step.

A released step is never changed; corrections are further steps. ``{bytes}`` is the
database's type for bytes. Times are whole microseconds since 1970, UTC; money is nano-dollars; truth is 0 or 1.
Where a step must read the log, a part of it is a function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from leadhand.domain.errors import ConfigurationError, StoreError
from leadhand.domain.open_approvals import APPROVAL_EVENTS, OpenApproval, open_approvals_after

from .codec import entries_of_types, stored
from .connection import Connection, Dialect, Table
from .run_row import label_columns


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


def _search_names(connection: Connection) -> None:
    """Let the texts of lists begin with the names of runs."""
    for run_id, name, request in connection.execute("SELECT run_id, name, request FROM runs"):
        searched, *_ = label_columns(request, name, {})
        connection.execute("UPDATE runs SET searched = ? WHERE run_id = ?", (searched, run_id))


def _split_labels(connection: Connection) -> None:
    """Write the words of the names and requests of runs."""
    for run_id, name, request in connection.execute("SELECT run_id, name, request FROM runs"):
        _, words, *_ = label_columns(request, name, {})
        connection.execute("UPDATE runs SET label_words = ? WHERE run_id = ?", (words, run_id))


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
        # The fields of an approval that decide whether an event answers it; see domain/open_approvals.py.
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
    (  # 7: many machines: the queue, the processes that take work from it, and which attempts have begun
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
    (  # 8: webhooks, and the messages to them. Secrets are stored as they are, since they sign.
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
    ),
    (  # 9: names and tags of runs. Each tag is a line, [key, value] as JSON, with a line break before and after it.
        "ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN tags TEXT NOT NULL DEFAULT ''",
    ),
    (  # 10: the queues of shared limits. The first tickets of a queue hold its places; see places.py.
        "ALTER TABLE gates ADD COLUMN last_ticket BIGINT NOT NULL DEFAULT 0",
        """
        CREATE TABLE places (
            name TEXT NOT NULL,
            ticket BIGINT NOT NULL,
            host TEXT NOT NULL,
            PRIMARY KEY (name, ticket)
        )
        """,
    ),
    (  # 11: search in runs. ``words`` are those of the events through ``seq``, each once, with a space in between.
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
        _search_names,
    ),
    (  # 12: the words of names and requests, with a space before each; words without accents, tokens as a whole, too
        "ALTER TABLE runs ADD COLUMN label_words TEXT NOT NULL DEFAULT ''",
        _split_labels,
        "DELETE FROM run_texts",  # searches and upkeep add the runs again
    ),
    (  # 13: the number of commits, which was in the header of the file, where only a statement of its own can write
        InFile("ALTER TABLE meta ADD COLUMN commits BIGINT NOT NULL DEFAULT 0"),
        InFile("UPDATE meta SET commits = (SELECT user_version FROM pragma_user_version)"),
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
