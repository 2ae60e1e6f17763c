"""The report flow keeps the contract of flows: pure, resumed anywhere to the same answer, and no failure hidden."""

from __future__ import annotations

from typing import Any

from flows.judges import contradicting
from leadhand import ToolReturn
from leadhand.core.work_order import Step
from leadhand.core.worker import Worker
from leadhand.flows.report.flow import ReportFlow
from leadhand.testing.flow_contract import FlowContract
from leadhand.tools.web import web_fetch, web_search

from .reports import APPROVED, CONTRADICTED, PASSAGES, SOUND, TOPIC, WRONG, source

SECTIONS = [{"heading": "Size", "question": "Which size?"}, {"heading": "Costs", "question": "Which costs?"}]


class TestReport(FlowContract):
    flow = ReportFlow()
    request = TOPIC
    tools = (web_search.spec, web_fetch.spec)

    def returned(self, step: Step, worker: Worker) -> ToolReturn | None:
        if worker.name != "researcher":
            return None
        return ToolReturn(raw={"results": [source("aaaaaaaa" if step.title == "Size" else "bbbbbbbb")]})

    def reply(self, step: Step, worker: Worker) -> str | dict[str, Any]:
        match worker.name:
            case "planner":
                return {"title": TOPIC, "sections": SECTIONS}
            case "researcher":
                name = "aaaaaaaa.1" if step.title == "Size" else "bbbbbbbb.1"
                return {"summary": "found", "findings": [{"statement": PASSAGES[name], "passages": [name]}]}
            case "writer":
                return WRONG if step.step_id == "draft-1" else SOUND
            case "judge":
                return contradicting(step, 3 if step.input["of"] == 1 else 0, CONTRADICTED)
            case _:
                return APPROVED
