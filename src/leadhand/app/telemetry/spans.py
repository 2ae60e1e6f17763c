"""Spans of a run, its attempts, model calls and tool calls, by the OpenTelemetry conventions for GenAI.

The spans begin and end with events of the log, at the times of their entries. No span
contains text of a request, a prompt, an answer, an argument or a result, nor names that a model may have made up.

A run is one trace, whichever processes drive it: the ids of the trace and of its outermost span are derived from the
run's id, unless an HTTP request with a ``traceparent`` started it: then it is part of that trace. The outermost span is
never sent, since no process sees all of it.

The attributes are those of https://github.com/open-telemetry/semantic-conventions-genai; its constants are deprecated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

from leadhand.app.telemetry.traces import span_above
from leadhand.core import events as ev
from leadhand.core.errors import INTERRUPTED, Failure, FailureClass
from leadhand.core.events import Entry
from leadhand.core.ids import step_of
from leadhand.core.limits import usd
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.flows.work_order.roles import RoleName

PROVIDERS = {
    "offline": "leadhand",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "google": "gcp.gemini",
    "google-cloud": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
}
"""Providers whose names in the conventions differ from those in model names."""

AGENTS: dict[str, str] = {
    RoleName.PLAN: "lead",
    RoleName.COMPOSE: "lead",
    RoleName.REVIEW: "reviewer",
    RoleName.WORK: "worker",
}

_GONE = Failure.of("", "driver_gone", FailureClass.LOST)
"""The failure of everything that was open when this process stopped driving the run."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KIND = re.compile(r"[A-Za-z][\w.\-]{0,63}")
"""A failure's type or a finish reason is passed on only if it is one word: anything longer may be text of the run."""


Attributes = Mapping[str, AttributeValue]
_OfCall = ev.ModelCallBegan | ev.ModelCallReturned | ev.ToolCallBegan | ev.ToolCallReturned


class LogTracer:
    """Turns the entries of the runs that a process drives into spans of ``tracer``."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._runs: dict[str, _RunSpans] = {}

    def watch(self, state: RunState, entries: list[Entry]) -> None:
        """Begin and end the spans of these entries; ``state`` is the run's state after them."""
        if entries and state.run_id not in self._runs:
            self._runs[state.run_id] = _RunSpans(self._tracer, state, entries[0])
        for entry in entries:
            self._runs[state.run_id].take(state, entry)

    def release(self, state: RunState) -> None:
        """End the open spans of a run that this process no longer drives."""
        if (spans := self._runs.pop(state.run_id, None)) is not None:
            spans.end(state)


class _RunSpans:
    """The open spans of one run, from the first entry that this process sees until the run is released."""

    def __init__(self, tracer: Tracer, state: RunState, first: Entry) -> None:
        self._tracer = tracer
        self._run_id = state.run_id
        self._attempts: dict[str, Span] = {}
        self._returned: dict[str, tuple[datetime, Failure | None]] = {}
        """The open attempts that returned, when, and why they failed: they stay open until they are judged."""
        self._parked: dict[str, Span] = {}
        """The attempts that parked last, by step: what they wait for comes below them."""
        self._calls: dict[tuple[str, str], Span] = {}
        began = state.created_at if first.seq == 2 else first.at  # the run was made here, and is driven from its start
        around = get_current_span().get_span_context()
        flow = state.definition.flow
        about: Attributes = {"gen_ai.workflow.name": flow, "leadhand.run.epoch": state.epoch}
        above = NonRecordingSpan(outermost(state.run_id, state.definition.traceparent))
        links = [Link(around)] if around.is_valid else []
        self._span = self._start("invoke_workflow", flow, above, began, about, links=links)

    def take(self, state: RunState, entry: Entry) -> None:
        """Begin and end the spans of this entry."""
        event, at = entry.event, entry.at
        match event:
            case ev.AttemptStarted():
                self._open(state, event.attempt, at, {"leadhand.host": event.host})
            case ev.AttemptReturned(lost=True):
                failure = event.failure
                interrupted = failure is not None and failure.type == INTERRUPTED
                if event.attempt not in self._attempts and not interrupted:  # it was lost with another process
                    self._open(state, event.attempt, at, {})
                self._end_attempt(event.attempt, at, "lost", failure)
            case ev.AttemptReturned():
                self._returned[event.attempt] = at, event.failure
            case ev.AttemptParked() if event.attempt in self._attempts:
                self._parked[step_of(event.attempt)] = self._attempts[event.attempt]
                self._end_attempt(event.attempt, at, "parked", None)
            case ev.StepSettled() if event.by:
                for attempt in [each for each in self._attempts if state.steps[step_of(each)].closed]:
                    self._end_attempt(attempt, at, "withdrawn", None)
            case ev.StepSettled():
                self._end_attempt(event.attempt, at, "ok" if event.ok else "failed", event.failure)
            case ev.ModelCallBegan() | ev.ToolCallBegan():
                self._calls[event.attempt, event.call_id] = self._start_call(event, at)
            case ev.ModelCallReturned() | ev.ToolCallReturned(blocked_args=None):
                span = self._calls.pop((event.attempt, event.call_id), None)
                if span is None:  # the call began before this process watched the run
                    span = self._start_call(event, at - timedelta(milliseconds=event.duration_ms))
                _end(span, at, event.failure, _returned(event))
            case _:
                pass

    def end(self, state: RunState) -> None:
        """End all open spans at the time of the last entry."""
        at = state.last_at or state.created_at
        failure = _GONE if state.status is RunStatus.RUNNING else None
        for attempt in [*self._attempts]:
            if attempt in self._returned:
                why = self._returned[attempt][1]
                self._end_attempt(attempt, at, "ok" if why is None else "failed", why)
            else:
                self._end_attempt(attempt, at, INTERRUPTED if failure is None else "lost", failure)
        for span in self._calls.values():
            _end(span, at, failure, {})
        if state.finished is not None and state.finished.status is RunStatus.FAILED:
            failure = state.finished.failure
            self._span.set_status(Status(StatusCode.ERROR))
        _end(self._span, at, failure, {"leadhand.run.status": str(state.status)})

    def _open(self, state: RunState, attempt: str, at: datetime, more: Attributes) -> None:
        step, agent = state.steps[step_of(attempt)], _agent(state, step_of(attempt))
        attributes = {"gen_ai.agent.name": agent, "leadhand.worker": step.step.worker, **more}
        if step.attempt is not None and step.attempt.attempt == attempt and step.attempt.continues:
            attributes["leadhand.continues"] = step.attempt.continues
        parent = self._parked.get(step_of(step.step.parent or ""), self._span)
        self._attempts[attempt] = self._start("invoke_agent", agent, parent, at, attributes, attempt)

    def _end_attempt(self, attempt: str, at: datetime, outcome: str, failure: Failure | None) -> None:
        span = self._attempts.pop(attempt, None)
        if span is None:
            return
        over, _ = self._returned.pop(attempt, (at, None))
        for call in [each for each in self._calls if each[0] == attempt]:
            _end(self._calls.pop(call), over, failure, {})
        _end(span, over, failure, {"leadhand.outcome": outcome})

    def _start_call(self, event: _OfCall, at: datetime) -> Span:
        parent = self._attempts.get(event.attempt, self._span)
        if isinstance(event, ev.ModelCallBegan | ev.ModelCallReturned):
            attributes: dict[str, AttributeValue] = {**model_attributes(event.model), "leadhand.call.id": event.call_id}
            model = str(attributes["gen_ai.request.model"])
            return self._start("chat", model, parent, at, attributes, event.attempt, kind=SpanKind.CLIENT)
        attributes = {"gen_ai.tool.name": event.tool, "gen_ai.tool.call.id": event.call_id}
        attributes["gen_ai.tool.type"] = "function"
        if isinstance(event, ev.ToolCallBegan):
            attributes["leadhand.tool.effect"] = str(event.effect)
        return self._start("execute_tool", event.tool, parent, at, attributes, event.attempt)

    def _start(
        self, operation: str, name: str, parent: Span, at: datetime, more: Attributes, attempt: str = "", **given: Any
    ) -> Span:
        about = {"leadhand.step": step_of(attempt), "leadhand.attempt": attempt} if attempt else {}
        return self._tracer.start_span(
            f"{operation} {name}",
            context=set_span_in_context(parent, Context()),
            attributes={"gen_ai.operation.name": operation, "leadhand.run.id": self._run_id, **about, **more},
            start_time=_ns(at),
            **given,
        )


def model_attributes(name: str) -> dict[str, AttributeValue]:
    """Return what the conventions say of a model, by its full name."""
    provider, colon, model = name.partition(":")
    attributes: dict[str, AttributeValue] = {"gen_ai.request.model": model or name}
    if colon or name in PROVIDERS:  # the name of a model adapter of the program names no provider
        attributes["gen_ai.provider.name"] = PROVIDERS.get(provider, provider)
    return attributes


def error_type(failure: Failure) -> str:
    """Return the type of a failure if it is one word, else its class: anything longer may be text of the run."""
    return failure.type if _KIND.fullmatch(failure.type) else str(failure.class_)


def outermost(run_id: str, traceparent: str = "") -> SpanContext:
    """Return the span of the caller that started a run, if it sent one, else the outermost span of the run."""
    trace, span, flags = span_above(run_id, traceparent)
    return SpanContext(int(trace, 16), int(span, 16), is_remote=True, trace_flags=TraceFlags(int(flags, 16)))


def _agent(state: RunState, step: str) -> str:
    """Return the agent of a step: its tool's name, or that of the tool that asked for it, else its worker's.

    The names that a model gives to subtasks are not passed on.
    """
    issued = state.steps[step].step
    known = {tool.name for tool in state.definition.tools}
    if issued.subtask is not None and issued.subtask.tool in known:
        return issued.subtask.agent
    if issued.parent is not None and issued.title in known:
        return issued.title
    return AGENTS.get(issued.worker, issued.worker)


def _returned(event: ev.ModelCallReturned | ev.ToolCallReturned) -> dict[str, AttributeValue]:
    """The attributes of a call that returned: what a model call used, as far as that is known."""
    if isinstance(event, ev.ToolCallReturned):
        return {"leadhand.sample": event.sample}
    attributes: dict[str, AttributeValue] = {}
    usage = event.usage
    if _KIND.fullmatch(event.finish_reason):
        attributes["gen_ai.response.finish_reasons"] = (event.finish_reason,)
    if usage is not None:
        tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        cached = {"cache_read": usage.cached_tokens, "cache_creation": usage.cache_write_tokens}
        tokens |= {f"{name}.input_tokens": number for name, number in cached.items() if number}
        attributes |= {f"gen_ai.usage.{name}": number for name, number in tokens.items()}
        attributes |= {} if usage.nanousd is None else {"leadhand.cost_usd": usd(usage.nanousd)}
    return attributes


def _end(span: Span, at: datetime, failure: Failure | None, attributes: Attributes) -> None:
    """End a span. A failure sets its type and class, but not its message, which may quote the run's content."""
    span.set_attributes(attributes)
    if failure is not None:
        kind = error_type(failure)
        span.set_attributes({"error.type": kind, "leadhand.failure.class": str(failure.class_)})
        span.set_status(Status(StatusCode.ERROR, kind))
    span.end(_ns(at))


def _ns(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1) * 1_000
