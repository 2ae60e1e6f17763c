"""The steps in an entry of the log. The view, spans and metrics are built from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from leadhand.core import events as ev
from leadhand.core.errors import Failure
from leadhand.core.limits import Usage
from leadhand.core.run import RunStatus
from leadhand.core.tool import Effect
from leadhand.core.work_order import OpenCall


class RunEnded(NamedTuple):
    """The run ended."""

    status: RunStatus


class StepSettled(NamedTuple):
    """A step that counts was settled. ``blocked``: a need failed. ``by``: the person who settled it."""

    step: str
    outcome: Literal["completed", "failed", "blocked", "supplied", "skipped"]
    by: str = ""


class AttemptHappened(NamedTuple):
    """An attempt started (``running``), returned, or ended; ``ok`` and ``failed`` are the controller's verdict."""

    attempt: str
    outcome: Literal["running", "returned", "ok", "failed", "lost", "parked"]
    failure: Failure | None = None
    host: str = ""
    open_calls: tuple[OpenCall, ...] = ()


class CallHappened(NamedTuple):
    """A call of a model or a tool that started, or that ``returned``, with its details."""

    attempt: str
    call_id: str
    kind: Literal["model", "tool"]
    name: str
    args: Mapping[str, Any] = {}
    effect: Effect | None = None
    returned: bool = False
    failure: Failure | None = None
    duration_ms: int = 0
    usage: Usage | None = None
    finish_reason: str = ""
    summary: str = ""
    sample: bool = False
    cached: bool = False
    """The tool was not called: the result is that of an earlier call."""


Happening = RunEnded | StepSettled | AttemptHappened | CallHappened


def happenings(event: ev.AnyEvent) -> tuple[Happening, ...]:
    """Return the steps of an event, in order; most events have one or none."""
    match event.type:
        case "model_call_began":
            return (CallHappened(event.attempt, event.call_id, "model", event.model),)
        case "model_call_returned":
            call = CallHappened(
                event.attempt, event.call_id, "model", event.model, returned=True, failure=event.failure
            )
            return (call._replace(duration_ms=event.duration_ms, usage=event.usage, finish_reason=event.finish_reason),)
        case "tool_call_began":
            return (CallHappened(event.attempt, event.call_id, "tool", event.tool, event.args, event.effect),)
        case "tool_call_returned" if event.blocked_args is None:
            call = CallHappened(event.attempt, event.call_id, "tool", event.tool, returned=True, failure=event.failure)
            call = call._replace(duration_ms=event.duration_ms, summary=event.summary or "", sample=event.sample)
            return (call._replace(cached=event.cached is not None),)
        case "attempt_started":
            return (AttemptHappened(event.attempt, "running", host=event.host),)
        case "attempt_returned":
            return (AttemptHappened(event.attempt, "lost" if event.lost else "returned", event.result.error),)
        case "attempt_parked":
            return (AttemptHappened(event.attempt, "parked", open_calls=event.open_calls),)
        case "step_settled" if event.by:
            return (StepSettled(event.step, "skipped" if event.data is None else "supplied", event.by),)
        case "step_settled" if not event.attempt:
            return (StepSettled(event.step, "blocked"),)
        case "step_settled":
            settled = AttemptHappened(event.attempt, "ok" if event.ok else "failed", event.failure)
            return (
                (settled, StepSettled(event.step, "completed" if event.ok else "failed")) if event.final else (settled,)
            )
        case "run_finished":
            return (RunEnded(event.status),)
        case _:
            return ()
