"""The FastAPI app: its state, routes, errors, access control and the console."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute
from starlette.types import Lifespan

from leadhand import __version__
from leadhand.app.runtime.driver import Resumer
from leadhand.app.settings import user
from leadhand.ports.hosts import HostKind
from leadhand.server.access import Access
from leadhand.server.console import add_console
from leadhand.server.event_shapes import EventWords
from leadhand.server.guard import LOOPBACK, Guard
from leadhand.server.logs import AccessLog
from leadhand.server.metrics import Metrics
from leadhand.server.problems import LARGEST_BODY, ProblemDetails, answer_errors, responses
from leadhand.server.rates import Allowed, Rates
from leadhand.server.routes import (
    approvals,
    calls,
    control,
    events,
    files,
    flows,
    keys,
    runs,
    session,
    system,
    tools,
    webhooks,
    workers,
)
from leadhand.server.service import Service
from leadhand.server.webhooks import Deliverer

ABOUT = """Start, watch, steer and approve runs. Errors are problem details (RFC 9457): `detail` says what is wrong,
`how` says how to fix it. On loopback no key is needed; elsewhere send `Authorization: Bearer lh_…`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """Access rules. ``key_needed``: every request needs a key. ``hosts``: accepted host names (None: any).
    ``origins``: sites whose pages may use the API with a key. ``allowed``: the rate limits of one key. ``local``:
    the server listens on loopback only, where its webhooks may be, too."""

    key_needed: bool = False
    hosts: Collection[str] | None = LOOPBACK
    origins: Sequence[str] = ()
    allowed: Allowed = field(default_factory=Allowed)
    local: bool = False


def create_app(service: Service, *, doors: Doors | None = None, console: Path | None = None) -> FastAPI:
    """Return the app of a service. While the app runs, it also resumes the service's detached runs.

    ``console`` is the folder of the built console. Raises ConfigurationError if the store does not support API keys.
    """
    doors = doors or Doors()
    counted = Metrics(__version__)
    rates = Rates(doors.allowed)
    store = service.runtime.database
    service.runtime.watchers.append(counted.watch)
    service.runtime.on_release.append(counted.release)
    resumer = Resumer(service.driver)
    deliverer = Deliverer(store, local=doors.local)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        host = None
        if service.runtime.cluster is not None:
            from leadhand.app.runtime.cluster_host import ClusterHost

            host = ClusterHost(service.driver)
            await host.start(HostKind.SERVER)
        resumer.start()
        deliverer.start()
        service.upkeep.start()
        try:
            yield
        finally:
            await resumer.aclose()
            if host is not None:
                await host.drain(0.0)
                await host.aclose()
            await deliverer.aclose()
            await service.upkeep.aclose()
            service.hang_up()
            service.drafts.close()

    app = routed(lifespan)
    app.state.service = service
    app.state.access = Access(store, rates, needed=doors.key_needed, user=user())
    app.state.metrics = counted
    app.state.local = doors.local
    add_console(app, console)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=LARGEST_BODY)  # behind the guard's own refusal
    if doors.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(doors.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "idempotency-key", "last-event-id"],
            expose_headers=["location", "retry-after", "idempotency-replayed"],
        )
    app.add_middleware(Guard, hosts=doors.hosts, origins=doors.origins)
    app.add_middleware(AccessLog, on_request=counted.http)
    app.add_middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5)  # last, since the others read what is sent
    app.openapi = partial(_document_of, doors)
    return app


def routed(lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    """Return the app with its routes but without a service: enough for the OpenAPI document."""
    app = FastAPI(
        title="Leadhand",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        routes=list(_routes()),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # each path has one spelling
        telemetry={"tracing": False, "metrics": False, "logs": False},  # traces come from the log, redacted
    )
    answer_errors(app)
    app.openapi = _document
    return app


@cache
def _routes() -> Sequence[BaseRoute]:
    """The routes of the API, shared by all apps of a process: FastAPI takes 30 ms to analyse them."""
    shared = APIRouter(generate_unique_id_function=lambda route: route.name)
    for routes in (
        runs,
        events,
        calls,
        files,
        control,
        approvals,
        tools,
        flows,
        workers,
        keys,
        webhooks,
        session,
        system,
    ):
        shared.include_router(routes.router)
    return shared.routes


def _document_of(doors: Doors) -> dict[str, Any]:
    """The OpenAPI document of a server: it says whether it needs a key."""
    document = dict(_document())
    if not doors.key_needed:
        document["paths"] = {
            path: {
                method: operation | {"security": [*operation["security"], {}]} if "security" in operation else operation
                for method, operation in operations.items()
            }
            for path, operations in document["paths"].items()
        }
    return document


@cache
def _document() -> dict[str, Any]:
    """The OpenAPI document: the same for every app, and made once, because that takes a second.

    It holds problem details and the responses that every route shares.
    """
    schema = FastAPI.openapi(routed())
    shapes = schema["components"]["schemas"]
    for shared in (EventWords, ProblemDetails):  # shapes that others refer to by name
        shapes[shared.__name__] = shared.model_json_schema()
    for name, shape in shapes.items():
        if "-" in name:  # Limits-Input and Limits-Output: generators of clients name classes after titles
            shape["title"] = name.replace("-", "")
        for each in shape.get("properties", {}).values():
            if "$ref" in each:  # and refuse a default beside a reference
                each.pop("default", None)
    for operations in schema["paths"].values():
        for method, operation in operations.items():
            usually = responses(421, 422, 500) if method == "get" else responses(403, 421, 422, 500)
            if "requestBody" in operation:
                usually |= responses(415)
            both = {str(status): each for status, each in usually.items()} | operation["responses"]
            operation["responses"] = dict(sorted(both.items()))
    return schema
