"""The workers of a research run (the lead, its subagents and the writer), and what subagents return."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import ConfigDict, Field, JsonValue

from leadhand.core.value import Value
from leadhand.core.worker import OWN_TOOLS, Worker
from leadhand.flows.flow import instructions_in
from leadhand.flows.passages import Passage

LEAD, SUBAGENT, WRITER = "lead", "subagent", "writer"
PARALLEL = "parallel_tool_call"
LEAD_TOOLS = ("todo_list_read", "todo_list_write", "filesystem_read", "filesystem_tree", "subagent_run", PARALLEL)
SUBAGENT_TOOLS = ("web_search", "filesystem_write", PARALLEL, OWN_TOOLS)
"""A subagent reads no files; it has the tools of the run that only read."""


class SubagentResult(Value):
    """What a subagent found; it cites passages by their ids, as its tools returned them. More fields are left out."""

    model_config = ConfigDict(extra="ignore")

    summary: str = Field(min_length=1, description="the answer in one to five sentences, with citations: [3f9a1c20.1]")
    detail: JsonValue = Field(default=None, description="what the summary has no room for, with citations")
    artifact_path: str | None = Field(default=None, description="the path of the file that you wrote, if you wrote one")


class Found(SubagentResult):
    """The recorded result of a subagent: ``passages`` are those that it cites, which code takes from its calls."""

    passages: tuple[Passage, ...] = ()


def workers(options: Any) -> list[Worker]:
    """Return the workers of a run with these options."""
    instructions = partial(instructions_in, "leadhand.flows.research")
    return [
        Worker(
            name=LEAD,
            instructions=instructions(LEAD),
            tools=LEAD_TOOLS,
            model_role="plan",
            max_turns=options.max_turns,
            delegates=(SUBAGENT,),
            max_children=options.max_subagents,
        ),
        Worker(
            name=SUBAGENT,
            instructions=instructions(SUBAGENT),
            tools=SUBAGENT_TOOLS,
            output=SubagentResult,
            model_role="work",
        ),
        Worker(name=WRITER, instructions=instructions(WRITER), loop="reply", model_role="compose"),
    ]
