"""What operators look at: health, readiness, metrics, and the system as a whole."""

from __future__ import annotations

import platform

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from leadhand import __version__
from leadhand.app.checks import check_service
from leadhand.domain.document import iso
from leadhand.domain.errors import StoreError
from leadhand.server.metrics import Metrics
from leadhand.server.problems import responses
from leadhand.server.routes.dependencies import Reader, TheService, document
from leadhand.server.schemas import Health, SystemDocument

router = APIRouter(tags=["operators"])


@router.get("/healthz", response_model=Health)
async def healthy() -> JSONResponse:
    """Whether this process answers."""
    return document({"status": "ok"})


@router.get("/readyz", response_model=Health, responses={**responses(503)})
async def ready(service: TheService) -> JSONResponse:
    """Whether the database can be written: 503 when it cannot, and says why."""
    await service.check_writable()
    return document({"status": "ok"})


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}, **responses(401, 403, 429)})
async def metrics(request: Request, _: Reader) -> Response:
    """Counters and timings of this process, in the format of Prometheus."""
    counted: Metrics = request.app.state.metrics
    return Response(counted.text(), headers={"content-type": counted.content_type})


@router.get("/api/system", response_model=SystemDocument, responses={**responses(401, 403, 429, 503)})
async def system(request: Request, service: TheService, _: Reader) -> JSONResponse:
    """Database, hosts, versions and checks."""
    store = service.runtime.store
    about = await store.about()
    choice = service.runtime.choice
    try:
        checks = [finding.document() async for finding in check_service(service.runtime.settings, store)]
    except StoreError as error:
        checks = [{"check": "database", "level": "fail", "what": error.what, "how": error.how}]
    return document(
        {
            "version": __version__,
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "started_at": iso(service.started_at),
            "database": {
                "name": about.name,
                "kind": about.kind,
                "schema": about.version,
                "bytes": about.bytes,
                "runs": {status.value: number for status, number in about.runs.items()},
            },
            "model": {"name": choice.models.default, "why": choice.why},
            "hosts": [{"host": each.host, "here": each.here, "runs": list(each.runs)} for each in await store.hosts()],
            "streams": service.feeds.clients,
            "driving": len(service.driving),
            "console": request.app.state.console,
            "checks": [
                {"name": each["check"], "ok": each["level"] == "ok", "what": each["what"], "how": each["how"]}
                for each in checks
            ],
        }
    )
