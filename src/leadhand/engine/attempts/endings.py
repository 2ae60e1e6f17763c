"""The ways in which an attempt ends: with a result, or without one, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable

from leadhand.core.errors import MAX_TURNS, Failure, FailureClass
from leadhand.core.events import AttemptReturned
from leadhand.core.tool import GIVES_UP, CallState
from leadhand.core.value import Json
from leadhand.core.words.failures import ANOTHER_MODEL
from leadhand.core.work_order import OpenCall
from leadhand.core.work_result import ResultData
from leadhand.engine.attempts.conversation import MOST_IDLE, Conversation
from leadhand.engine.attempts.conversation_turn import Turn
from leadhand.ports import Work

_CANNOT = re.compile(rf"[\s*_`]*{GIVES_UP}[*_`]*:[*_`\s]*(?P<reason>.*)", re.DOTALL)


def given_up(text: str) -> str:
    """Return why a worker gives up in words: ``CANNOT: reason``; "" for any other text."""
    found = _CANNOT.match(text)
    return (found["reason"].strip() or "no reason was given") if found is not None else ""


def completed(
    work: Work, made: Iterable[CallState], text: str, value: Json = None, shaped: Json = None
) -> AttemptReturned:
    """Return the end of an attempt that ends well after these calls. What they returned is in their own events."""
    used = [call for call in made if call.ok]
    sources = {source.url: source for call in used for source in call.sources}
    for needed in work.needs.values():
        sources |= {source.url: source for source in needed.sources if source.url in text}
    sample = any(each.sample for each in (*used, *work.needs.values()))
    return AttemptReturned(
        attempt=work.attempt.attempt,
        data=ResultData(summary=text, sources=tuple(sources.values()), sample=sample, value=shaped),
        used=tuple(call.call_id for call in used),
        value=value,
    )


def failed(work: Work, failure: Failure) -> AttemptReturned:
    """Return the end of an attempt without a result."""
    return AttemptReturned(attempt=work.attempt.attempt, failure=failure)


class Parked(Exception):
    """The attempt has to wait: it ends here, and another attempt continues it."""

    def __init__(self, open_calls: tuple[OpenCall, ...]) -> None:
        super().__init__(f"{len(open_calls)} open calls")
        self.open_calls = open_calls


class GaveUp(Exception):
    """The worker gave up its subtask."""


def gave_up(reason: str) -> Failure:
    """Return the failure of a worker that gave up."""
    return Failure.of(reason, "gave_up", FailureClass.INVALID, f"add a tool that can do it, or {ANOTHER_MODEL}")


def too_many_turns(message: str) -> Failure:
    """Return the failure of a worker that has made all the model calls that it may make."""
    return Failure.of(message, MAX_TURNS, FailureClass.EXHAUSTED, f"ask for less at once, or {ANOTHER_MODEL}")


def no_news(turn: Turn) -> str:
    """Return why an attempt ends whose latest turns brought nothing new."""
    failed = [result.failure.message for result in turn.done.values() if result.failure is not None]
    why = f": {failed[-1]}" if failed else ""
    return f"the calls of the worker's last {MOST_IDLE} turns brought nothing new{why}"


def no_result(conversation: Conversation) -> str:
    """Return that the turns are used up, with the last call that failed, if one did."""
    turns = conversation.replies
    done = (turn.done[at] for turn in reversed(conversation.turns) for at in sorted(turn.done, reverse=True))
    errors = (f"; the last error: {each.tool}: {each.failure.message}" for each in done if each.failure is not None)
    return f"no result after {turns:,} {'turn' if turns == 1 else 'turns'}{next(errors, '')}"
