"""Stages of your own for reports: write a subclass of :class:`Agent`.

::

    from leadhand.report import Agent, AgentResult, Task, Verdict

    class FactChecker(Agent):
        gives = ("feedback",)

        async def run(self, task: Task) -> AgentResult:
            self.emit("checking the facts")
            said = await self.ask(f"Which facts of this draft look wrong? Answer NONE or list them.\\n\\n{task.draft}")
            if said.strip() == "NONE":
                return AgentResult(verdict=Verdict.APPROVED)
            return AgentResult(verdict=Verdict.NEEDS_REVISION, findings=[said])
"""

from __future__ import annotations

from leadhand.flows.passages import Passage, passages_in
from leadhand.flows.report.agents import Agent, AgentResult
from leadhand.flows.report.shapes import DraftFinding as Finding
from leadhand.flows.report.shapes import Plan, Research, Task, TaskEvent, Verdict
from leadhand.ports import ModelError

__all__ = [
    "Agent",
    "AgentResult",
    "Finding",
    "ModelError",
    "Passage",
    "Plan",
    "Research",
    "Task",
    "TaskEvent",
    "Verdict",
    "passages_in",
]
