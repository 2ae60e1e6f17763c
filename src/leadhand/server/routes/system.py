"""Health, readiness, metrics and system information for operators."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from leadhand import __version__
from leadhand.app.runtime.checks import check_service, check_writable, failed
from leadhand.app.runtime.membership import queue_of, waiting_runs
from leadhand.core.errors import StoreError
from leadhand.server.contract import Route
from leadhand.server.metrics import Metrics
from leadhand.server.problems import responses
from leadhand.server.routes.dependencies import Reader, ReaderOfAll, TheService
from leadhand.server.schemas import (
    CheckLine,
    DatabaseInfo,
    Health,
    HostsDocument,
    ModelInfo,
    RetentionInfo,
    SystemDocument,
)
from leadhand.server.service import Service

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


@router.get("/api/hosts", responses=responses(401, 403, 429, 503))
async def hosts(service: TheService, _: ReaderOfAll) -> HostsDocument:
    """The processes that are alive, what each is doing, the queue that they take work from, and why runs wait in it."""
    store = service.runtime.store
    found = await store.hosts()
    waiting = await waiting_runs(store, found) if service.runtime.cluster is not None else ()
    queue = await queue_of(store)
    return HostsDocument(hosts=tuple(found), queue=queue.evolve(waiting=tuple(waiting)))


@router.get("/api/system", responses=responses(401, 403, 429, 503))
async def system(request: Request, service: TheService, principal: Reader) -> SystemDocument:
    """The database, hosts, versions and checks of this server; what is about runs, for those who may read all runs."""
    store, all_runs = service.runtime.store, principal.reads_of is None
    about = await store.about()
    choice = service.runtime.choice
    try:
        found = [each async for each in check_service(service.runtime.settings, store)]
    except StoreError as error:
        found = [failed("database", error)]
    return SystemDocument(
        version=__version__,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        started_at=service.started_at,
        database=DatabaseInfo(
            name=about.name,
            kind=about.kind,
            schema_version=about.version,
            bytes=about.bytes,
            runs=about.runs if all_runs else {},
        ),
        model=ModelInfo(name=choice.models.default, why=choice.why),
        hosts=tuple(await store.hosts()) if all_runs else (),
        streams=request.app.state.metrics.open_streams,
        driving=len(service.driver.driving),
        console=request.app.state.console,
        retention=await _retention(service, all_runs=all_runs),
        checks=tuple(
            CheckLine(name=each.check, ok=each.level == "ok", what=each.what, how=each.how)
            for each in found
            if all_runs or each.check != "runs"
        ),
    )


async def _retention(service: Service, *, all_runs: bool) -> RetentionInfo:
    upkeep, kept = service.upkeep, service.upkeep.kept
    expired = await kept.expired(service.runtime.store, datetime.now(UTC)) if all_runs and kept else []
    return RetentionInfo(
        keep_for_s=None if kept.keep_for is None else int(kept.keep_for.total_seconds()),
        keep_runs=kept.keep_runs,
        expired=len(expired) if all_runs else None,
        deleted=upkeep.deleted,
        checked_at=upkeep.deleted_at,
    )
