"""A collector such as operators run: it takes spans and metrics over HTTP, and says what it got."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """``requests`` are what came in, by path. While ``answers`` is not set it takes spans and says nothing."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, ExportTraceServiceRequest]] = []
        self.metrics: list[ExportMetricsServiceRequest] = []
        self.bodies: list[bytes] = []
        self.answers = threading.Event()
        self.answers.set()
        self.url = ""

    def points(self, metric: str) -> list[dict[str, str | float]]:
        """The last points of a metric: the attributes of each, and its ``sum`` and ``count``."""
        found: dict[str, list[dict[str, str | float]]] = {}
        for request in self.metrics:
            for scope in (scope for resource in request.resource_metrics for scope in resource.scope_metrics):
                for each in scope.metrics:
                    found[each.name] = [
                        {
                            **{one.key: one.value.string_value for one in point.attributes},
                            "sum": point.sum,
                            "count": point.count,
                        }
                        for point in each.histogram.data_points
                    ]
        return found.get(metric, [])

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for _, request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def resource(self) -> dict[str, str]:
        """What sent the spans."""
        (_, request), *_ = self.requests
        return {each.key: each.value.string_value for each in request.resource_spans[0].resource.attributes}


@contextmanager
def collecting() -> Generator[Collector]:
    """A collector that listens on this machine."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.answers.wait(60)
            collector.bodies.append(body)
            if self.path.endswith("/v1/metrics"):
                collector.metrics.append(ExportMetricsServiceRequest.FromString(body))
            else:
                collector.requests.append((self.path, ExportTraceServiceRequest.FromString(body)))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Tests look at what came in."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, name="collector", daemon=True)
    serving.start()
    collector.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collector
    finally:
        collector.answers.set()
        server.shutdown()
        server.server_close()
        serving.join()
