"""Figures of model and tool calls, by the OpenTelemetry conventions for GenAI clients.

The metrics are those of https://github.com/open-telemetry/semantic-conventions-genai: durations in seconds, tokens as
providers counted them. They are made from the events of the log, and have no text of a run.
"""

from __future__ import annotations

from opentelemetry.metrics import Meter

from leadhand.app.telemetry.spans import Attributes, error_type, model_attributes
from leadhand.core.events import Entry, ModelCallReturned, ToolCallReturned
from leadhand.core.state import RunState

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""The boundaries that the conventions advise."""


class LogMeter:
    """Counts the calls of the runs that a process drives."""

    def __init__(self, meter: Meter) -> None:
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="Duration of calls of models and tools.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Tokens of calls of models.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )

    def watch(self, state: RunState, entries: list[Entry]) -> None:
        """Count the calls that returned; ``state`` is the run's state after these entries."""
        for event in (entry.event for entry in entries):
            if isinstance(event, ModelCallReturned):
                about = {"gen_ai.operation.name": "chat", **model_attributes(event.model)}
                self._take(event, about)
                if event.usage is not None:
                    self._tokens.record(event.usage.input_tokens, {**about, "gen_ai.token.type": "input"})
                    self._tokens.record(event.usage.output_tokens, {**about, "gen_ai.token.type": "output"})
            elif isinstance(event, ToolCallReturned) and event.blocked_args is None and event.tool in state.tools:
                self._take(event, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": event.tool})

    def release(self, state: RunState) -> None:
        """Nothing is kept of a run."""

    def _take(self, event: ModelCallReturned | ToolCallReturned, about: Attributes) -> None:
        failed = {} if event.failure is None else {"error.type": error_type(event.failure)}
        self._duration.record(event.duration_ms / 1_000, {**about, **failed})
