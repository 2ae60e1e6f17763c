"""The roles of a report: one for each stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from leadhand.core.worker import ALL_TOOLS, ModelRole, Worker
from leadhand.flows.flow import instructions_in

from .agents import AgentResult, BoundAgent
from .options import PLANNER, RESEARCHER, REVIEWER, WRITER, Options, Stage
from .shapes import DraftReview, Findings, Outline

WEB = ("web_search", "web_fetch")
"""The tools of a researcher besides those of the run."""
DOING = {PLANNER: "Planning", RESEARCHER: "Researching", WRITER: "Writing", REVIEWER: "Reviewing"}
OUTPUTS: dict[str, Any] = {PLANNER: Outline, RESEARCHER: Findings, WRITER: None, REVIEWER: DraftReview}

MODEL_ROLES: dict[str, ModelRole] = {PLANNER: "plan", RESEARCHER: "work", WRITER: "compose", REVIEWER: "review"}


instructions = partial(instructions_in, "leadhand.flows.report")
"""Return the built-in instructions with this name."""


def roles(options: Options, agents: Mapping[str, BoundAgent]) -> Sequence[Worker]:
    """Return a role for each stage of a run with these options."""
    return [_role(stage, agents) for stage in options.stages]


def _role(stage: Stage, agents: Mapping[str, BoundAgent]) -> Worker:
    role = MODEL_ROLES.get(stage.name, "")
    limits = stage.model_dump(include={"max_turns", "max_requests", "max_tokens", "budget"})
    researches = "research" in stage.gives
    if stage.agent is not None:
        agent = agents.get(stage.agent)
        return Worker(
            name=stage.name,
            doing=DOING.get(stage.name, ""),
            instructions=stage.instructions or "",
            model=stage.model,
            model_role=role,
            output=AgentResult,
            tools=stage.tools or (),
            loop="code",
            counts=researches,
            code=agent.source if agent is not None else "",
            fingerprint=agent.fingerprint if agent is not None else "",
            **limits,
        )
    if stage.is_built_in:
        output, text = OUTPUTS[stage.name], stage.instructions or instructions(stage.name)
    else:
        output = DraftReview if stage.judges else Findings if researches else None
        text = instructions("stage").replace("{instructions}", stage.instructions or "")
        text += f"\n\n{instructions(f'stage-{stage.gives[0]}')}" if stage.gives else ""
    return Worker(
        name=stage.name,
        doing=DOING.get(stage.name, ""),
        instructions=text,
        model=stage.model,
        model_role=role,
        output=output,
        tools=stage.tools if stage.tools is not None else (ALL_TOOLS, *WEB) if researches else (),
        loop="turns" if researches or stage.tools else "reply",
        counts=researches,
        continues=output is None,
        **limits,
    )
