"""The tables of a database: create them, and recognise a database of Leadhand and its version."""

from __future__ import annotations

import os
import re

from leadhand.core.errors import StoreError

from .connection import Connection, Corrupt, Database

VERSION = 1
"""The version of these tables. A database of another version is refused."""


def _amounts(*names: str, null: str = " NOT NULL") -> str:
    return ", ".join(f"{name}_{unit} BIGINT{null}" for name in names for unit in ("requests", "tokens", "nanousd"))


# Times are whole microseconds since 1970, UTC; money is nano-dollars; truth is
# 0 or 1; BYTES is the database's type for bytes.
#
# runs: a run's place in lists, its head and owner, and its budget: ceilings (NULL: none), what composing the answer may
# always use, what was spent, what open calls may yet cost. ``searched`` is the name and request in small letters, since
# databases do not agree on capitals beyond ASCII. Each tag is a line, [key, value] as JSON, with a line break before
# and after it. ``label_words`` are the words of the name and the request, with a space before each.
# events: only those that end an attempt are looked up by subject, so only they need an index.
# changes: which events each commit wrote to a run; positions only grow, also after runs were deleted.
# reservations: ``scopes`` are what a reservation was taken from, besides the run: a JSON list, empty text for none.
# blobs: ``used_at`` is when content was last written, or asked for by a run that will name it.
# named: which content the events of a run name.
# secrets: what references to secrets stand for, as JSON. Only a tool call reads it; meta has the key of their ids.
# places: what each process has of a shared limit, and how much more it waits for; see places.py.
# records: API keys, whose ``record_key`` is the SHA-256 of the key and whose name is NULL once they are revoked, and
# webhooks, with secrets as they are, since they sign.
# shared_accounts: budgets that span runs. Their ceilings are in the calls, as each run was started with.
# hosts: the heartbeats of the processes that share a server, each as a HostLine, empty if it does not show itself;
# ``limit_us`` is the time without a heartbeat after which it counts as dead.
# run_texts: ``words`` are those of the texts of the events through ``seq``, with a space in between.
EVERYWHERE = f"""
CREATE TABLE meta (version BIGINT NOT NULL, secret_key BYTES NOT NULL);
CREATE TABLE runs (
    run_id TEXT NOT NULL PRIMARY KEY, flow TEXT NOT NULL, request TEXT NOT NULL, searched TEXT NOT NULL,
    status TEXT NOT NULL, model TEXT NOT NULL, created_at BIGINT NOT NULL, finished_at BIGINT,
    head_seq BIGINT NOT NULL, epoch BIGINT NOT NULL, owner TEXT, detached BIGINT NOT NULL,
    subtasks BIGINT NOT NULL, completed BIGINT NOT NULL, failed BIGINT NOT NULL, asking BIGINT NOT NULL,
    {_amounts("ceiling", null="")}, {_amounts("spent")},
    unpriced BIGINT NOT NULL, {_amounts("reserved")},
    key_id TEXT NOT NULL, follows TEXT NOT NULL, offline BIGINT NOT NULL, documents TEXT NOT NULL,
    name TEXT NOT NULL, tags TEXT NOT NULL, label_words TEXT NOT NULL
);
CREATE INDEX runs_newest ON runs (created_at, run_id);
CREATE INDEX runs_asking ON runs (created_at, run_id) WHERE asking > 0;
CREATE INDEX runs_owned ON runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_of_key ON runs (key_id, created_at, run_id) WHERE key_id <> '';
CREATE INDEX runs_following ON runs (follows, created_at, run_id) WHERE follows <> '';
CREATE TABLE events (
    run_id TEXT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL, epoch BIGINT NOT NULL,
    type TEXT NOT NULL, version BIGINT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run_id, seq)
);
CREATE INDEX events_ending ON events (run_id, subject) WHERE type IN ('attempt_returned', 'step_settled');
CREATE INDEX events_of_files ON events (at, run_id, seq) WHERE type = 'artifact_written';
CREATE TABLE changes (position ROW_ID, run_id TEXT NOT NULL, first_seq BIGINT NOT NULL, last_seq BIGINT NOT NULL);
CREATE INDEX changes_of_run ON changes (run_id);
CREATE TABLE reservations (
    run_id TEXT NOT NULL, attempt TEXT NOT NULL, call_id TEXT NOT NULL, requests BIGINT NOT NULL,
    tokens BIGINT NOT NULL, nanousd BIGINT NOT NULL, scopes TEXT NOT NULL, shared TEXT NOT NULL,
    PRIMARY KEY (run_id, attempt, call_id)
);
CREATE TABLE blobs (digest TEXT NOT NULL PRIMARY KEY, used_at BIGINT NOT NULL, body BYTES NOT NULL);
CREATE TABLE named (digest TEXT NOT NULL, run_id TEXT NOT NULL, PRIMARY KEY (digest, run_id));
CREATE INDEX named_by_run ON named (run_id);
CREATE TABLE secrets (
    run_id TEXT NOT NULL, secret_id TEXT NOT NULL, origin TEXT NOT NULL, tool TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (run_id, secret_id, origin)
);
CREATE TABLE gates (name TEXT NOT NULL PRIMARY KEY, free_at BIGINT NOT NULL);
CREATE TABLE places (
    name TEXT NOT NULL, host TEXT NOT NULL, held BIGINT NOT NULL, wanted BIGINT NOT NULL, since BIGINT NOT NULL,
    PRIMARY KEY (name, host)
);
CREATE TABLE cache (cache_key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL, expires_at BIGINT NOT NULL);
CREATE INDEX cache_expiry ON cache (expires_at);
CREATE TABLE records (
    kind TEXT NOT NULL, record_key TEXT NOT NULL, body TEXT NOT NULL, name TEXT,
    PRIMARY KEY (kind, record_key), UNIQUE (kind, name)
);
CREATE TABLE allowances (
    run_id TEXT NOT NULL, scope TEXT NOT NULL, {_amounts("ceiling", null="")}, {_amounts("spent", "reserved")},
    PRIMARY KEY (run_id, scope)
);
CREATE TABLE shared_accounts (scope TEXT NOT NULL PRIMARY KEY, {_amounts("spent", "reserved")});
CREATE TABLE deliveries (
    delivery_id TEXT NOT NULL PRIMARY KEY, webhook_id TEXT NOT NULL, run_id TEXT NOT NULL, created_at BIGINT NOT NULL,
    next_at BIGINT, body TEXT NOT NULL
);
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_of_webhook ON deliveries (webhook_id, created_at);
CREATE INDEX deliveries_of_run ON deliveries (run_id);
CREATE TABLE hosts (
    host TEXT NOT NULL PRIMARY KEY, line TEXT NOT NULL, limit_us BIGINT NOT NULL, session BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);
CREATE TABLE run_texts (id ROW_ID, run_id TEXT NOT NULL, seq BIGINT NOT NULL, words TEXT);
CREATE INDEX run_texts_of_run ON run_texts (run_id, seq);
"""
TABLES = frozenset(re.findall(r"CREATE TABLE (\w+)", EVERYWHERE))

IN_FILE = """
CREATE VIRTUAL TABLE run_words USING fts5(words, content='run_texts', content_rowid='id', columnsize=0,
    tokenize='unicode61 remove_diacritics 0');
CREATE TRIGGER run_texts_added AFTER INSERT ON run_texts BEGIN
    INSERT INTO run_words (rowid, words) VALUES (new.id, new.words); END;
CREATE TRIGGER run_texts_deleted AFTER DELETE ON run_texts BEGIN
    INSERT INTO run_words (run_words, rowid, words) VALUES ('delete', old.id, old.words); END;
"""

ON_SERVER = """
CREATE INDEX run_words ON run_texts USING GIN (to_tsvector('simple', words));
CREATE INDEX events_starting ON events (run_id, subject) WHERE type = 'attempt_started';
"""


def is_created(connection: Connection, database: Database) -> bool:
    """Whether a database has these tables; False for an empty one. Writes nothing.

    Raises StoreError for a database that is damaged, of another program, or of another version.
    """
    there = {str(name) for (name,) in connection.execute(database.dialect.tables)}
    if there.isdisjoint(TABLES) and not (there and database.dialect.alone):
        return False
    missing = ", ".join(sorted(TABLES - there))
    if not there >= {"meta", "runs", "events"}:
        raise Corrupt(
            f"{database.name} is damaged, or of another program: it has {', '.join(sorted(there)[:3])}, …, but not"
            f" {missing}",
            "choose another with --database (in PostgreSQL, a schema: …?options=-csearch_path%3Dleadhand), or restore"
            " it from a backup",
        )
    versions = [version for (version,) in connection.execute("SELECT version FROM meta")]
    if len(versions) != 1 or not isinstance(versions[0], int):
        raise Corrupt(f"{database.name} is damaged: its table meta has no schema version", "restore it from a backup")
    if versions[0] != VERSION or missing:
        found = f"no table {missing}" if versions[0] == VERSION else f"schema {versions[0]}, not {VERSION}"
        older = "with the version that made it, export its runs: leadhand runs export"
        raise StoreError(
            f"{database.name} was made by another version of Leadhand ({found})",
            f"{'upgrade: pip install -U leadhand' if versions[0] > VERSION else older}, and choose a new database with"
            " --database (this one was not touched)",
        )
    return True


def create(connection: Connection, database: Database) -> None:
    """Create the tables, in one transaction, unless another process has. Raises StoreError."""
    dialect = database.dialect
    connection.begin()
    try:
        if dialect.creation_lock:
            connection.execute(dialect.creation_lock)
        if not is_created(connection, database):
            create_tables(connection, alone=dialect.alone)
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def create_tables(connection: Connection, *, alone: bool) -> None:
    """Execute the statements, for a database that is ``alone`` or one that machines share."""
    row_id = "INTEGER PRIMARY KEY AUTOINCREMENT" if alone else "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
    tables = EVERYWHERE.replace("BYTES", "BLOB" if alone else "BYTEA").replace("ROW_ID", row_id)
    for statement in (tables + (IN_FILE if alone else ON_SERVER)).split(";\n"):
        if statement.strip():
            connection.execute(statement)
    if not alone:  # the queue, by the script of Procrastinate 3.10
        from procrastinate.schema import SchemaManager

        connection.execute(SchemaManager.get_schema())
    connection.execute("INSERT INTO meta (version, secret_key) VALUES (?, ?)", (VERSION, os.urandom(32)))
