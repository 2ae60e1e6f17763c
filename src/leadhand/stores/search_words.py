"""Search in runs: which texts of a log are searched, and how texts are split into words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from leadhand.core import events as ev
from leadhand.core.errors import Failure
from leadhand.core.value import texts_in

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
        case ev.ToolCallReturned() | ev.ModelCallReturned() | ev.StepSettled():
            yield from _failure(event.failure)
        case ev.AttemptReturned():
            yield from _failure(event.result.error)
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
