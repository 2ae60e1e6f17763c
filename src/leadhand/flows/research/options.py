"""The options of the research flow: the limits of its lead, and of the revisions of its answer."""

from __future__ import annotations

from pydantic import Field

from leadhand.flows.flow import Flow

LEAD, SUBAGENT, WRITER = "lead", "subagent", "writer"


class Options(Flow.Options):
    """The options of a research run."""

    max_turns: int = Field(default=60, ge=1, le=1_000)
    """Turns of the lead, at most. After the last one, the answer is written from what was found."""
    max_subagents: int = Field(default=40, ge=0, le=1_000)
    """Subagents that the lead can run, at most."""
    max_revisions: int = Field(default=1, ge=0, le=10)
    """How often an answer is written again because a judge contradicts it."""
