"""The workers of a report: one for each stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from leadhand.core.worker import ALL_TOOLS, ModelRole, Worker
from leadhand.flows.flow import instructions_in

from .agents import AgentResult, BoundAgent
from .options import PLANNER, RESEARCHER, REVIEWER, WRITER, Stage
from .shapes import DraftReview, Findings, Plan

WEB = ("web_search", "web_fetch")
"""The tools of a researcher besides those of the run."""


class _BuiltIn(NamedTuple):
    doing: str
    output: Any
    model_role: ModelRole


_BUILT_IN = {
    PLANNER: _BuiltIn("Planning", Plan, "plan"),
    RESEARCHER: _BuiltIn("Researching", Findings, "work"),
    WRITER: _BuiltIn("Writing", None, "compose"),
    REVIEWER: _BuiltIn("Reviewing", DraftReview, "review"),
}

instructions = partial(instructions_in, "leadhand.flows.report")
"""Return the built-in instructions with this name."""


def workers_of(stages: Iterable[Stage], agents: Mapping[str, BoundAgent]) -> Sequence[Worker]:
    """Return a worker for each stage."""
    return [_worker(stage, agents) for stage in stages]


def _worker(stage: Stage, agents: Mapping[str, BoundAgent]) -> Worker:
    built_in = _BUILT_IN.get(stage.name, _BuiltIn("", None, ""))
    researches = "research" in stage.gives
    common: dict[str, Any] = stage.model_dump(include={"max_turns", "max_requests", "max_tokens", "budget", "model"})
    common |= {"name": stage.name, "doing": built_in.doing, "model_role": built_in.model_role, "counts": researches}
    if stage.agent is not None:
        agent = agents.get(stage.agent)
        return Worker(
            instructions=stage.instructions or "",
            output=AgentResult,
            tools=stage.tools or (),
            loop="code",
            code=agent.source if agent is not None else "",
            fingerprint=agent.fingerprint if agent is not None else "",
            **common,
        )
    if stage.is_built_in:
        output, text = built_in.output, stage.instructions or instructions(stage.name)
    else:
        output = DraftReview if stage.judges else Findings if researches else None
        text = instructions("stage").replace("{instructions}", stage.instructions or "")
        text += f"\n\n{instructions(f'stage-{stage.gives[0]}')}"
    return Worker(
        instructions=text,
        output=output,
        tools=stage.tools if stage.tools is not None else (ALL_TOOLS, *WEB) if researches else (),
        loop="turns" if researches or stage.tools else "reply",
        continues=output is None,
        **common,
    )
