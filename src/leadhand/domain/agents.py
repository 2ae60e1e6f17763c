"""Settings of people for the roles of runs that a service starts: another model, other instructions."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from .value import Value

LONGEST_INSTRUCTIONS = 8_000
"""Characters: instructions have to leave room for the work, in every call and on small windows too."""


class AgentSettings(Value):
    """The settings of one role. ``model`` and ``instructions`` None: as it ships. ``by`` says who set them."""

    name: str
    model: str | None = None
    instructions: str | None = Field(default=None, max_length=LONGEST_INSTRUCTIONS)
    by: str
    at: datetime
