"""A mail service whose login returns a token, a notice board, and a worker that passes the token on."""

from __future__ import annotations

import json
from typing import Any

from engine.fakes import FakeModels, calls
from engine.worlds import World, plan
from leadhand.core.secret import REFERENCE
from leadhand.core.value import compact_json
from leadhand.tools.tool import Tool

TOKEN = "tok-4f9a22c1b7e0"
KEY = "sk-proj-abcdefghijklmnop1234"


class Services:
    """A mail service, whose login returns a token, and a notice board: ``got`` is what each call was given."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Any]] = []
        self.returns: Any = {"user": "ann", "access_token": TOKEN}

    def tool(self, name: str, origin: str = "mcp:mail", schema: Any = None, **more: Any) -> Tool[..., Any]:
        def call(args: dict[str, Any], _context: Any) -> Any:
            self.got.append((name, args))
            return self.returns if name == "mail_login" else f"{name} got {compact_json(args)}"

        parameters = {"type": "object", "properties": schema or {"text": {"type": "string"}}}
        return Tool.from_schema(name, name, parameters, call, effect="pure", origin=origin, **more)

    @property
    def tools(self) -> list[Tool[..., Any]]:
        text = {"type": "string"}
        password = {"anyOf": [{**text, "format": "password"}, {"type": "null"}]}
        return [
            self.tool("mail_login"),
            self.tool("mail_send", schema={"token": {"type": "string", "pattern": "^tok-"}, "text": text}),
            self.tool("post_message", "mcp:board"),
            self.tool("board_login", "mcp:board", {"password": password, "n": {"type": "integer"}}),
        ]


def reference(messages: Any) -> str:
    """The reference in what a model was told."""
    return REFERENCE.search(str(messages))[0]


def passing(tool: str, first: Any = None, **args: Any) -> FakeModels:
    """A worker that logs in, then passes what it was shown on: REF in the arguments is the reference."""

    def then(request: Any, _facts: Any) -> Any:
        return calls((tool, json.loads(json.dumps(args).replace("REF", reference(request.messages)))))

    return FakeModels(plan({"name": "a", "args": {}}), work=[calls(("mail_login", first or {})), then, "done"])


def everything_but_the_table(world: World) -> str:
    events = [entry.event.body for each in world.store.records.values() for entry in each.entries]
    return "\n".join([*events, *(body.decode() for body in world.store.blobs.values()), str(world.store._cache)])
