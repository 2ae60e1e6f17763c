"""Show and change the roles of runs that are started here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field

from leadhand.domain.access import AgentSettings
from leadhand.domain.run import LONGEST_INSTRUCTIONS
from leadhand.flows.report.options import TaskField
from leadhand.server.access import Principal
from leadhand.server.contract import Route
from leadhand.server.problems import responses
from leadhand.server.routes.dependencies import Admin, Reader, TheService
from leadhand.server.schemas import AgentDocument, AgentsList
from leadhand.server.start_request import Body

router = APIRouter(route_class=Route, prefix="/api", tags=["agents"])
Name = Annotated[str, Path(description="The role, as GET /api/agents names it.", examples=["worker"], max_length=100)]


class AgentBody(Body):
    """A missing or null field keeps the default. Only a stage of the report flow has the fields from ``off`` on."""

    model: str | None = Field(None, description="The model, as provider:name.", examples=["offline"], max_length=500)
    instructions: str | None = Field(
        None,
        description="The instructions in Markdown, instead of the default ones.",
        min_length=1,
        max_length=LONGEST_INSTRUCTIONS,
    )
    agent: str | None = Field(
        None,
        description="The Python class that carries the stage out: a name among the classes of GET /api/agents.",
        max_length=100,
    )
    off: bool = Field(False, description="Leave the stage out of new runs.")
    after: str | None = Field(None, description="The stage that an added one follows. Default: the writer.")
    before: str | None = Field(None, description="The stage that an added one precedes, instead of after.")
    gives: list[TaskField] | None = Field(
        None, description='What an added stage gives: one of "feedback" (the default), "draft" and "research".'
    )
    tools: list[str] | None = Field(None, description="The tools that the stage may call.", max_length=200)
    max_turns: int | None = Field(None, ge=1, description="Maximum turns of each of its assignments.")
    max_requests: int | None = Field(None, ge=1, description="Maximum model calls of each of its assignments.")
    max_tokens: int | None = Field(None, ge=1, description="Maximum tokens of each of its assignments.")
    budget: float | None = Field(None, ge=0, description="Maximum cost of each of its assignments, in US dollars.")

    def settings(self, name: str, principal: Principal) -> AgentSettings:
        """The settings of the role with this name."""
        stage = self.model_dump(exclude={"name", "model", "instructions"}, exclude_defaults=True)
        return AgentSettings(
            name=name,
            model=self.model,
            instructions=self.instructions,
            stage=stage,
            by=principal.name,
            at=datetime.now(UTC),
        )


@router.get("/agents", responses=responses(401, 403, 421, 429, 503))
async def list_agents(service: TheService, _: Reader) -> AgentsList:
    """The roles of runs that are started here, by flow, with their models and instructions."""
    return AgentsList(agents=await service.agents.documents(), classes=service.agents.classes())


class NewAgentBody(AgentBody):
    name: str = Field(
        description="The role, or report. and the name of a stage.",
        examples=["worker", "report.fact-checker"],
        max_length=100,
    )


@router.post("/agents", status_code=201, responses=responses(401, 403, 404, 409, 413, 421, 422, 429, 503))
async def add_agent(body: NewAgentBody, service: TheService, principal: Admin, response: Response) -> AgentDocument:
    """Add a stage to the report flow, or change a role that has its defaults. Use PUT for a role that was changed."""
    await service.agents.add(body.settings(body.name, principal))
    response.headers["location"] = f"/api/agents/{body.name}"
    return await service.agents.document(body.name)


@router.put("/agents/{name}", responses=responses(401, 403, 404, 413, 421, 422, 429, 503))
async def set_agent(name: Name, body: AgentBody, service: TheService, principal: Admin) -> AgentDocument:
    """Set a role's model and instructions for new runs, and the place and limits of a stage. Runs that exist keep
    theirs.
    """
    await service.agents.set(body.settings(name, principal))
    return await service.agents.document(name)


@router.delete("/agents/{name}", status_code=204, responses=responses(401, 403, 404, 409, 421, 422, 429, 503))
async def unset_agent(name: Name, service: TheService, _: Admin) -> Response:
    """Reset a role to its defaults, or remove a stage that was added."""
    await service.agents.unset(name)
    return Response(status_code=204)
