"""The workers of a research run: the lead, its subagents, and the writer."""

from __future__ import annotations

from functools import partial
from typing import Any

from leadhand.core.worker import OWN_TOOLS, Worker
from leadhand.flows.flow import instructions_in

from .shapes import LEAD, SUBAGENT, WRITER, SubagentResult

PARALLEL = "parallel_tool_call"
LEAD_TOOLS = ("todo_list_read", "todo_list_write", "filesystem_read", "filesystem_tree", "subagent_run", PARALLEL)
SUBAGENT_TOOLS = ("web_search", "filesystem_write", PARALLEL, OWN_TOOLS)
"""A subagent reads no files; it has the tools of the run that only read."""


def workers(options: Any) -> list[Worker]:
    """Return the workers of a run with these options."""
    instructions = partial(instructions_in, "leadhand.flows.research")
    return [
        Worker(
            name=LEAD,
            doing="Deciding what to do next",
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
        Worker(
            name=WRITER,
            doing="Writing",
            instructions=instructions(WRITER),
            loop="reply",
            model_role="compose",
        ),
    ]
