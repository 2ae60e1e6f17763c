"""Set up traces of a process's runs. Imports OpenTelemetry only if something receives them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from leadhand.domain.events import Entry
from leadhand.domain.state import RunState

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.trace import TracerProvider

    from leadhand.app.spans import LogTracer

LOGGER = logging.getLogger("leadhand")

FLUSH_S = 3.0
"""Seconds that the end of a process waits for its last spans to be sent."""

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_INSTALL = 'uv add "leadhand[otel]", or pip install "leadhand[otel]"'


class Tracing:
    """Makes spans and sends them.

    ``shut_down`` sends the last spans and may block. None: the program's own provider sends them.
    """

    def __init__(self, tracer: LogTracer, shut_down: Callable[[], None] | None = None) -> None:
        self.watch: Callable[[RunState, list[Entry]], None] = tracer.watch
        self.release: Callable[[RunState], None] = tracer.release
        self._shut_down = shut_down

    async def aclose(self) -> None:
        """Send the last spans, for ``FLUSH_S`` seconds at most."""
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
    """Return the tracing of a process with this environment; None if nothing receives traces.

    The program's own provider comes first, then an OTLP endpoint in the environment. A set-up that fails is logged
    once, and no run fails for it.
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
        warn_once(f"an OpenTelemetry endpoint is set, and no traces are sent: install leadhand[otel]: {_INSTALL}")
    except Exception as error:  # the SDK's message is not logged: it may hold a secret from a header
        warn_once(
            f"no traces are sent: OpenTelemetry cannot be set up from its OTEL_… variables: {type(error).__name__}"
        )
    return None


def _says(environment: Mapping[str, str], variable: str, word: str) -> bool:
    return environment.get(variable, "").strip().lower() == word


def _endpoint(environment: Mapping[str, str]) -> str:
    """Return the endpoint of traces, or "". The variable for all signals needs the path of traces."""
    traces, root = environment.get(_TRACES_ENDPOINT, "").strip(), environment.get(_ENDPOINT, "").strip()
    return traces or (f"{root.rstrip('/')}/v1/traces" if root else "")


def _programs_own() -> TracerProvider | None:
    """The provider that the program set for the whole process, if any."""
    api: Any = sys.modules.get("opentelemetry.trace")  # a program that set one has imported it
    if api is None:
        return None
    provider = api.get_tracer_provider()
    return None if isinstance(provider, api.ProxyTracerProvider) else provider


def _log_tracer(provider: TracerProvider) -> LogTracer:
    from importlib.metadata import version

    from leadhand.app.spans import LogTracer

    return LogTracer(provider.get_tracer("leadhand", version("leadhand")))


def _exporting(endpoint: str) -> Tracing:
    """Send traces over OTLP/HTTP. The exporter reads the other OTEL_… variables itself."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return Tracing(_log_tracer(provider), provider.shutdown)


def _resource() -> Resource:
    """The service's name from ``OTEL_SERVICE_NAME`` or ``OTEL_RESOURCE_ATTRIBUTES``, else leadhand."""
    from importlib.metadata import version

    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource

    said = Resource.create()
    named = not str(said.attributes.get(SERVICE_NAME, "")).startswith("unknown_service")
    ours = {} if named else {SERVICE_NAME: "leadhand", SERVICE_VERSION: version("leadhand")}
    return said.merge(Resource(ours))


@cache
def warn_once(message: str) -> None:
    LOGGER.warning(message)
