"""Spans out of a run's log: run, attempts, model calls and tool calls, by the OpenTelemetry conventions for GenAI.

Spans begin and end at the times of the log's entries. They hold no text of a request, a prompt, an answer, an argument
or a result, and no names that a model may have made up.

A run is one trace, in every process and however often it is resumed: the ids of the trace and of its outermost span
come from the run's id. The outermost span itself is never sent, since no process sees all of it.

The names of the attributes are those of https://github.com/open-telemetry/semantic-conventions-genai, written out:
the package with the conventions calls its constants for them moved.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

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

from leadhand.domain import events as ev
from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.evolve.attempts import INTERRUPTED, descendants
from leadhand.domain.ids import assignment_of
from leadhand.domain.limits import usd
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState
from leadhand.flows.work_order.roles import RoleName

PROVIDERS = {
    "offline": "leadhand",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "google": "gcp.gemini",
    "google-cloud": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
}
"""The conventions' names of providers where model names use others."""

AGENTS: dict[str, str] = {
    RoleName.PLAN: "lead",
    RoleName.COMPOSE: "lead",
    RoleName.REVIEW: "reviewer",
    RoleName.WORK: "worker",
}

_GONE = Failure.model_validate({"message": "", "type": "driver_gone", "class": FailureClass.LOST})
"""The failure of what was under way when this process released the run."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KIND = re.compile(r"[A-Za-z][\w.\-]{0,63}")
"""A failure's type or a model's finish reason, if it is one word; anything longer may quote content."""


class LogTracer:
    """Makes spans from the entries of the runs that a process drives."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._runs: dict[str, _RunSpans] = {}

    def watch(self, state: RunState, entries: list[ev.Entry]) -> None:
        """Begin and end the spans of these entries; ``state`` is the run's state after them."""
        spans = self._runs.get(state.run_id)
        if spans is None:
            spans = self._runs[state.run_id] = _RunSpans(self._tracer, state, entries[0])
        for entry in entries:
            spans.take(state, entry)

    def release(self, state: RunState) -> None:
        """End all open spans of a run that this process no longer drives."""
        spans = self._runs.pop(state.run_id, None)
        if spans is not None:
            spans.end(state)


@dataclass(slots=True)
class _OpenAttempt:
    """An attempt whose span is open; ``returned`` is when it returned, which is before it is settled."""

    span: Span
    calls: dict[str, Span] = field(default_factory=dict[str, Span])
    returned: datetime | None = None
    failure: Failure | None = None


class _RunSpans:
    """The open spans of one run, from the first entry that this process saw until it releases the run."""

    def __init__(self, tracer: Tracer, state: RunState, first: ev.Entry) -> None:
        self._tracer = tracer
        self._run_id = state.run_id
        self._attempts: dict[str, _OpenAttempt] = {}
        self._parked: dict[str, tuple[str, Span]] = {}
        self._late: dict[tuple[str, str], Span] = {}
        began = state.created_at if first.seq == 2 else first.at  # the run started here
        flow = state.definition.flow
        around = get_current_span().get_span_context()
        self._span = tracer.start_span(
            f"invoke_workflow {flow}",
            context=set_span_in_context(NonRecordingSpan(outermost(state.run_id)), Context()),
            attributes={
                "gen_ai.operation.name": "invoke_workflow",
                "gen_ai.workflow.name": flow,
                "leadhand.run.id": state.run_id,
                "leadhand.run.epoch": state.epoch,
            },
            links=[Link(around)] if around.is_valid else [],
            start_time=_ns(began),
        )

    def take(self, state: RunState, entry: ev.Entry) -> None:
        match entry.event:
            case ev.AttemptStarted() as event:
                self._open(state, event.attempt, entry.at, {"leadhand.host": event.host})
            case ev.ModelCallBegan() as event:
                self._begin_call(event.attempt, event.call_id, self._chat(event, entry.at))
            case ev.ModelCallReturned() as event:
                span = self._ended_call(event.attempt, event.call_id) or self._chat(event, _before(entry, event))
                _end(span, entry.at, event.failure, _answered(event))
            case ev.ToolCallBegan() as event:
                self._begin_call(event.attempt, event.call_id, self._tool(event, entry.at))
            case ev.ToolCallReturned() as event:
                span = self._ended_call(event.attempt, event.call_id) or self._tool(event, _before(entry, event))
                _end(span, entry.at, event.failure, {"leadhand.sample": event.sample})
            case ev.AttemptReturned() as event if event.attempt in self._attempts:
                attempt = self._attempts[event.attempt]
                attempt.returned, attempt.failure = entry.at, event.result.error
            case ev.AttemptSettled() as event:
                self._settle(event.attempt, entry.at, "ok" if event.ok else "failed", event.failure)
            case ev.AttemptLost() as event:
                self._lose(state, entry.at, event)
            case ev.AttemptParked() | ev.EffectQuestioned() as event:
                self._park(event.attempt, entry.at)
            case ev.SubtaskResolved() as event:
                self._withdraw(state, event.subtask, entry.at)
            case _:
                pass

    def end(self, state: RunState) -> None:
        """End all open spans, at the time of the last entry."""
        at = state.last_at or state.created_at
        gone = _GONE if state.status is RunStatus.RUNNING else None
        for attempt, opened in list(self._attempts.items()):
            if opened.returned is not None:
                self._settle(attempt, at, "ok" if opened.failure is None else "failed", opened.failure)
            else:
                self._settle(attempt, at, INTERRUPTED if gone is None else "lost", gone)
        for span in self._late.values():
            _end(span, at, gone, {})
        failure = gone
        if state.finished is not None and state.finished.status is RunStatus.FAILED:
            failure = state.finished.failure
            self._span.set_status(Status(StatusCode.ERROR))
        _end(self._span, at, failure, {"leadhand.run.status": str(state.status)})

    # --- attempts ----------------------------------------------------------------------------------------------------

    def _open(self, state: RunState, attempt: str, at: datetime, more: Mapping[str, AttributeValue]) -> Span:
        agent = _agent(state, assignment_of(attempt))
        issued = state.assignments[assignment_of(attempt)]
        parent = issued.assignment.parent or ""
        parked, asked = self._parked.get(assignment_of(parent), ("", self._span))
        attributes: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
            "leadhand.role": issued.assignment.role,
            **self._about(attempt),
            **more,
        }
        if issued.attempt is not None and issued.attempt.attempt == attempt and issued.attempt.continues:
            attributes["leadhand.continues"] = issued.attempt.continues
        span = self._start(f"invoke_agent {agent}", asked if parked == parent else self._span, at, attributes)
        self._attempts[attempt] = _OpenAttempt(span)
        self._parked.pop(assignment_of(attempt), None)
        return span

    def _settle(self, attempt: str, at: datetime, outcome: str, failure: Failure | None) -> Span | None:
        opened = self._attempts.pop(attempt, None)
        if opened is None:
            return None
        over = opened.returned or at
        for call in opened.calls.values():
            _end(call, over, failure, {})
        _end(opened.span, over, failure, {"leadhand.outcome": outcome})
        return opened.span

    def _lose(self, state: RunState, at: datetime, event: ev.AttemptLost) -> None:
        """An attempt that another process lost has no span yet: make one of no length."""
        if event.attempt not in self._attempts and event.failure.type != INTERRUPTED:
            self._open(state, event.attempt, at, {})
        self._settle(event.attempt, at, "lost", event.failure)

    def _park(self, attempt: str, at: datetime) -> None:
        span = self._settle(attempt, at, "parked", None)
        if span is not None:
            self._parked[assignment_of(attempt)] = (attempt, span)  # the children it waits for come under it

    def _withdraw(self, state: RunState, subtask: str, at: datetime) -> None:
        keys = {subtask, *descendants(state, subtask)}
        for attempt in [attempt for attempt in self._attempts if assignment_of(attempt) in keys]:
            self._settle(attempt, at, "withdrawn", None)

    # --- calls -------------------------------------------------------------------------------------------------------

    def _begin_call(self, attempt: str, call_id: str, span: Span) -> None:
        opened = self._attempts.get(attempt)
        if opened is not None:
            opened.calls[call_id] = span
        else:
            self._late[attempt, call_id] = span

    def _ended_call(self, attempt: str, call_id: str) -> Span | None:
        opened = self._attempts.get(attempt)
        late = self._late.pop((attempt, call_id), None)
        return late or (opened.calls.pop(call_id, None) if opened is not None else None)

    def _chat(self, event: ev.ModelCallBegan | ev.ModelCallReturned, at: datetime) -> Span:
        provider, colon, model = event.model.partition(":")
        attributes: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model or event.model,
            "leadhand.call.id": event.call_id,
            **self._about(event.attempt),
        }
        if colon or event.model in PROVIDERS:  # a port of the program's own names no provider
            attributes["gen_ai.provider.name"] = PROVIDERS.get(provider, provider)
        return self._start(f"chat {model or event.model}", self._over(event.attempt), at, attributes, SpanKind.CLIENT)

    def _tool(self, event: ev.ToolCallBegan | ev.ToolCallReturned, at: datetime) -> Span:
        attributes: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.tool,
            "gen_ai.tool.call.id": event.call_id,
            "gen_ai.tool.type": "function",
            **self._about(event.attempt),
        }
        if isinstance(event, ev.ToolCallBegan):
            attributes["leadhand.tool.effect"] = str(event.effect)
        return self._start(f"execute_tool {event.tool}", self._over(event.attempt), at, attributes)

    # --- spans -------------------------------------------------------------------------------------------------------

    def _over(self, attempt: str) -> Span:
        opened = self._attempts.get(attempt)
        return opened.span if opened is not None else self._span

    def _about(self, attempt: str) -> dict[str, str]:
        return {
            "leadhand.run.id": self._run_id,
            "leadhand.assignment": assignment_of(attempt),
            "leadhand.attempt": attempt,
        }

    def _start(
        self,
        name: str,
        parent: Span,
        at: datetime,
        attributes: Mapping[str, AttributeValue],
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        context = set_span_in_context(parent, Context())
        return self._tracer.start_span(name, context=context, kind=kind, attributes=attributes, start_time=_ns(at))


def outermost(run_id: str) -> SpanContext:
    """Return the parent of all spans of a run: the same in every process, from the SHA-256 of the run's id."""
    digest = hashlib.sha256(run_id.encode()).digest()
    return SpanContext(
        trace_id=int.from_bytes(digest[:16]),
        span_id=int.from_bytes(digest[16:24]),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


def _agent(state: RunState, assignment: str) -> str:
    """The agent's name: from the tool that it calls or that requested it, else from its role.

    The name that a model gave the subtask is not used.
    """
    issued = state.assignments[assignment].assignment
    known = {tool.name for tool in state.definition.tools}
    if issued.subtask is not None and issued.subtask.tool in known:
        return issued.subtask.agent
    if issued.parent is not None and issued.title in known:
        return issued.title
    return AGENTS.get(issued.role, issued.role)


def _answered(event: ev.ModelCallReturned) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {}
    if _KIND.fullmatch(event.finish_reason):
        attributes["gen_ai.response.finish_reasons"] = (event.finish_reason,)
    if event.usage is not None:
        attributes["gen_ai.usage.input_tokens"] = event.usage.input_tokens
        attributes["gen_ai.usage.output_tokens"] = event.usage.output_tokens
        if event.usage.nanousd is not None:
            attributes["leadhand.cost_usd"] = usd(event.usage.nanousd)
    return attributes


def _end(span: Span, at: datetime, failure: Failure | None, attributes: Mapping[str, AttributeValue]) -> None:
    """End a span, with the type and class of a failure but not its message, which may quote content."""
    span.set_attributes(attributes)
    if failure is not None:
        kind = failure.type if _KIND.fullmatch(failure.type) else str(failure.class_)
        span.set_attributes({"error.type": kind, "leadhand.failure.class": str(failure.class_)})
        span.set_status(Status(StatusCode.ERROR, kind))
    span.end(_ns(at))


def _before(entry: ev.Entry, event: ev.ModelCallReturned | ev.ToolCallReturned) -> datetime:
    """When a call began that another process began."""
    return entry.at - timedelta(milliseconds=event.duration_ms)


def _ns(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1) * 1_000
