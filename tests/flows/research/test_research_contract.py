"""The research flow keeps the contract of flows: pure, resumed anywhere to the same answer, and no failure hidden."""

from __future__ import annotations

from typing import Any

from flows.judges import contradicting
from leadhand import ToolReturn
from leadhand.core.worker import Worker
from leadhand.flows import StepView
from leadhand.flows.research.flow import ResearchFlow
from leadhand.flows.research.shapes import Task
from leadhand.testing.flow_contract import FlowContract
from leadhand.tools import research
from leadhand.tools.research import subagent_run
from leadhand.tools.web import web_search

from .runs import CONTRADICTED, PASSAGES, QUESTION, WRITTEN, WRONG, source, task

TOOLS = [getattr(research, name).spec for name in research.__all__]


class TestResearch(FlowContract):
    flow = ResearchFlow()
    request = QUESTION
    tools = (web_search.spec, *TOOLS)

    def returned(self, step: StepView, worker: Worker) -> ToolReturn | None:
        match worker.name:
            case "lead":
                return subagent_run(Task.model_validate(task("size")["task"]))
            case "subagent":
                return ToolReturn(raw={"results": [source("aaaaaaaa"), source("bbbbbbbb")]})
            case _:
                return None

    def reply(self, step: StepView, worker: Worker) -> str | dict[str, Any]:
        match worker.name:
            case "lead":
                return WRONG
            case "subagent":
                return {"summary": " ".join(f"{text} [{id_}]" for id_, text in PASSAGES.items())}
            case "judge":
                return contradicting(step, 1 if step.input["of"] == 0 else 0, CONTRADICTED)
            case _:
                return WRITTEN
