"""What MCP servers ask people during a call, as questions, and what people reply, as the server expects it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from mcp import types
from pydantic import TypeAdapter

from leadhand.core.value import Json, compact_json
from leadhand.engine.gate import schema_problems
from leadhand.ports import ToolContext

DECLINE, ACCEPT = "decline", "accept"
_ASKED: TypeAdapter[types.ElicitRequestParams] = TypeAdapter(types.ElicitRequestParams)


class Asking(NamedTuple):
    """A question of a server: what it ``asks``, and why the last reply was not accepted, if there was one."""

    server: str
    asks: types.ElicitRequestParams
    problem: str = ""

    @classmethod
    def of(cls, server: str, written: Json) -> Asking:
        """Return the question that a server asks, from JSON as it wrote it."""
        return cls(server, _ASKED.validate_python(written, by_name=False))

    @property
    def _form(self) -> dict[str, Any]:
        schema: Any = {} if isinstance(self.asks, types.ElicitRequestURLParams) else self.asks.requested_schema
        return dict(schema.get("properties", {}))

    @property
    def choices(self) -> tuple[str, ...]:
        """The replies to choose from; none if the reply is a text or JSON."""
        fields = [*self._form.values()]
        if not fields:
            return (ACCEPT, DECLINE)
        values = _values(fields[0]) if len(fields) == 1 else ()
        return (*values, DECLINE) if values else ()

    @property
    def text(self) -> str:
        """The question for a person, with what a reply has to look like."""
        asks, fields = self.asks, self._form
        said = f"{self.problem}. " if self.problem else ""
        said += f"The MCP server {self.server} asks: {asks.message}"
        if isinstance(asks, types.ElicitRequestURLParams):
            return f"{said} Open {asks.url}, and then answer {ACCEPT}."
        about = "; ".join(f"{name}: {_described(shape)}" for name, shape in fields.items())
        if len(fields) > 1:
            return f"{said} Answer with a JSON object, or {DECLINE}. {about}."
        return f"{said} ({about})" if fields else said

    def answered(self, reply: str) -> Asking | dict[str, Json]:
        """Return the response to a reply, or the question again with what is wrong with the reply."""
        fields = self._form
        if reply.strip().casefold() == DECLINE:
            return {"action": DECLINE}
        if isinstance(self.asks, types.ElicitRequestURLParams):
            return {"action": ACCEPT}
        if len(fields) == 1:
            ((name, shape),) = fields.items()
            content: Json = {name: reply if shape.get("type") == "string" else _read(reply)}
        else:
            content = _read(reply) if fields else {}
        schema: Any = self.asks.requested_schema
        if problems := schema_problems({"type": "object", **schema}, content):
            return self._replace(problem="; ".join(problems))
        return {"action": ACCEPT, "content": content}


async def answer_within(context: ToolContext, asking: Asking, seconds: float) -> types.ElicitResult:
    """Ask a person during a call, and return the response: that of a reply within ``seconds``, else that of nobody."""
    while True:
        reply = await context.ask(asking.text, asking.choices, seconds)
        answered = asking.answered(DECLINE if reply is None else reply)
        if not isinstance(answered, Asking):
            return types.ElicitResult.model_validate(answered)
        asking = answered


def _values(shape: dict[str, Any]) -> tuple[str, ...]:
    """Return the values of a field to choose from, as texts."""
    named = shape.get("enum") or [each["const"] for each in shape.get("oneOf", ()) if "const" in each]
    return ("true", "false") if shape.get("type") == "boolean" else tuple(map(str, named))


def _described(shape: dict[str, Any]) -> str:
    about = shape.get("description") or shape.get("title") or ""
    kind = " or ".join(_values(shape)) or shape.get("type", "")
    default = f", default {compact_json(shape['default'])}" if "default" in shape else ""
    return f"{about} ({kind}{default})" if about else f"{kind}{default}"


def _read(reply: str) -> Json:
    try:
        return json.loads(reply)
    except (ValueError, RecursionError):
        return reply
