"""Tracing of the runs of this process. OpenTelemetry is imported only if tracing is configured."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from leadhand.core.events import Entry
from leadhand.core.state import RunState

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.trace import TracerProvider

    from leadhand.app.telemetry.spans import LogTracer

LOGGER = logging.getLogger("leadhand")

FLUSH_S = 3.0
"""Seconds that the end of a process waits for its last spans to be sent."""

_INSTALL = 'uv add "leadhand[otel]", or pip install "leadhand[otel]"'


_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(-.*)?")


def callers_span(headers: Sequence[str]) -> str:
    """Return the span of the W3C ``traceparent`` headers of a request, in version 00 of its format; "" for none.

    As the standard says, a malformed header is ignored, as are several, and a later version is read as far as version
    00 goes.
    """
    found = _TRACEPARENT.fullmatch(headers[0].strip()) if len(headers) == 1 else None
    return "" if found is None or (found[1] == "00" and found[3]) else f"00-{found[2]}"


class Tracing:
    """Makes spans and sends them.

    ``shut_down`` sends the remaining spans; it may block. None: the program has its own provider and shuts it down.
    """

    def __init__(self, tracer: LogTracer, shut_down: Callable[[], None] | None = None) -> None:
        self.watch: Callable[[RunState, list[Entry]], None] = tracer.watch
        self.release: Callable[[RunState], None] = tracer.release
        self._shut_down = shut_down

    async def aclose(self) -> None:
        """Send the remaining spans, for ``FLUSH_S`` seconds at most."""
        if self._shut_down is None:
            return
        shut_down, self._shut_down = self._shut_down, None
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            shut_down()
            with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(sent.set)

        # A daemon thread: neither the loop nor the interpreter waits for a collector that hangs.
        threading.Thread(target=send, name="leadhand-traces", daemon=True).start()
        try:
            async with asyncio.timeout(FLUSH_S):
                await sent.wait()
        except TimeoutError:
            LOGGER.warning("the last traces could not be sent within %g s, and are lost", FLUSH_S)


def tracing(environment: Mapping[str, str]) -> Tracing | None:
    """Return the tracing that the program or the environment configures, or None.

    The program's own provider takes precedence over an OTLP endpoint. A setup that fails is logged once; no run fails.
    """
    if _says(environment, "OTEL_SDK_DISABLED", "true"):
        return None
    endpoint = "" if _says(environment, "OTEL_TRACES_EXPORTER", "none") else _endpoint(environment)
    try:
        provider = _programs_own()
        if provider is not None:
            return Tracing(_log_tracer(provider))
        return _exporting(endpoint) if endpoint else None
    except ImportError:
        warn_once(
            f"an OpenTelemetry endpoint is set, but leadhand[otel] is not installed, so no traces are sent: {_INSTALL}"
        )
    except Exception as error:  # an invalid setting; the SDK's message may contain a secret of a header
        warn_once(
            f"no traces are sent: OpenTelemetry cannot be set up from its OTEL_… variables: {type(error).__name__}"
        )
    return None


def _says(environment: Mapping[str, str], variable: str, word: str) -> bool:
    return environment.get(variable, "").strip().lower() == word


def _endpoint(environment: Mapping[str, str]) -> str:
    """The endpoint for spans, "" if none is set; the second variable is the root of all signals."""
    traces = environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip()
    root = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
    return traces or (f"{root.rstrip('/')}/v1/traces" if root else "")


def _programs_own() -> TracerProvider | None:
    """The provider that the program has set, if any. A program that has not imported the API has set none."""
    api: Any = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    provider = api.get_tracer_provider()
    return None if isinstance(provider, api.ProxyTracerProvider) else provider


def _log_tracer(provider: TracerProvider) -> LogTracer:
    from leadhand.app.telemetry.spans import LogTracer

    return LogTracer(provider.get_tracer("leadhand", version("leadhand")))


def _exporting(endpoint: str) -> Tracing:
    """Return tracing over OTLP/HTTP. The exporter reads the other OTEL_… variables itself."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return Tracing(_log_tracer(provider), provider.shutdown)


def _resource() -> Resource:
    """The service name of the spans, from ``OTEL_SERVICE_NAME`` or ``OTEL_RESOURCE_ATTRIBUTES``, else leadhand."""
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource

    ours = Resource.create({SERVICE_NAME: "leadhand", SERVICE_VERSION: version("leadhand")})
    return ours.merge(OTELResourceDetector().detect())


@cache
def warn_once(message: str) -> None:
    """Log a warning once per process."""
    LOGGER.warning(message)
