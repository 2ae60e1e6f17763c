"""List the flows."""

from __future__ import annotations

import inspect
from typing import Any

from fastapi import APIRouter
from pydantic import PydanticUserError

from leadhand.app.project.flows import REPORT
from leadhand.flows.seam.function import FunctionFlow
from leadhand.server.contract import Route
from leadhand.server.problems import responses
from leadhand.server.routes.dependencies import Reader, TheService
from leadhand.server.schemas import FlowDocument, FlowsList

router = APIRouter(route_class=Route, prefix="/api", tags=["flows"])


@router.get("/flows", responses=responses(401, 403, 421, 429, 503))
async def list_flows(service: TheService, _: Reader) -> FlowsList:
    """The flows that runs started here can use, with the JSON schema of their options."""
    flows = service.runtime.flows
    classes = {name: agent.description for name, agent in flows.agents.items()}
    return FlowsList(flows=tuple(_document(flows.get(name), classes) for name in flows.names()))


def _document(flow: FunctionFlow, classes: dict[str, str]) -> FlowDocument:
    about = flow.description or (inspect.cleandoc(type(flow).__doc__ or "")).partition("\n")[0]
    agents = classes if flow.name == REPORT else {}
    return FlowDocument(name=flow.name, description=about, options=_options(flow), agents=agents)


def _options(flow: FunctionFlow) -> dict[str, Any]:
    """Return the schema of the options; without fields if one of them has a type that JSON schema does not know."""
    try:
        return flow.Options.model_json_schema()
    except PydanticUserError:
        return {"type": "object"}
