"""The questions of a run to a person: which is open, and what was answered."""

from __future__ import annotations

from .question import Question
from .state import RunState


def open_question(state: RunState) -> Question | None:
    """Return the oldest question that nobody has answered; None without one, and once the run has ended."""
    if state.finished is not None:
        return None
    return next((each for each in state.questions.values() if each.reply is None), None)


def replied(state: RunState) -> list[Question]:
    """Return the questions that were answered, in order."""
    return [each for each in state.questions.values() if each.reply is not None]


def clarified_request(state: RunState) -> str:
    """Return the request, with the questions about it and their answers."""
    asked = [f"{each.text}\n{each.reply}" for each in replied(state)]
    return "\n\n".join([state.definition.request, *asked])
