"""Traces and metrics of the runs of this process, by OpenTelemetry: imported only if something is configured."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from leadhand.core.events import Entry
from leadhand.core.state import RunState

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

LOGGER = logging.getLogger("leadhand")

FLUSH_S = 3.0
"""Seconds that the end of a process waits for its last spans and figures to be sent."""

_INSTALL = 'uv add "leadhand[otel]", or pip install "leadhand[otel]"'


class Observer(Protocol):
    """Turns the entries of runs into spans or figures."""

    def watch(self, state: RunState, entries: list[Entry], /) -> None:
        """Take these entries; ``state`` is the run's state after them."""
        ...

    def release(self, state: RunState, /) -> None:
        """Take note that this process no longer drives a run."""
        ...


Sink = tuple[Observer, Callable[[], None] | None]
"""An observer, and what sends its remaining spans or figures; that may block. None: the program does so itself."""


class Telemetry:
    """Makes spans and figures, and sends them."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self.observers = [observer for observer, _ in sinks]
        self._shut_downs = [shut_down for _, shut_down in sinks if shut_down is not None]

    async def aclose(self) -> None:
        """Send what remains, for ``FLUSH_S`` seconds at most."""
        shut_downs, self._shut_downs = self._shut_downs, []
        if not shut_downs:
            return
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            for shut_down in shut_downs:
                shut_down()
            with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(sent.set)

        # A daemon thread: neither the loop nor the interpreter waits for a collector that hangs.
        threading.Thread(target=send, name="leadhand-telemetry", daemon=True).start()
        try:
            async with asyncio.timeout(FLUSH_S):
                await sent.wait()
        except TimeoutError:
            LOGGER.warning("the last traces and metrics could not be sent within %g s, and are lost", FLUSH_S)


def telemetry(environment: Mapping[str, str]) -> Telemetry | None:
    """Return what the program or the environment configures for traces and metrics, or None.

    A program's own provider takes precedence over an OTLP endpoint. A setup that fails is logged once; no run fails.
    """
    if _says(environment, "OTEL_SDK_DISABLED", "true"):
        return None
    sinks: list[Sink] = []
    for name, signal in _SIGNALS.items():
        off = _says(environment, f"OTEL_{name.upper()}_EXPORTER", "none")
        endpoint = "" if off else _endpoint(environment, name)
        try:
            if (provider := signal.programs_own()) is not None:
                sinks.append((signal.observer(provider), None))
            elif endpoint:
                provider = signal.exporting(endpoint)
                sinks.append((signal.observer(provider), provider.shutdown))
        except ImportError:
            what = "an OpenTelemetry endpoint is set, but leadhand[otel] is not installed"
            warn_once(f"{what}, so nothing is sent to it: {_INSTALL}")
        except Exception as error:  # an invalid setting; the SDK's message may contain a secret of a header
            why = f"OpenTelemetry cannot be set up from its OTEL_… variables: {type(error).__name__}"
            warn_once(f"no {name} are sent: {why}")
    return Telemetry(sinks) if sinks else None


def _says(environment: Mapping[str, str], variable: str, word: str) -> bool:
    return environment.get(variable, "").strip().lower() == word


def _endpoint(environment: Mapping[str, str], signal: str) -> str:
    """The endpoint of a signal, "" if none is set; the second variable is the root of all signals."""
    own = environment.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "").strip()
    root = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
    return own or (f"{root.rstrip('/')}/v1/{signal}" if root else "")


class _Signal(NamedTuple):
    """A kind of telemetry: where the API has the provider of the program, the class of what it has without one, the
    observer that records with a provider, and a provider that sends to an endpoint over OTLP/HTTP."""

    api: str
    getter: str
    placeholder: str
    observer: Callable[[Any], Observer]
    exporting: Callable[[str], Any]

    def programs_own(self) -> Any:
        """The provider that the program has set, if any. A program that has not imported the API has set none."""
        api: Any = sys.modules.get(self.api)
        provider = None if api is None else getattr(api, self.getter)()
        return None if type(provider).__name__ == self.placeholder else provider


def _tracer(provider: Any) -> Observer:
    from leadhand.app.telemetry.spans import LogTracer

    return LogTracer(provider.get_tracer("leadhand", version("leadhand")))


def _meter(provider: Any) -> Observer:
    from leadhand.app.telemetry.meters import LogMeter

    return LogMeter(provider.get_meter("leadhand", version("leadhand")))


def _exporting_traces(endpoint: str) -> Any:
    """Return what sends traces. The exporter reads the other OTEL_… variables itself."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return provider


def _exporting_metrics(endpoint: str) -> Any:
    """Return what sends metrics, once a minute (``OTEL_METRIC_EXPORT_INTERVAL``) and at the end."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=endpoint))
    return MeterProvider([reader], resource=_resource(), shutdown_on_exit=False)


_SIGNALS = {
    "traces": _Signal("opentelemetry.trace", "get_tracer_provider", "ProxyTracerProvider", _tracer, _exporting_traces),
    "metrics": _Signal(
        "opentelemetry.metrics", "get_meter_provider", "_ProxyMeterProvider", _meter, _exporting_metrics
    ),
}


def _resource() -> Resource:
    """The service name of the spans, from ``OTEL_SERVICE_NAME`` or ``OTEL_RESOURCE_ATTRIBUTES``, else leadhand."""
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource

    ours = Resource.create({SERVICE_NAME: "leadhand", SERVICE_VERSION: version("leadhand")})
    return ours.merge(OTELResourceDetector().detect())


@cache
def warn_once(message: str) -> None:
    """Log a warning once per process."""
    LOGGER.warning(message)
