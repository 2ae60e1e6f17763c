"""Search in runs: how texts of a log are split into words, and the index of the words of the runs that rest."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from leadhand.core import events as ev
from leadhand.core.errors import Failure
from leadhand.core.value import texts_in
from leadhand.ports.runs import DRIVEN

from .codec import readable_events
from .connection import Connection, Dialect, Table

LONGEST_WORD = 64
"""Characters of a word that are compared."""
MOST_WORDS = 16
"""Words of a query that are compared; the others are ignored."""

MOST_PARTS = 16
"""Parts of a joined token from which it is found."""
JOINT = "\ue000"
"""Joins the words of a token that is searched as a whole: a private character, which is part of no word."""

_KEY = re.compile(r"wo-\d+\.\d+")
_MARKS = re.compile("[\u0300-\u036f]")
_TOKEN = re.compile(r"[^\W_]+(?:[-_.,:/@+#&'’][^\W_]+)*")
_WORD = re.compile(r"[^\W_]+")
# Japanese and Chinese are written without spaces, so they are searched by character.
_PART = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\u3040-\u30ff\u3400-\u9fff]+")


def words_in(text: str) -> Iterator[str]:
    """Yield the words of a text in small letters without accents: letters and digits only.

    A token such as ``wo-001.0`` is three words, and joined, from each of its parts on, two more.
    """
    for words in _tokens(text):
        for word in words:
            yield from _parts(word)
        for first in range(min(len(words) - 1, MOST_PARTS)):
            yield JOINT.join(words[first:])[:LONGEST_WORD]


def query_words(query: str) -> list[str]:
    """Return the words that a run must have to be found, each once. Empty for a query without letters or digits.

    A token such as ``wo-001.0`` is one word of a query.
    """
    found = (_parts(words[0]) if len(words) == 1 else [JOINT.join(words)[:LONGEST_WORD]] for words in _tokens(query))
    return list(dict.fromkeys(word for words in found for word in words))[:MOST_WORDS]


def _tokens(text: str) -> Iterator[list[str]]:
    """Yield the words of each token: what is written without spaces in between."""
    plain = text
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))
    for token in _TOKEN.findall(plain.lower()):
        yield _WORD.findall(token)


def _parts(word: str) -> Iterator[str]:
    for part in (word,) if word.isascii() else _PART.findall(word):
        yield part[:LONGEST_WORD]


def searched_words(events: Iterable[ev.AnyEvent]) -> set[str]:
    """Return the words of the searched texts of events: request, plan, arguments, errors, gaps and answers."""
    return {word for event in events for text in _texts(event) for word in words_in(text)}


def _texts(event: ev.AnyEvent) -> Iterator[str]:
    match event:
        case ev.RunStarted():
            yield event.definition.request
        case ev.OrderIssued():
            yield event.order.goal
            for subtask in event.order.subtasks:
                yield subtask.name
                yield from texts_in(subtask.args)
        case ev.StepIssued():
            yield event.step.title
            # Reviews name the subtasks that they judge by their keys, which nearly all runs have.
            yield from (text for text in texts_in(event.step.input) if not _KEY.fullmatch(text))
        case ev.ToolCallBegan():
            yield event.tool
            yield from texts_in(event.args)
        case ev.ApprovalRequested():
            yield event.approval.tool
            yield from texts_in(event.approval.args)
        case ev.ApprovalAnswered() | ev.StepRequested():
            yield from texts_in(event.args)
        case ev.ToolCallReturned() | ev.ModelCallReturned() | ev.StepSettled() | ev.AttemptReturned():
            yield from _failure(event.failure)
        case ev.RunFinished():
            yield event.answer
            yield from texts_in(event.value)
            yield from _failure(event.failure)
            for gap in event.gaps:
                yield gap.name
                yield gap.reason
        case _:
            pass


SEARCHED = (
    ev.RunStarted,
    ev.OrderIssued,
    ev.StepIssued,
    ev.ToolCallBegan,
    ev.ApprovalRequested,
    ev.ApprovalAnswered,
    ev.StepRequested,
    ev.ToolCallReturned,
    ev.ModelCallReturned,
    ev.StepSettled,
    ev.AttemptReturned,
    ev.RunFinished,
)
"""The events with texts that are searched."""


def _failure(failure: Failure | None) -> Iterator[str]:
    if failure is not None:
        yield failure.message
        yield failure.type


# --- the index --------------------------------------------------------------------------------------------------------

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
    return sorted(searched_words(readable_events(connection, run.run_id, run.indexed, TYPES)))


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
