"""Checks of the answers of a worker: what is wrong with one, and how the worker is asked for a better one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from leadhand.core.artifact import BLOB_ABOVE
from leadhand.core.errors import MAX_TURNS, Failure, FailureClass, FlowError
from leadhand.core.events import AttemptReturned
from leadhand.core.outcome import unproven_call
from leadhand.core.text import cut, is_blank
from leadhand.core.tool import CallState
from leadhand.core.value import Json, compact_json, is_object, json_problem, object_of
from leadhand.core.words.failures import ANOTHER_MODEL, NOT_ACCEPTED, written_call
from leadhand.core.work_order import Subtask, resolved
from leadhand.core.work_result import ResultData
from leadhand.engine.gate import malformed, proposed_problems, schema_problems
from leadhand.engine.session.turn import Turn
from leadhand.ports import Work

NO_SUBTASK = Subtask(name="-")


def problems_of(work: Work, made: Sequence[CallState], turn: Turn) -> list[str]:
    """Return the problems of an answer after the calls ``made``, one sentence each."""
    output = work.shape
    if output is None and turn.message.tool_calls:  # each call was answered with an error, as no tools were offered
        return ["the answer calls a tool, but no tools are available here"]
    if output is not None and (turn.value is None or turn.message.tool_calls):
        return [f"the answer is not one JSON object that matches the schema of {work.worker.name}"]
    if output is None and is_blank(turn.message.text):
        return ["the answer is empty"]
    if (proof := unproven(work, made)) is not None:
        return [proof.message]
    found = schema_problems(output, turn.value) if output is not None else []
    if found and work.step.subtask is not None and work.step.subtask.output_schema is not None:
        return found
    found = found or work.problems(turn.value, turn.message.text, made)
    return found or proposed_problems(work, turn.value)


def unproven(work: Work, made: Iterable[CallState]) -> Failure | None:
    """Return why the calls of an attempt do not show that the ordered call was made; None if they do."""
    answers = work.attempt.answers
    approved = [call_id for call_id, answer in answers.items() if answer.ok]
    return unproven_call(work.step.subtask or NO_SUBTASK, made, approved)


def is_enough(work: Work, raw: Json) -> bool:
    """Whether what the tool of the subtask returned is the result, so that no model has to write it.

    The subtask expects nothing else, or the very object that was returned: all of its fields, and no others.
    """
    subtask = work.step.subtask or NO_SUBTASK
    if work.definition.worker_calls == "always" and work.step.kind != "call":
        return False
    if not subtask.expected_output:
        return True
    schema = subtask.output_schema
    if schema is None or not is_object(raw) or raw.keys() != object_of(schema.get("properties")).keys():
        return False
    return len(compact_json(raw)) <= BLOB_ABOVE and not schema_problems(schema, raw)


def is_sound(work: Work, value: Json, schema: dict[str, Any]) -> bool:
    """Whether a part of an answer that is being written passes the checks that need nothing else."""
    if json_problem(value) or schema_problems(schema, value):
        return False
    try:
        return not proposed_problems(work, value)
    except FlowError:
        return False  # the whole answer fails with it


def asked_for_again(
    work: Work, made: Sequence[CallState], turn: Turn, problems: Sequence[str], *, gives_up: str
) -> str:
    """Return the message that asks a model for a better answer; ``gives_up`` is how it gives up."""
    subtask = work.step.subtask or NO_SUBTASK
    if (work.shape is None or subtask.output_schema is not None) and not turn.message.tool_calls:
        if is_blank(turn.said.text):  # the log has the value of a structured answer, and not its text
            return "Your answer is empty."
        if unproven(work, made) is not None:
            tool, args = subtask.tool or "", resolved(subtask.args, work.needs)
            call = written_call(tool, args) if args else tool
            return f"You have not called {call} successfully. Call it, or {gives_up} the reason."
    return write_again("; ".join(problems) or "it was not accepted", as_json=work.shape is not None)


def write_again(problem: str, *, as_json: bool) -> str:
    """Return the message that asks a model to correct an answer."""
    how = "; answer with one JSON object, and nothing else" if as_json else ""
    return f"That cannot be used: {problem}. Write the whole answer again, with corrections{how}."


def not_accepted(work: Work, made: Sequence[CallState], turn: Turn, problems: Sequence[str]) -> Failure:
    """Return the failure of an attempt whose answers were not accepted."""
    message, one_reply = "; ".join(problems), work.worker.loop == "reply"
    if not one_reply and (proof := unproven(work, made)) is not None:
        lapse = "the worker gave no answer" if is_blank(turn.said.text) else "the worker answered without it"
        return proof.evolve(message=f"{proof.message}; {lapse}")
    if work.shape is None:
        type_ = "malformed_answer" if one_reply else "bad_thought"
        return Failure.of(message, type_, FailureClass.INVALID, NOT_ACCEPTED)
    if turn.value is None and not turn.message.tool_calls:
        said = cut(" ".join(turn.message.text.split()), 80)
        message = f"the model answered with text instead of a JSON object ({work.worker.name}): {said!r}"
    return malformed(message)


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


def too_many_turns(message: str) -> Failure:
    """Return the failure of a worker that has made all the model calls that it may make."""
    return Failure.of(message, MAX_TURNS, FailureClass.EXHAUSTED, f"ask for less at once, or {ANOTHER_MODEL}")
