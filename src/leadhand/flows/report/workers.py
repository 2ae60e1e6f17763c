"""The workers of a report: one for each stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from leadhand.core.worker import ALL_TOOLS, LIMITS, ModelRole, Worker
from leadhand.flows.flow import instructions_in

from .agents import AgentResult, BoundAgent
from .options import PLANNER, RESEARCHER, REVIEWER, WRITER, Stage
from .shapes import DraftReview, Findings, Plan

WEB = ("web_search", "web_fetch")
"""The tools of a researcher besides those of the run."""


BUILT_IN: Mapping[str, tuple[str, Any, ModelRole]] = {
    PLANNER: ("Planning", Plan, "plan"),
    RESEARCHER: ("Researching", Findings, "work"),
    WRITER: ("Writing", None, "compose"),
    REVIEWER: ("Reviewing", DraftReview, "review"),
}
"""What the built-in stages are doing, what they answer, and which model of the run they use."""

instructions = partial(instructions_in, "leadhand.flows.report")
"""Return the built-in instructions with this name."""


def workers_of(stages: Iterable[Stage], agents: Mapping[str, BoundAgent]) -> Sequence[Worker]:
    """Return a worker for each stage."""
    return [_worker(stage, agents.get(stage.agent or "")) for stage in stages]


def _worker(stage: Stage, agent: BoundAgent | None) -> Worker:
    doing, output, model_role = BUILT_IN.get(stage.name, ("", None, ""))
    researches, text = "research" in stage.gives, stage.instructions or ""
    if stage.agent is not None:
        output = AgentResult
    elif stage.is_built_in:
        text = text or instructions(stage.name)
    else:
        output = DraftReview if stage.judges else Findings if researches else None
        text = f"{instructions('stage').replace('{instructions}', text)}\n\n{instructions(f'stage-{stage.gives[0]}')}"
    tools = (ALL_TOOLS, *WEB) if researches and stage.agent is None else ()
    return Worker(
        name=stage.name,
        doing=doing,
        instructions=text,
        model_role=model_role,
        output=output,
        tools=stage.tools if stage.tools is not None else tools,
        loop="code" if stage.agent is not None else "turns" if researches or stage.tools else "reply",
        counts=researches,
        continues=output is None,
        code=agent.source if agent is not None else "",
        fingerprint=agent.fingerprint if agent is not None else "",
        **stage.model_dump(include={"model", *LIMITS}),
    )
