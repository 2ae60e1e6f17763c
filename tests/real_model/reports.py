"""Local documents for reports, and the stages that a small model cannot carry out: a plan, and research by code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leadhand.report import Agent, AgentResult, Task, passages_in

TOPIC = "The heating of the house in Mill Lane"
DOCUMENTS: Mapping[str, str] = {
    "boiler.md": "# The boiler\n\nThe boiler in Mill Lane was replaced in 2019. It burns gas and has 18 kW.\n",
    "roof.txt": "The roof in Mill Lane was insulated in 2021. Since then, heating costs 900 euros a year.\n",
}
SECTIONS = (("Boiler", "When was the boiler in Mill Lane replaced?"), ("Roof", "When was the roof insulated?"))


def written_to(directory: Path) -> str:
    """Write the documents to a directory, and return it."""
    directory.mkdir()
    for name, text in DOCUMENTS.items():
        (directory / name).write_text(text, encoding="utf-8")
    return str(directory)


class FixedPlan(Agent):
    """Always plan the same two sections."""

    name = "planner"
    gives = ("plan",)

    async def run(self, task: Task) -> AgentResult:
        sections = [{"heading": heading, "question": question} for heading, question in SECTIONS]
        return AgentResult(updates={"plan": {"title": TOPIC, "sections": sections}})


class Clippings(Agent):
    """Search for each question, and call every passage that is found a finding."""

    name = "researcher"
    tools = ("web_search",)
    gives = ("research",)

    async def run(self, task: Task) -> AgentResult:
        found: list[dict[str, Any]] = []
        for section in task.plan.sections if task.plan is not None else ():
            passages = await self._passages(section.question)
            findings = [{"statement": each["text"], "passages": [each["id"]]} for each in passages]
            found.append({**section.model_dump(), "summary": "", "findings": findings, "passages": passages})
        return AgentResult(updates={"research": found})

    async def _passages(self, question: str) -> list[dict[str, Any]]:
        found = passages_in(await self.call("web_search", query=question))
        return [passage.model_dump(mode="json", exclude={"published"}) for passage in found]
