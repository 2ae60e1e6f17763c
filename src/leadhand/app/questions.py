"""People's answers to the questions of runs, and signals to flows."""

from __future__ import annotations

from leadhand.app.arguments import json_value, text
from leadhand.app.runtime import Runtime
from leadhand.core.approval import Question
from leadhand.core.errors import UsageError
from leadhand.core.events import QuestionAnswered, SignalSent
from leadhand.core.relations import open_question
from leadhand.core.state import RunState
from leadhand.core.value import Json

LONGEST_REPLY = 10_000
"""Characters of an answer."""


async def reply(runtime: Runtime, run_id: str, given: str, *, by: str, question_id: str = "") -> Question:
    """Answer the oldest open question of a run, or the one with this id, and return it.

    Raises NoSuchRun, and UsageError for an empty answer, without an open question, and if somebody else answered it
    first; that answer counts.
    """
    asked, said = checked(await runtime.load(run_id), given, question_id)
    answer = QuestionAnswered(by=by, question_id=asked.id, text=said)
    await runtime.requests.record(run_id, answer, lambda state: _open(state, asked.id))
    runtime.answered.add(run_id)
    return asked


def checked(state: RunState, given: str, question_id: str = "") -> tuple[Question, str]:
    """Return the question to answer, and the answer without white space around it. Raises UsageError as reply does."""
    said = text(given, "the answer", "Answer in words.").strip()
    if not said:
        raise UsageError("the answer is empty", "Answer in words.")
    if len(said) > LONGEST_REPLY:
        raise UsageError(f"the answer has more than {LONGEST_REPLY:,} characters", "Answer in fewer words.")
    return _open(state, question_id), said


def chosen(asked: Question, said: str) -> str:
    """Return the choice whose number somebody said; else what they said, which may be a choice itself."""
    is_number = said.isdecimal() and said not in asked.choices and 1 <= int(said) <= len(asked.choices)
    return asked.choices[int(said) - 1] if is_number else said


def _open(state: RunState, question_id: str) -> Question:
    """Return the question to answer. Raises UsageError if it is not open."""
    asked = state.questions.get(question_id) if question_id else open_question(state)
    asked = None if asked is not None and asked.kind != "person" else asked
    if state.finished is not None:
        how = f"Follow it up: leadhand run --continue {state.run_id} REQUEST"
        ended = f"run {state.run_id} has ended ({state.finished.status.value}) and asks nothing"
        raise UsageError(ended, how, continued=state.definition)
    if asked is None:
        named = f"no question {question_id}" if question_id else "no open question"
        raise UsageError(f"run {state.run_id} has {named}", f"See its state: leadhand runs show {state.run_id}")
    if asked.reply is not None:
        how = f"See how it continues: leadhand runs show {state.run_id}"
        raise UsageError(f"the question was already answered by {asked.by or 'someone'}", how)
    return asked


async def signal(runtime: Runtime, run_id: str, name: str, value: Json = None, *, by: str) -> None:
    """Send a signal to a run: its flow receives it when it waits for one of this name.

    Raises NoSuchRun, and UsageError for a run that has ended and for a value that is not JSON.
    """
    named = text(name, "the name of the signal", "Pass a text.").strip()
    if not named:
        raise UsageError("the signal has no name", "Name what the flow waits for: run.wait_for(NAME).")
    sent = SignalSent(by=by, name=named, value=json_value(value, "the value of the signal", "Pass a JSON value."))
    await runtime.requests.record(run_id, sent, _check_signal)
    runtime.answered.add(run_id)


def _check_signal(state: RunState) -> None:
    if state.finished is not None:
        ended = f"run {state.run_id} has ended ({state.finished.status.value}) and receives no signals"
        raise UsageError(ended, f"Follow it up: leadhand run --continue {state.run_id} REQUEST")
