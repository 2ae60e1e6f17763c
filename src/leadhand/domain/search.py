"""Search in runs: which texts of a log are searched, and how texts are split into words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from . import events as ev
from .errors import Failure
from .value import Json, is_list, is_object

LONGEST_WORD = 64
"""Characters of a word that are compared."""
MOST_WORDS = 16
"""Words of a query that are compared; the others are ignored."""

_WORD = re.compile(r"[^\W_]+")
# Japanese and Chinese are written without spaces, so they are searched by character.
_PART = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\u3040-\u30ff\u3400-\u9fff]+")


def words_in(text: str) -> Iterator[str]:
    """Yield the words of a text in small letters: letters and digits only."""
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        for part in (word,) if word.isascii() else _PART.findall(word):
            yield part[:LONGEST_WORD]


def query_words(query: str) -> list[str]:
    """Return the words that a run must have to be found, each once. Empty for a query without letters or digits."""
    return list(dict.fromkeys(words_in(query)))[:MOST_WORDS]


def is_found(query: Iterable[str], words: Iterable[str]) -> bool:
    """Whether each word of a query is a word, or the beginning of one."""
    there = list(words)
    return all(any(word.startswith(wanted) for word in there) for wanted in query)


def searched_words(events: Iterable[ev.AnyEvent]) -> set[str]:
    """Return the words of the searched texts of events: request, plan, arguments, errors, gaps and answers."""
    return {word for event in events for text in _texts(event) for word in words_in(text)}


def _texts(event: ev.AnyEvent) -> Iterator[str]:
    match event:
        case ev.RunStarted():
            yield event.definition.request
        case ev.WorkOrderIssued():
            yield event.order.goal
            for subtask in event.order.subtasks:
                yield subtask.name
                yield from _values(subtask.args)
        case ev.GapsNoted():
            for part in event.parts:
                yield from _values(part.model_dump())
        case ev.AssignmentIssued():
            yield event.assignment.title
            yield from _values(event.assignment.input)
        case ev.ToolCallBegan():
            yield event.tool
            yield from _values(event.args)
        case ev.ApprovalRequested():
            yield event.approval.tool
            yield from _values(event.approval.args)
        case ev.ApprovalAnswered() | ev.RetryRequested():
            yield from _values(event.args)
        case ev.ToolCallReturned() | ev.ModelCallReturned() | ev.AttemptSettled() | ev.AttemptLost():
            yield from _failure(event.failure)
        case ev.RunFinished():
            yield event.answer
            yield from _values(event.value)
            yield from _failure(event.failure)
            for gap in event.gaps:
                yield gap.name
                yield gap.reason
        case _:
            pass


SEARCHED = (
    ev.RunStarted,
    ev.WorkOrderIssued,
    ev.GapsNoted,
    ev.AssignmentIssued,
    ev.ToolCallBegan,
    ev.ApprovalRequested,
    ev.ApprovalAnswered,
    ev.RetryRequested,
    ev.ToolCallReturned,
    ev.ModelCallReturned,
    ev.AttemptSettled,
    ev.AttemptLost,
    ev.RunFinished,
)
"""The events with texts that are searched."""


def _failure(failure: Failure | None) -> Iterator[str]:
    if failure is not None:
        yield failure.message
        yield failure.type


def _values(value: Json) -> Iterator[str]:
    """Yield the texts and numbers in a value."""
    if is_object(value):
        for part in value.values():
            yield from _values(part)
    elif is_list(value):
        for part in value:
            yield from _values(part)
    elif value is not None:
        yield str(value)
