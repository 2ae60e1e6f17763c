"""The report flow keeps the contract of flows: pure, resumed anywhere to the same answer, and no failure hidden."""

from __future__ import annotations

from typing import Any

from leadhand import ToolReturn
from leadhand.domain.run import Role
from leadhand.flows import AssignmentView
from leadhand.flows.report.flow import ReportFlow
from leadhand.testing.flow_contract import FlowContract
from leadhand.tools.web import web_fetch, web_search

from .reports import APPROVED, PASSAGES, SOUND, TOPIC, WRONG, source

SECTIONS = [{"heading": "Size", "question": "Which size?"}, {"heading": "Costs", "question": "Which costs?"}]


class TestReport(FlowContract):
    flow = ReportFlow()
    request = TOPIC
    tools = (web_search.spec, web_fetch.spec)

    def returned(self, assignment: AssignmentView, role: Role) -> ToolReturn | None:
        if role.name != "researcher":
            return None
        return ToolReturn(raw={"results": [source("aaaaaaaa" if assignment.title == "Size" else "bbbbbbbb")]})

    def reply(self, assignment: AssignmentView, role: Role) -> str | dict[str, Any]:
        match role.name:
            case "planner":
                return {"title": TOPIC, "sections": SECTIONS}
            case "researcher":
                name = "aaaaaaaa.1" if assignment.title == "Size" else "bbbbbbbb.1"
                return {"summary": "found", "findings": [{"statement": PASSAGES[name], "passages": [name]}]}
            case "writer":
                return WRONG if assignment.id == "draft-1" else SOUND
            case _ if "sentences" in assignment.input:
                support = [{"sentence": each, "supported": True} for each in assignment.input["sentences"]]
                return {"support": support}
            case _:
                return APPROVED
