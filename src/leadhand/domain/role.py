"""Roles: what assignments may do, whether their results count, and what they may spend; pinned in the log."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from .limits import Ceiling, nanousd
from .value import Value

ALL_TOOLS = "*"
"""In a role's ``tools``: every tool of the run."""


def _schema(output: Any) -> Any:  # of any type that pydantic may be given
    """The JSON schema of a pydantic model; anything else as it is."""
    if inspect.isclass(output) and issubclass(output, BaseModel):
        return output.model_json_schema()
    return output


class Role(Value):
    """The instructions and the permissions of the assignments of a role.

    ``instructions`` is Markdown text. ``model`` is a full model name (None: the run's model for this role). ``output``
    is a pydantic model or a JSON schema that the final answer must fit (None: text). ``tools`` names the most that an
    assignment may use; ``("*",)`` means every tool of the run. With ``loop="turns"`` a model is called until it
    answers without calling a tool; with ``"reply"`` it gives one answer and has no tools. Results of a role that
    ``counts`` belong to the answer: one that fails is a gap. ``max_turns`` and ``max_requests`` bound the model calls
    of one assignment, ``max_tokens`` its tokens (input and output together), ``budget`` its cost in US dollars.
    """

    name: str = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.\-]*$")
    instructions: str = ""
    model: str | None = None
    output: Annotated[Any, BeforeValidator(_schema)] = None
    tools: tuple[str, ...] = ()
    loop: Literal["turns", "reply"] = "turns"
    counts: bool = False
    max_turns: int | None = Field(default=None, ge=1)
    max_requests: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    budget: float | None = Field(default=None, ge=0)

    @property
    def ceiling(self) -> Ceiling | None:
        """What one assignment of this role may spend; None: no limit of its own."""
        if self.max_requests is None and self.max_tokens is None and self.budget is None:
            return None
        dollars = None if self.budget is None else nanousd(self.budget)
        return Ceiling(requests=self.max_requests, tokens=self.max_tokens, nanousd=dollars)
