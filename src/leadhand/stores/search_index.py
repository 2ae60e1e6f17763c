"""The words of runs, by which they are found: written when a run rests, searched with the database's own index."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from leadhand.core.errors import StoreError
from leadhand.core.events import AnyEvent
from leadhand.ports.runs import DRIVEN

from .codec import entries_of_run
from .connection import Connection, Dialect, Table
from .search_words import SEARCHED, query_words, searched_words

TEXTS = Table("run_texts", "run_id, seq, words")
WORDS_AT_ONCE = 4_000
"""Words in one row: with up to 64 characters of 4 bytes each, less than the 1 MB that PostgreSQL can index."""
RUNS_PER_SEARCH = 50
"""Runs that a search adds to the index at most; the others are added by the upkeep of a server."""
TYPES = tuple(event.model_fields["type"].default for event in SEARCHED)
AT_REST = f"status NOT IN ({', '.join(sorted(repr(status.value) for status in DRIVEN))})"
BEHIND = (
    "SELECT run_id, indexed, head_seq FROM (SELECT run_id, head_seq, created_at, coalesce((SELECT max(seq)"
    f" FROM run_texts WHERE run_texts.run_id = runs.run_id), 0) AS indexed FROM runs WHERE {AT_REST}) AS found"
    " WHERE indexed < head_seq"
)


class Behind(NamedTuple):
    """A run whose events after ``indexed`` are not in the index."""

    run_id: str
    indexed: int
    head_seq: int


def runs_behind(connection: Connection, run_id: str | None = None, most: int | None = None) -> list[Behind]:
    """Return the runs at rest that are not in the index, newest first and at most ``most``; with ``run_id``, only
    this one.
    """
    condition, parameters = ("", ()) if run_id is None else (" AND run_id = ?", (run_id,))
    limit = "" if most is None else f" LIMIT {most:d}"
    rows = connection.execute(f"{BEHIND}{condition} ORDER BY created_at DESC{limit}", parameters)
    return [Behind(*row) for row in rows]


def new_words(connection: Connection, run: Behind) -> list[str]:
    """Return the words of the events of a run that are not in the index. Events that cannot be read are left out."""
    return sorted(searched_words(_readable(connection, run)))


def _readable(connection: Connection, run: Behind) -> Iterator[AnyEvent]:
    for decoded in entries_of_run(connection, run.run_id, run.indexed, TYPES):
        try:
            yield decoded().event
        except StoreError:
            continue


def write_words(connection: Connection, run: Behind, words: list[str]) -> None:
    """Add the words of a run to the index, unless the run is deleted or another process has added them."""
    if run not in runs_behind(connection, run.run_id):
        return
    starts = range(0, max(len(words), 1), WORDS_AT_ONCE)
    TEXTS.insert(
        connection, [(run.run_id, run.head_seq, " ".join(words[start : start + WORDS_AT_ONCE])) for start in starts]
    )


def search_conditions(search: str, dialect: Dialect) -> list[tuple[str, list[str]]]:
    """Return the conditions that a run meets which has every word of a search, with their parameters."""
    if not search.strip():
        return []
    wanted = query_words(search)
    found = f"(label_words LIKE ? OR run_id IN (SELECT run_id FROM run_texts WHERE {dialect.has_word}))"
    return [(found, [f"% {word}%", dialect.word.format(word)]) for word in wanted] or [("FALSE", [])]
