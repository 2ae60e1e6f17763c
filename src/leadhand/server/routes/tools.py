"""List tools, and call one by hand."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field

from leadhand.app.arguments import json_value
from leadhand.app.steering.access import Scope
from leadhand.app.steering.tool_trial import try_tool
from leadhand.core.approval import policy_of
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.tool import ApprovalPolicy, Effect, ToolSpec
from leadhand.engine.gate import argument_problems
from leadhand.server.access import require
from leadhand.server.contract import Route
from leadhand.server.problems import no_such, responses, unconfirmed
from leadhand.server.routes.dependencies import Reader, Runner, TheService
from leadhand.server.schemas import ToolsList, ToolTrial, TrialData
from leadhand.server.service import Service
from leadhand.server.start_request import Body

router = APIRouter(route_class=Route, prefix="/api", tags=["tools"])
Name = Annotated[str, Path(description="The tool's name.", examples=["weather_tool"], max_length=200)]


class CallBody(Body):
    args: dict[str, Any] = Field({}, description="The tool's arguments.", examples=[{"location": "Paris"}])
    offline: bool = Field(False, description="Use built-in sample data, as a server with --offline does always.")
    confirmed: bool = Field(False, description="Required for a tool with an irreversible effect.")


@router.get("/tools", responses=responses(401, 403, 429, 503))
async def list_tools(service: TheService, _: Reader) -> ToolsList:
    """The tools that runs started here can use."""
    await service.runtime.toolbox.open()
    return ToolsList(tools=service.runtime.toolbox.known())


@router.get("/tools/{name}", responses=responses(401, 403, 404, 422, 429, 503))
async def get_tool(name: Name, service: TheService, _: Reader) -> ToolSpec:
    """One tool."""
    return await _spec(service, name)


@router.post("/tools/{name}/call", responses=responses(401, 403, 404, 409, 413, 422, 429, 503))
async def call_tool(name: Name, body: CallBody, service: TheService, principal: Runner) -> ToolTrial:
    """Call a tool by hand, with the same checks, timeout and failure classes as in a run."""
    spec = await _spec(service, name)
    json_value(body.args, "the arguments", "Send JSON values.")
    faults = argument_problems(spec, body.args)
    if faults:
        wrong = Failure.of("; ".join(faults), "bad_arguments", FailureClass.INVALID)
        return ToolTrial(task_name=name, ok=False, error=wrong)
    settings = service.runtime.settings
    if policy_of(spec, settings.approve, dict(settings.approve_rules)) is not ApprovalPolicy.AUTO:
        require(principal, Scope.APPROVE)  # a run would ask for approval
    if spec.effect is Effect.ONCE and not body.confirmed:
        raise unconfirmed(f"{name} has an irreversible effect", 'Send "confirmed": true to call it anyway.')
    offline = settings.offline or body.offline
    outcome = await try_tool(service.runtime, service.runtime.toolbox, spec, body.args, offline=offline)
    if outcome.failure is not None:
        return ToolTrial(task_name=name, ok=False, error=service.redactor.value(outcome.failure))
    data = TrialData(summary=outcome.summary, raw=outcome.raw, sources=outcome.sources, sample=outcome.sample)
    return ToolTrial(task_name=name, ok=True, data=service.redactor.value(data))


async def _spec(service: Service, name: str) -> ToolSpec:
    await service.runtime.toolbox.open()
    specs = service.runtime.toolbox.known()
    found = next((spec for spec in specs if spec.name == name), None)
    if found is None:
        available = ", ".join(spec.name for spec in specs) or "none"
        raise no_such(f"there is no tool {name!r}", f"Available: {available}.")
    return found
