"""What people do with runs: answer questions, send signals, delete runs."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

from leadhand.app.arguments import json_value, text
from leadhand.app.runtime.runtime import Runtime
from leadhand.core.approval import Question
from leadhand.core.errors import StoreError, UsageError
from leadhand.core.errors.advice import Advice
from leadhand.core.events import QuestionAnswered, SignalSent
from leadhand.core.relations import open_question
from leadhand.core.state import RunState
from leadhand.core.value import Json, shown

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
    return asked


def checked(state: RunState, given: str, question_id: str = "") -> tuple[Question, str]:
    """Return the question to answer, and the answer without white space around it: one of the choices, also by its
    number. Raises UsageError as reply does."""
    said = text(given, "the answer", "Answer in words.").strip()
    if not said:
        raise UsageError("the answer is empty", "Answer in words.")
    if len(said) > LONGEST_REPLY:
        raise UsageError(f"the answer has more than {LONGEST_REPLY:,} characters", "Answer in fewer words.")
    asked = _open(state, question_id)
    return asked, chosen(said, asked.choices) if asked.choices else said


def chosen(said: str, choices: Sequence[str]) -> str:
    """Return one of the choices, also named by its number or in other letter case. Raises UsageError, which lists them
    as they are."""
    named = {f"{number}": each for number, each in enumerate(choices, start=1)}
    named |= {each.casefold(): each for each in choices}
    if (found := named.get(said.strip().casefold())) is None:
        raise UsageError(f"{shown(said)} is not one of the choices", f"Choose from: {', '.join(choices)}.")
    return found


def _open(state: RunState, question_id: str) -> Question:
    """Return the question to answer. Raises UsageError if it is not open."""
    asked = state.questions.get(question_id) if question_id else open_question(state)
    asked = None if asked is not None and asked.kind != "person" else asked
    if state.finished is not None:
        how = Advice("Follow it up: {follow_up}", run=state.run_id)
        ended = f"run {state.run_id} has ended ({state.finished.status.value}) and asks nothing"
        raise UsageError(ended, how, continued=state.definition)
    if asked is None:
        named = f"no question {question_id}" if question_id else "no open question"
        raise UsageError(f"run {state.run_id} has {named}", Advice("See its state: {show_run}", run=state.run_id))
    if asked.reply is not None:
        how = Advice("See how it continues: {show_run}", run=state.run_id)
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


def _check_signal(state: RunState) -> None:
    if state.finished is not None:
        ended = f"run {state.run_id} has ended ({state.finished.status.value}) and receives no signals"
        raise UsageError(ended, Advice("Follow it up: {follow_up}", run=state.run_id))


async def delete_runs(runtime: Runtime, run_ids: Sequence[str], *, ended_only: bool = False) -> list[str]:
    """Delete runs, their artifacts and the files in their directories; return the ids of those deleted.

    Raises NoSuchRun, RunOwned for a run that a living process drives, and StoreError. With ``ended_only``, runs that
    are gone or have not ended are left out instead.
    """
    deleted = await runtime.database.delete_runs(run_ids, ended_only=ended_only)
    for run_id in deleted:
        await asyncio.to_thread(_delete_directory, runtime.settings.home / "runs" / run_id)
    return deleted


def _delete_directory(directory: Path) -> None:
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(
            f"the run is deleted, but not its directory {directory}: {error.strerror or error}", "delete it by hand"
        ) from error
