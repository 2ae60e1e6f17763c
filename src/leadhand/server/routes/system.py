"""Health, readiness and metrics for operators."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from leadhand.app.runtime.checks import check_writable
from leadhand.app.runtime.membership import queue_of
from leadhand.server.contract import Route
from leadhand.server.metrics import Metrics
from leadhand.server.problems import responses
from leadhand.server.routes.dependencies import ReaderOfAll, TheService
from leadhand.server.schemas import Health

router = APIRouter(route_class=Route, tags=["operators"])


@router.get("/healthz")
async def healthy() -> Health:
    """Return 200 while this process responds."""
    return Health()


@router.get("/readyz", responses=responses(503))
async def ready(service: TheService) -> Health:
    """Return 200 if the database is writable, otherwise 503 with the reason."""
    await check_writable(service.runtime.store)
    return Health()


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}, **responses(401, 403, 429)})
async def metrics(request: Request, service: TheService, _: ReaderOfAll) -> Response:
    """Metrics of this process, of the runs of all keys, in the Prometheus format.

    On PostgreSQL also the processes that take work from the queue, and how much waits there.
    """
    counted: Metrics = request.app.state.metrics
    store = service.runtime.store
    if service.runtime.cluster is not None:
        counted.note_cluster(await store.hosts(), await queue_of(store))
    return Response(counted.text(), headers={"content-type": counted.content_type})
