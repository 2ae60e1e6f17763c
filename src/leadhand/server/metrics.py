"""Metrics for Prometheus: the outcomes of the runs that this process drives, and its HTTP requests.

Runs are counted from new entries of their logs. Entries from before this process took
over a run are not counted again. Labels are limited to the configured tools, models, flows and routes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest

from leadhand.core.approval import ApprovalStatus
from leadhand.core.events import AnyEvent, Entry, ModelCallReturned, RunFinished, StepSettled, ToolCallReturned
from leadhand.core.limits import NANO, Usage
from leadhand.core.state import RunState
from leadhand.ports.hosts import HostKind, HostLine, QueueInfo

OTHER = "other"
"""The label for a name that the run does not define."""
UNMATCHED = "unmatched"
"""The route of a request that matches no route."""

_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_CALLS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_RUNS_S = (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 21_600, 86_400)
_REQUESTS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """The metrics of one server, in a separate registry. Use it from one event loop.

    ``watch`` and ``release`` are for ``watchers`` and ``on_release`` of a runtime.
    """

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, version: str) -> None:
        self._registry = registry = CollectorRegistry()
        self._driven: set[str] = set()
        self._asking: dict[str, int] = {}
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        ProcessCollector(registry=registry)
        Info("leadhand_build", "The version of this server.", registry=registry).info({"version": version})

        self._started = counter("leadhand_runs_started_total", "Runs created by this process.", ["flow"])
        self._finished = counter(
            "leadhand_runs_finished_total",
            "Runs that ended in this process. A reopened run is counted again when it ends.",
            ["flow", "status"],
        )
        self._run_seconds = histogram(
            "leadhand_run_duration_seconds",
            "Duration of runs that ended in this process in seconds, without the time in which they rested.",
            ["flow", "status"],
            buckets=_RUNS_S,
        )
        gauge("leadhand_runs_driving", "Runs that this process is driving.").set_function(lambda: len(self._driven))
        self._subtasks = counter(
            "leadhand_subtasks_settled_total",
            "Settled subtasks: completed, failed, blocked by a failure, supplied or skipped by a person.",
            ["outcome"],
        )
        outcome = "that returned: ok, or the class of the failure."
        self._calls = {
            "model": counter("leadhand_model_calls_total", f"Requests to models {outcome}", ["model", "outcome"]),
            "tool": counter("leadhand_tool_calls_total", f"Calls of tools {outcome}", ["tool", "outcome"]),
        }
        self._call_seconds = {
            "model": histogram(
                "leadhand_model_call_duration_seconds",
                "Duration of requests to models in seconds.",
                ["model"],
                buckets=_CALLS_S,
            ),
            "tool": histogram(
                "leadhand_tool_call_duration_seconds", "Duration of tool calls in seconds.", ["tool"], buckets=_CALLS_S
            ),
        }
        self._tokens = counter(
            "leadhand_model_tokens_total", "Tokens of model calls, as providers counted them.", ["model", "direction"]
        )
        self._cost = counter(
            "leadhand_model_cost_usd_total", "US dollars spent on model calls with a known price.", ["model"]
        )
        self._unpriced = counter(
            "leadhand_model_calls_unpriced_total",
            "Model calls missing from leadhand_model_cost_usd_total because their usage or price is unknown.",
            ["model"],
        )
        asking = gauge("leadhand_approvals_open", "Open approvals of runs that this process has driven.")
        asking.set_function(lambda: sum(self._asking.values()))
        self.stream = gauge("leadhand_sse_streams_open", "Open event streams.").track_inprogress
        """Count an event stream as open inside a ``with`` block."""
        self._queue_depth = gauge("leadhand_queue_depth", "Jobs that wait in the queue of all machines.")
        self._queue_oldest = gauge("leadhand_queue_oldest_seconds", "Seconds that the oldest of these jobs has waited.")
        self._queue_steps = gauge("leadhand_queue_steps", "Steps that wait in these jobs.")
        self._hosts = gauge("leadhand_hosts", "Processes of all machines that drive or carry out runs.", ["kind"])
        self._requests = counter(
            "leadhand_http_requests_total", "HTTP requests by route template.", ["method", "route", "status"]
        )
        self._request_seconds = histogram(
            "leadhand_http_request_duration_seconds",
            "Duration of HTTP requests in seconds, including event streams.",
            ["method", "route"],
            buckets=_REQUESTS_S,
        )

    def note_cluster(self, hosts: Iterable[HostLine], queue: QueueInfo) -> None:
        """Show who is alive, and what waits in the queue."""
        kinds = [line.kind for line in hosts]
        for kind in HostKind:
            self._hosts.labels(kind.value).set(kinds.count(kind))
        self._queue_depth.set(queue.depth)
        self._queue_oldest.set(queue.oldest_s)
        self._queue_steps.set(queue.steps)

    # --- runs --------------------------------------------------------------------------------------------------------

    def watch(self, state: RunState, entries: list[Entry]) -> None:
        """Count these entries of a run that this process drives; ``state`` is the run's state after them."""
        if state.run_id not in self._driven:
            self._driven.add(state.run_id)
            if state.epoch == 1:  # later owners begin with a claim, which raises the epoch
                self._started.labels(state.definition.flow).inc()
        for entry in entries:
            self._count(state, entry.event)
        pending = sum(approval.status is ApprovalStatus.PENDING for approval in state.approvals.values())
        if pending and state.finished is None:
            self._asking[state.run_id] = pending
        else:
            self._asking.pop(state.run_id, None)

    def release(self, state: RunState) -> None:
        """Record that this process no longer drives the run."""
        self._driven.discard(state.run_id)

    def _count(self, state: RunState, event: AnyEvent) -> None:
        match event:
            case RunFinished():
                labels = state.definition.flow, str(event.status)
                self._finished.labels(*labels).inc()
                took = (state.finished_at or state.created_at) - state.created_at - state.rested
                self._run_seconds.labels(*labels).observe(took.total_seconds())
            case StepSettled(final=True) if state.steps[event.step].counts:
                self._subtasks.labels(_outcome(event)).inc()
            case ModelCallReturned():
                name = self._count_call("model", event.model, state.definition.models.names, event)
                self._count_usage(name, event.usage)
            case ToolCallReturned(blocked_args=None):
                self._count_call("tool", event.tool, state.tools, event)
            case _:
                pass

    def _count_call(
        self, kind: str, name: str, known: Container[str], event: ModelCallReturned | ToolCallReturned
    ) -> str:
        """Count a call of a model or a tool, and return the name under which it is counted."""
        name = name if name in known else OTHER
        outcome = "ok" if event.failure is None else str(event.failure.class_)
        self._calls[kind].labels(name, outcome).inc()
        self._call_seconds[kind].labels(name).observe(event.duration_ms / 1_000)
        return name

    def _count_usage(self, model: str, usage: Usage | None) -> None:
        if usage is not None:
            self._tokens.labels(model, "input").inc(usage.input_tokens)
            self._tokens.labels(model, "output").inc(usage.output_tokens)
        if usage is None or usage.nanousd is None:
            self._unpriced.labels(model).inc()
        else:
            self._cost.labels(model).inc(usage.nanousd / NANO)

    # --- serving -----------------------------------------------------------------------------------------------------

    def http(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """Count an HTTP request by the template of its route (``/api/runs/{run_id}``), or None if no route matched."""
        method = method if method in _METHODS else OTHER
        route = UNMATCHED if route is None else route
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus, of the type ``content_type``."""
        return generate_latest(self._registry)


def _outcome(event: StepSettled) -> str:
    """Return how a step was settled: by its attempt, by the failure of what it needs, or by a person."""
    if event.by:
        return "supplied" if event.ok else "skipped"
    return "completed" if event.ok else "failed" if event.attempt else "blocked"
