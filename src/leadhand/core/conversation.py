"""Messages to and from a model, in Leadhand's own shapes: the log stores them, and every adapter translates them."""

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from .value import Value


class ToolCall(Value):
    """A tool call that a model asks for. ``arguments`` is None if the text it wrote, ``raw``, is not a JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    raw: str = ""


class _Said(Value):
    """A message of a conversation. It is the same object in all requests, so its size is found once."""

    @cached_property
    def size(self) -> int:
        """The bytes of the message as JSON in UTF-8."""
        return len(self.model_dump_json(exclude_none=True).encode())


class SystemMessage(_Said):
    role: Literal["system"] = "system"
    text: str


class UserMessage(_Said):
    role: Literal["user"] = "user"
    text: str


class Opaque(Value):
    """Provider data to send back unchanged to the same model: thinking signatures, tagged with their adapter."""

    adapter: str
    model: str
    data: dict[str, Any]


class AssistantMessage(_Said):
    role: Literal["assistant"] = "assistant"
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    opaque: Opaque | None = None


class ToolMessage(_Said):
    """The result of a tool call, as the model receives it: ``content`` is JSON or text."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    content: str
    ok: bool = True


Message = Annotated[SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]
