"""Spans as they come out of runs and logs: collected in memory, and looked at as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from leadhand.app.runtime.runtime import Runtime
from leadhand.app.telemetry.spans import LogTracer, outermost
from leadhand.core.events import Entry
from leadhand.core.evolve import evolve, replay


class Spans:
    """What was traced, by as many tracers as processes had a part in it."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._provider = TracerProvider(shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def tracer(self) -> LogTracer:
        """A tracer such as a process has one."""
        return LogTracer(self._provider.get_tracer("test"))

    def of(self, runtime: Runtime) -> None:
        """Trace what a runtime drives from now on."""
        tracer = self.tracer()
        runtime.watchers.append(tracer.watch)
        runtime.on_release.append(tracer.release)

    def of_log(self, entries: Sequence[Entry], known: int = 1, run_id: str = "run_1") -> None:
        """Trace a drive that began when so many entries were known, committed one by one."""
        tracer, state = self.tracer(), replay(run_id, entries[:known])
        for entry in entries[known:]:
            state = evolve(state, entry)
            tracer.watch(state, [entry])
        tracer.release(state)

    @property
    def all(self) -> list[Any]:
        """Every span that has ended (a ReadableSpan), by when it began."""
        return sorted(self._exporter.get_finished_spans(), key=lambda span: (span.start_time or 0, told(span)))

    def named(self, name: str) -> list[Any]:
        return [span for span in self.all if span.name == name]

    def one(self, name: str) -> Any:
        (span,) = self.named(name)
        return span

    def tree(self, run_id: str = "run_1") -> list[Any]:
        """The names of all spans of a run, each with those beneath it, as nested pairs."""
        return self._beneath(outermost(run_id).span_id)

    def _beneath(self, span_id: int) -> list[Any]:
        children = [span for span in self.all if span.parent is not None and span.parent.span_id == span_id]
        return [(span.name, self._beneath(span.context.span_id)) for span in children]

    def text(self) -> str:
        """Everything that an exporter is given."""
        return "\n".join(span.to_json() for span in self.all)


def told(span: ReadableSpan) -> str:
    """The attempt a span is of."""
    return str((span.attributes or {}).get("leadhand.attempt", ""))
