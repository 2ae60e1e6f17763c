"""Carries out what the offline rules of the research flow ask for, with the bundled documents and files in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from leadhand.domain.conversation import AssistantMessage, Message, ToolCall, ToolMessage
from leadhand.domain.tool import ToolSpec
from leadhand.domain.value import Json
from leadhand.flows.offline.rule import Call, OfflineRequest
from leadhand.flows.research.offline import lead, subagent
from leadhand.ports import Page
from leadhand.tools.web import bundled
from leadhand.tools.web.passages import best, passages, source_id

LEAD = ("todo_list_read", "todo_list_write", "filesystem_read", "filesystem_tree", "subagent_run", "parallel_tool_call")
SUBAGENT = ("web_search", "filesystem_write", "parallel_tool_call")
_QUERY = {"type": "object", "properties": {"query": {"type": "string"}, "max_results": {}}, "required": ["query"]}


class Turn(NamedTuple):
    """One turn of the lead: its calls, or the text that ends it."""

    calls: tuple[Call, ...] = ()
    text: str = ""

    @property
    def tools(self) -> list[str]:
        return [call.tool for call in self.calls]


class Desk:
    """Answers one question by the rules. ``files`` are those of earlier runs."""

    def __init__(self, files: dict[str, str] | None = None, without: Sequence[str] = (), **facts: Any) -> None:
        self.files = dict(files or {})
        self.todos: list[dict[str, str]] = []
        self.turns: list[Turn] = []
        self._facts: dict[str, Any] = {"max_subagents": 40, "today": "2026-11-23", **facts}
        self._without = without

    def ask(self, question: str) -> str:
        """Return the last text of the lead."""
        messages: list[Message] = []
        while len(self.turns) < 20:
            reply = lead({"question": question, **self._facts}, self._request("lead", LEAD, messages))
            assert reply is not None
            if not isinstance(reply, Call):
                assert isinstance(reply, str)
                self.turns.append(Turn(text=reply))
                return reply
            self.turns.append(Turn(_flat(reply)))
            messages += self._carried_out(reply, len(messages))
        raise AssertionError(f"the lead does not end: {self.turns[-3:]}")

    def _subagent(self, task: dict[str, Any]) -> Json:
        messages: list[Message] = []
        for _ in range(task["tool_budget"] + 1):
            reply = subagent({"task": task}, self._request("subagent", SUBAGENT, messages))
            if isinstance(reply, str):
                return {"isError": True, "message": reply.removeprefix("CANNOT: ")}
            if not isinstance(reply, Call):
                return reply
            messages += self._carried_out(reply, len(messages))
        raise AssertionError("the subagent does not end")

    def _request(self, role: str, tools: Sequence[str], messages: list[Message]) -> OfflineRequest:
        specs = [
            ToolSpec(name=name, description="", parameters=_QUERY if name == "web_search" else {}) for name in tools
        ]
        offered = tuple(spec for spec in specs if spec.name not in self._without)
        return OfflineRequest(role, offered, messages=tuple(messages))

    def _carried_out(self, call: Call, number: int) -> list[Message]:
        results = [self._result(each) for each in _flat(call)]
        content = json.dumps(results if call.tool == "parallel_tool_call" else results[0])
        made = ToolCall(id=f"call_{number}", name=call.tool, arguments=call.args)
        return [AssistantMessage(tool_calls=(made,)), ToolMessage(call_id=made.id, name=call.tool, content=content)]

    def _result(self, call: Call) -> Json:
        match call.tool:
            case "todo_list_write":
                self.todos = call.args["todos"]
                return _said("written")
            case "filesystem_tree":
                return _said(json.dumps([{"path": path, "size": len(text)} for path, text in self.files.items()]))
            case "filesystem_read":
                return _said(self.files[call.args["path"]])
            case "filesystem_write":
                self.files[call.args["path"]] = call.args["content"]
                return _said("written")
            case "web_search":
                query = call.args["query"]
                found = bundled.search(query, call.args.get("max_results", 5))
                return _said(
                    json.dumps({"results": [_found(page, query, min(12, max(3, 24 // len(found)))) for page in found]})
                )
            case _:
                return self._subagent(call.args["task"])


def _flat(call: Call) -> tuple[Call, ...]:
    if call.tool != "parallel_tool_call":
        return (call,)
    return tuple(Call(each["tool"], each["args"]) for each in call.args["calls"])


def _found(page: Page, query: str, count: int) -> Json:
    cut, source = passages(page.text), source_id(page.text)
    chosen = [{"id": f"{source}.{at + 1}", "text": cut[at]} for at in best(cut, query, count)]
    return {"title": page.title, "url": page.url, "passages": chosen}


def _said(message: str) -> Json:
    return {"isError": False, "message": message}
