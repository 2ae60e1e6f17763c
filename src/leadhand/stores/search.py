"""Search in runs: which texts of a log are searched, and the index of the texts of the runs that rest.

Each database splits texts into words, and finds words, phrases and their beginnings. Here, texts are only made alike:
without capitals, accents and punctuation, and with spaces between the characters of languages that write none.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, NamedTuple

from leadhand.core import events as ev
from leadhand.core.errors import StoreError
from leadhand.core.events.work import EventBase
from leadhand.core.value import texts_in
from leadhand.ports.runs import DRIVEN

from .codec import readable_events
from .connection import Connection, Dialect, ReadOnly, Table, Unavailable
from .parts import StorePart

LOGGER = logging.getLogger("leadhand")
LONGEST_WORD = 64
"""Characters of a word that are compared."""
MOST_PHRASES = 16
"""Phrases of a search that are compared; the others are ignored."""

_END = "ª"
"""Separates two texts, so that no phrase spans both: databases take it for a word, and no search has it."""
_KEY = re.compile(r"wo-\d+\.\d+")
"""The key of a subtask: reviews name the subtasks that they judge, so nearly all runs have the same ones."""
_MARKS = re.compile("[\u0300-\u036f]")
_WITHOUT_SPACES = r"\u3040-\u30ff\u3400-\u9fff"  # Chinese and Japanese
_WORD = re.compile(rf"[{_WITHOUT_SPACES}]|[^\W_{_WITHOUT_SPACES}]+")

_FAILURE = {"failure": {"message", "type"}}
SEARCHED: dict[type[EventBase], Any] = {
    ev.RunStarted: {"definition": {"request"}},
    ev.OrderIssued: {"order": {"goal": True, "subtasks": {"__all__": {"name", "args"}}}},
    ev.StepIssued: {"step": {"title", "input"}},
    ev.ToolCallBegan: {"tool", "args"},
    ev.ApprovalRequested: {"approval": {"tool", "args"}},
    ev.ApprovalAnswered: {"args"},
    ev.StepRequested: {"args"},
    ev.ToolCallReturned: _FAILURE,
    ev.ModelCallReturned: _FAILURE,
    ev.StepSettled: _FAILURE,
    ev.AttemptReturned: _FAILURE,
    ev.RunFinished: {"answer": True, "value": True, "gaps": {"__all__": {"name", "reason"}}, **_FAILURE},
}
"""The fields whose texts are searched: request, plan, arguments, errors, gaps and answers."""
TYPES = tuple(event.model_fields["type"].default for event in SEARCHED)

TEXTS = Table("run_texts", "run_id, seq, words")
WORDS_AT_ONCE = 4_000
"""Words in one row: with up to 64 characters of 4 bytes each, less than the 1 MB that PostgreSQL can index."""
RUNS_PER_SEARCH = 50
"""Runs that a search adds to the index at most; the others are added by the upkeep of a server."""
AT_REST = f"status NOT IN ({', '.join(sorted(repr(status.value) for status in DRIVEN))})"
BEHIND = (
    "SELECT run_id, indexed, head_seq FROM (SELECT run_id, head_seq, created_at, coalesce((SELECT max(seq)"
    f" FROM run_texts WHERE run_texts.run_id = runs.run_id), 0) AS indexed FROM runs WHERE {AT_REST}) AS found"
    " WHERE indexed < head_seq"
)


def words_in(text: str) -> list[str]:
    """Return the words of a text in their order: small letters without accents, and digits."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))
    return [word[:LONGEST_WORD] for word in _WORD.findall(text.lower())]


def words_of(texts: Iterable[str]) -> list[str]:
    """Return the words of several texts in which each phrase is looked for on its own."""
    return [word for text in texts for word in (*words_in(text), _END)]


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
    found = readable_events(connection, run.run_id, run.indexed, TYPES)
    texts = (text for event in found for text in texts_in(event.model_dump(mode="json", include=SEARCHED[type(event)])))
    return words_of(text for text in texts if not _KEY.fullmatch(text))


def write_words(connection: Connection, run: Behind, words: list[str]) -> None:
    """Add the words of a run to the index, unless the run is deleted or another process has added them."""
    if run not in runs_behind(connection, run.run_id):
        return
    starts = range(0, max(len(words), 1), WORDS_AT_ONCE)
    TEXTS.insert(
        connection, [(run.run_id, run.head_seq, " ".join(words[start : start + WORDS_AT_ONCE])) for start in starts]
    )


class SearchIndex(StorePart):
    """The index of the texts of runs."""

    async def index_runs(self, run_id: str | None = None, *, most: int | None = None) -> int:
        """Add what is new in the logs of runs at rest to the index: of the newest ``most`` that have something new, or
        of one run with ``run_id``. Return of how many. A run that cannot be added is logged and left out.
        """
        behind, indexed = await self._ask(runs_behind, run_id, most), 0
        for run in behind:
            words = await self._ask(new_words, run)
            try:
                await self._write(f"8 {run.run_id}", write_words, run, words)
            except (ReadOnly, Unavailable):
                raise
            except StoreError as error:  # the other runs can still be found
                LOGGER.warning("searches do not find run %s by its words: %s", run.run_id, error.what)
            else:
                indexed += 1
        return indexed


def search_conditions(search: str, dialect: Dialect) -> list[tuple[str, list[str]]]:
    """Return the conditions that a run meets which has every part of a search, with their parameters.

    What is written without spaces in between, such as ``wo-001.0``, is a phrase, whose last word may be the beginning
    of one.
    """
    phrases = [words for part in search.split() if (words := words_in(part))]
    found = f"(label_words LIKE ? OR run_id IN (SELECT run_id FROM run_texts WHERE {dialect.has_phrase}))"
    conditions = [
        (found, [f"% {' '.join(words)}%", dialect.phrase.format(dialect.next_word.join(words))])
        for words in phrases[:MOST_PHRASES]
    ]
    return conditions or ([("FALSE", [])] if search.strip() else [])
