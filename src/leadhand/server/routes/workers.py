"""List the workers of the project."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from leadhand.app.project.generated_workers import checked, declared_documents, generated_workers
from leadhand.core.errors import NoSuchRun
from leadhand.server.access import Principal
from leadhand.server.contract import Route
from leadhand.server.problems import responses
from leadhand.server.routes.dependencies import Reader, TheService
from leadhand.server.schemas import WorkersList
from leadhand.server.service import Service

router = APIRouter(route_class=Route, prefix="/api/workers", tags=["workers"])


@router.get("", responses=responses(401, 403, 429, 503))
async def list_workers(service: TheService, principal: Reader) -> WorkersList:
    """The workers of the project as their files are now: the declared ones, then the generated ones, newest first."""
    project = service.runtime.settings.project
    if project is None:
        return WorkersList(workers=())
    found = await asyncio.to_thread(lambda: [*declared_documents(project), *generated_workers(project)])
    found = [each for each in found if await _may_read(service, principal, each.run_id)]
    return WorkersList(workers=tuple(map(service.redactor.value, checked(found, service.runtime.toolbox))))


async def _may_read(service: Service, principal: Principal, run_id: str | None) -> bool:
    """Whether the principal may read a run; files of runs that are deleted are for those who read all."""
    if run_id is None or principal.reads_of is None:
        return True
    try:
        return principal.may_read((await service.runtime.store.run(run_id)).key_id)
    except NoSuchRun:
        return False
