"""What Prometheus is told: what becomes of the runs that this process drives, and how it serves.

Everything about runs is counted from their logs, as it is committed here; what happened before this process took a run
over is not counted again. No label can take more values than the team's own tools, models, flows and routes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest

from leadhand.domain import events as ev
from leadhand.domain.approval import ApprovalStatus
from leadhand.domain.errors import Failure
from leadhand.domain.limits import NANO
from leadhand.domain.state import RunState

OTHER = "other"
"""The label of what is none of the names that are known beforehand."""
UNMATCHED = "unmatched"
"""The route of a request that none fits."""

_ABOUT_QUESTIONS = (ev.ApprovalRequested, ev.ApprovalAnswered, ev.ApprovalExpired, ev.EffectAnswered, ev.RunFinished)
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_CALLS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_REQUESTS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """The metrics of one server, in a registry of their own. Belongs to one event loop.

    ``watch`` and ``let_go`` are for the lists of the same names of a :class:`~leadhand.app.runtime.Runtime`.
    """

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, version: str) -> None:
        self._registry = registry = CollectorRegistry()
        self._driven: set[str] = set()
        self._asking: dict[str, int] = {}
        ProcessCollector(registry=registry)
        Info("leadhand_build", "The release that serves.", registry=registry).info({"version": version})

        self._started = Counter(
            "leadhand_runs_started_total", "Runs made and driven here for the first time.", ["flow"], registry=registry
        )
        self._finished = Counter(
            "leadhand_runs_finished_total",
            "Runs that came to an end here; one that was reopened ends again.",
            ["flow", "status"],
            registry=registry,
        )
        driving = Gauge("leadhand_runs_driving", "Runs that this process drives now.", registry=registry)
        driving.set_function(lambda: len(self._driven))
        self._subtasks = Counter(
            "leadhand_subtasks_settled_total",
            "Subtasks settled: completed, failed, blocked by one that failed, supplied or skipped by a person.",
            ["outcome"],
            registry=registry,
        )
        self._model_calls = Counter(
            "leadhand_model_calls_total",
            "Requests to models that came back: ok, or the class of the failure.",
            ["model", "outcome"],
            registry=registry,
        )
        self._model_seconds = Histogram(
            "leadhand_model_call_duration_seconds",
            "How long requests to models took.",
            ["model"],
            buckets=_CALLS_S,
            registry=registry,
        )
        self._tokens = Counter(
            "leadhand_model_tokens_total",
            "Tokens of model calls, as providers counted them.",
            ["model", "direction"],
            registry=registry,
        )
        self._cost = Counter(
            "leadhand_model_cost_usd_total",
            "US dollars spent on model calls whose price is known.",
            ["model"],
            registry=registry,
        )
        self._unpriced = Counter(
            "leadhand_model_calls_unpriced_total",
            "Model calls that are not in leadhand_model_cost_usd_total: their usage or their price is not known.",
            ["model"],
            registry=registry,
        )
        self._tool_calls = Counter(
            "leadhand_tool_calls_total",
            "Calls of tools that came back: ok, or the class of the failure.",
            ["tool", "outcome"],
            registry=registry,
        )
        self._tool_seconds = Histogram(
            "leadhand_tool_call_duration_seconds",
            "How long calls of tools took.",
            ["tool"],
            buckets=_CALLS_S,
            registry=registry,
        )
        asking = Gauge(
            "leadhand_approvals_open",
            "Questions to people that wait for an answer, in the runs that this process has driven.",
            registry=registry,
        )
        asking.set_function(lambda: sum(self._asking.values()))
        self._streams = Gauge("leadhand_sse_streams_open", "Event streams that are open.", registry=registry)
        self._requests = Counter(
            "leadhand_http_requests_total",
            "HTTP requests answered, by the template of their route.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._request_seconds = Histogram(
            "leadhand_http_request_duration_seconds",
            "How long HTTP requests took, event streams to their end included.",
            ["method", "route"],
            buckets=_REQUESTS_S,
            registry=registry,
        )

    # --- runs --------------------------------------------------------------------------------------------------------

    def watch(self, state: RunState, entries: list[ev.Entry]) -> None:
        """Count these entries of a run that this process drives; ``state`` is the run's after them."""
        if state.run_id not in self._driven:
            self._driven.add(state.run_id)
            self._note_questions(state)
            if state.epoch == 1:  # every later driving begins with a claim, which raises the epoch
                self._started.labels(state.definition.flow).inc()
        for entry in entries:
            self._count(state, entry.event)
        if any(isinstance(entry.event, _ABOUT_QUESTIONS) for entry in entries):
            self._note_questions(state)

    def let_go(self, state: RunState) -> None:
        """This process drives the run no more."""
        self._driven.discard(state.run_id)

    def _count(self, state: RunState, event: ev.AnyEvent) -> None:
        match event:
            case ev.RunFinished():
                self._finished.labels(state.definition.flow, str(event.status)).inc()
            case ev.AttemptSettled(final=True) if event.counts:
                self._subtasks.labels("completed" if event.ok else "failed").inc()
            case ev.SubtaskBlocked():
                self._subtasks.labels("blocked").inc()
            case ev.SubtaskResolved():
                self._subtasks.labels("skipped" if event.data is None else "supplied").inc()
            case ev.ModelCallReturned():
                self._count_model_call(state, event)
            case ev.ToolCallReturned():
                tool = event.tool if any(event.tool == known.name for known in state.definition.tools) else OTHER
                self._tool_calls.labels(tool, _outcome(event.failure)).inc()
                self._tool_seconds.labels(tool).observe(event.duration_ms / 1_000)
            case _:
                pass

    def _count_model_call(self, state: RunState, event: ev.ModelCallReturned) -> None:
        models = state.definition.models
        model = event.model if event.model in (models.default, *models.roles.values()) else OTHER
        self._model_calls.labels(model, _outcome(event.failure)).inc()
        self._model_seconds.labels(model).observe(event.duration_ms / 1_000)
        usage = event.usage
        if usage is not None:
            self._tokens.labels(model, "input").inc(usage.input_tokens)
            self._tokens.labels(model, "output").inc(usage.output_tokens)
        if usage is None or usage.nanousd is None:
            self._unpriced.labels(model).inc()
        else:
            self._cost.labels(model).inc(usage.nanousd / NANO)

    def _note_questions(self, state: RunState) -> None:
        pending = sum(approval.status is ApprovalStatus.PENDING for approval in state.approvals.values())
        if pending and state.finished is None:
            self._asking[state.run_id] = pending
        else:
            self._asking.pop(state.run_id, None)

    # --- serving -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def stream(self) -> Generator[None]:
        """Count an event stream as open for as long as this lasts."""
        self._streams.inc()
        try:
            yield
        finally:
            self._streams.dec()

    def http(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """Count an HTTP request: its route's template (``/api/runs/{run_id}``), None where no route fits; never a
        path as it was asked for."""
        method = method if method in _METHODS else OTHER
        route = UNMATCHED if route is None else route
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """All of it in the text format of Prometheus, of the type ``content_type``."""
        return generate_latest(self._registry)


def _outcome(failure: Failure | None) -> str:
    return "ok" if failure is None else str(failure.class_)
