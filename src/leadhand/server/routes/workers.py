"""List the workers of the project, and promote generated ones."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from leadhand.app.project.generated_workers import Promotion
from leadhand.server.contract import Route
from leadhand.server.problems import responses
from leadhand.server.routes.dependencies import Admin, Reader, TheService
from leadhand.server.schemas import PromotedWorker, WorkerPromotion, WorkersList
from leadhand.server.start_request import Body

router = APIRouter(route_class=Route, prefix="/api/workers", tags=["workers"])
Name = Annotated[str, Path(description="The worker's name.", examples=["deck_evaluator"], max_length=200)]
GeneratedIn = Annotated[
    str | None, Query(max_length=100, description="The run that generated it; default: the newest.")
]


class PromoteBody(Body):
    run_id: str | None = Field(None, max_length=100, description="The run that generated it; default: the newest.")
    digest: str = Field(
        max_length=100,
        description="That of the promotion as you saw it.",
        examples=["7d865e959b2466918c9863afca942d0f"],
    )


@router.get("", responses=responses(401, 403, 429, 503))
async def list_workers(service: TheService, principal: Reader) -> WorkersList:
    """The workers of the project as their files are now: the declared ones, then the generated ones, newest first."""
    found = await service.workers.documents(principal)
    return WorkersList(workers=tuple(service.redactor.value(each) for each in found))


@router.get("/{name}/promotion", responses=responses(401, 403, 404, 422, 429, 503))
async def get_promotion(
    name: Name, service: TheService, principal: Reader, run_id: GeneratedIn = None
) -> WorkerPromotion:
    """What promoting a generated worker would change."""
    found: Promotion = await service.workers.promotion(name, run_id, principal)
    shown = WorkerPromotion(name=name, path=found.path, diff=found.diff(), exists=found.exists, digest=found.digest)
    return service.redactor.value(shown)


@router.post("/{name}/promote", responses=responses(401, 403, 404, 409, 413, 422, 429, 503))
async def promote_worker(name: Name, body: PromoteBody, service: TheService, principal: Admin) -> PromotedWorker:
    """Copy the file of a generated worker to those that the project declares.

    An earlier file of the same name is replaced. Runs that are started from now on know the worker. If the changes are
    not those of the digest any more, nothing is changed (409, `other_version`).
    """
    return PromotedWorker(path=(await service.workers.promote(name, body.run_id, body.digest, principal)).path)
