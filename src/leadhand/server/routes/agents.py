"""Show and change the roles of runs that are started here."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field

from leadhand.domain.access import LONGEST_INSTRUCTIONS
from leadhand.server.agents import NAMES
from leadhand.server.contract import Route
from leadhand.server.problems import Problem, no_such, responses
from leadhand.server.routes.dependencies import Admin, Reader, TheService
from leadhand.server.schemas import AgentDocument, AgentsList
from leadhand.server.start_request import Body

router = APIRouter(route_class=Route, prefix="/api", tags=["agents"])
Name = Annotated[str, Path(description="The role.", examples=["worker"], max_length=100)]


class AgentBody(Body):
    """A missing or null field keeps the default."""

    model: str | None = Field(None, description="The model, as provider:name.", examples=["offline"], max_length=500)
    instructions: str | None = Field(
        None,
        description="The instructions in Markdown, instead of the default ones.",
        min_length=1,
        max_length=LONGEST_INSTRUCTIONS,
    )


@router.get("/agents", responses=responses(401, 403, 421, 429, 503))
async def list_agents(service: TheService, _: Reader) -> AgentsList:
    """The roles of runs that are started here, with their models and instructions."""
    return AgentsList(agents=await service.agents.documents())


class NewAgentBody(AgentBody):
    name: str = Field(description="The role.", examples=["worker"], max_length=100)


@router.post("/agents", status_code=201, responses=responses(401, 403, 404, 409, 413, 421, 422, 429, 503))
async def add_agent(body: NewAgentBody, service: TheService, principal: Admin, response: Response) -> AgentDocument:
    """Change a role that has its defaults. Use PUT for a role that was changed before."""
    _check(body.name)
    before = await service.agents.document(body.name)
    if before.changed is not None:
        raise Problem(
            HTTPStatus.CONFLICT,
            "conflict",
            f"the role {body.name} was already changed by {before.changed.by}",
            f"Use PUT /api/agents/{body.name} to change it again.",
        )
    await service.agents.set(body.name, body.model, body.instructions, by=principal.name, at=datetime.now(UTC))
    response.headers["location"] = f"/api/agents/{body.name}"
    return await service.agents.document(body.name)


@router.put("/agents/{name}", responses=responses(401, 403, 404, 413, 421, 422, 429, 503))
async def set_agent(name: Name, body: AgentBody, service: TheService, principal: Admin) -> AgentDocument:
    """Set a role's model and instructions for new runs. Runs that exist keep theirs."""
    _check(name)
    await service.agents.set(name, body.model, body.instructions, by=principal.name, at=datetime.now(UTC))
    return await service.agents.document(name)


@router.delete("/agents/{name}", status_code=204, responses=responses(401, 403, 404, 421, 422, 429, 503))
async def unset_agent(name: Name, service: TheService, _: Admin) -> Response:
    """Reset a role to its defaults."""
    _check(name)
    await service.agents.unset(name)
    return Response(status_code=204)


def _check(name: str) -> None:
    """Raise Problem (404) for a role that the flow does not have."""
    if name not in NAMES:
        raise no_such(f"there is no role {name!r}", f"The roles of the work-order flow: {', '.join(NAMES)}.")
