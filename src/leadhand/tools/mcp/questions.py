"""What MCP servers ask people during a call, as questions, and what people reply, as the server expects it."""

from __future__ import annotations

from typing import Any

from mcp import types
from mcp.shared.exceptions import MCPError

from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.tool import AskPerson, ToolReturn
from leadhand.core.value import Json, compact_json
from leadhand.engine.gate import schema_problems
from leadhand.ports import Replied
from leadhand.tools.mcp.results import read

DECLINE, ACCEPT = "decline", "accept"


class Conversation:
    """What a server of the new protocol asks about one call, and what people have replied."""

    def __init__(self, server: str, replied: Replied | None) -> None:
        known: Any = {} if replied is None else replied.state
        self._server, self._problem = server, ""
        self._asked: dict[str, dict[str, Any]] = dict(known.get("asked", {}))
        """The questions of the last answer, by the keys of the server."""
        self._responses: dict[str, Any] = dict(known.get("responses", {}))
        """The responses that no call has used, by their questions."""
        self._state: str | None = known.get("state")
        if replied is not None and (asks := self._open) is not None:
            try:
                self._responses[compact_json(asks)] = response_of(asks, replied.text)
            except ValueError as error:
                self._problem = str(error)

    @property
    def _open(self) -> dict[str, Any] | None:
        return next((each for each in self._asked.values() if compact_json(each) not in self._responses), None)

    @property
    def question(self) -> ToolReturn | None:
        """What a person has to say before the call is made again."""
        if (asks := self._open) is None:
            return None
        text, choices = question_of(self._server, asks, self._problem)
        state: Json = {"asked": self._asked, "responses": self._responses, "state": self._state}
        return ToolReturn(asks=(AskPerson(text=text, choices=choices, default=DECLINE, state=state),))

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of a call that has the responses."""
        given = {key: self._responses[compact_json(asks)] for key, asks in self._asked.items()}
        responses = {key: types.ElicitResult.model_validate(each) for key, each in given.items()}
        return {"input_responses": responses or None, "request_state": self._state}

    def record(self, result: types.InputRequiredResult) -> None:
        """Record the answer to a call that had the responses. Raises ToolError if it asks for something else."""
        asked = result.input_requests or {}
        if other := [each.method for each in asked.values() if not isinstance(each, types.ElicitRequest)]:
            what = f"the MCP server {self._server} asks for {other[0]}, which Leadhand does not offer"
            raise ToolError(what, type="not_offered", class_=FailureClass.UNAVAILABLE)
        for each in self._asked.values():
            self._responses.pop(compact_json(each), None)
        self._asked = {
            key: written(each.params) for key, each in asked.items() if isinstance(each, types.ElicitRequest)
        }
        self._state = result.request_state

    def restarts(self, error: MCPError) -> bool:
        """Whether a server does not take its own state back, as after its restart. Then the call begins again, and
        nobody is asked the same again."""
        refused = self._state is not None and error.code == types.INVALID_PARAMS
        if refused:
            self._asked, self._state = {}, None
        return refused


def question_of(server: str, asks: dict[str, Any], problem: str = "") -> tuple[str, tuple[str, ...]]:
    """Return what a person is asked, and the replies to choose from; none if the reply is a text or JSON. ``problem``
    is why the last reply was not accepted."""
    said = f"{problem}. " * bool(problem) + f"The MCP server {server} asks: {asks['message']}"
    fields = _fields(asks)
    if not fields:
        return f"{said} Open {asks['url']}, and then answer {ACCEPT}." if "url" in asks else said, (ACCEPT, DECLINE)
    about = "; ".join(f"{name}: {_described(shape)}" for name, shape in fields.items())
    if len(fields) > 1:
        return f"{said} Answer with a JSON object, or {DECLINE}. {about}.", ()
    values = _values(*fields.values())
    return f"{said} ({about})", (*values, DECLINE) if values else ()


def response_of(asks: dict[str, Any], reply: str) -> dict[str, Json]:
    """Return the response that a reply is. Raises ValueError, with what is wrong, if the reply does not fit."""
    if reply.strip().casefold() == DECLINE:
        return {"action": DECLINE}
    if "url" in asks:
        return {"action": ACCEPT}
    fields = _fields(asks)
    content: Json = read(reply) if fields else {}
    if len(fields) == 1:
        ((name, shape),) = fields.items()
        content = {name: reply if shape.get("type") == "string" else content}
    if problems := schema_problems({"type": "object", **asks["requestedSchema"]}, content):
        raise ValueError("; ".join(problems))
    return {"action": ACCEPT, "content": content}


def written(params: types.ElicitRequestParams) -> dict[str, Any]:
    """Return the parameters of a question as a server wrote them."""
    return params.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"})


def _fields(asks: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return asks.get("requestedSchema", {}).get("properties", {})


def _values(shape: dict[str, Any]) -> tuple[str, ...]:
    """Return the values of a field to choose from, as texts."""
    named = shape.get("enum") or [each["const"] for each in shape.get("oneOf", ()) if "const" in each]
    return ("true", "false") if shape.get("type") == "boolean" else tuple(map(str, named))


def _described(shape: dict[str, Any]) -> str:
    kind = " or ".join(_values(shape)) or shape.get("type", "")
    return f"{shape.get('description') or shape.get('title') or ''} ({kind})"
