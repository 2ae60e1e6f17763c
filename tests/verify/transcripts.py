"""Scenes of the transcripts in ``tests/data/transcripts``: what a strong model replied, by request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from leadhand.core.conversation import ToolMessage
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import brief_of, calls_all, reviews
from leadhand.tools.tool import Tool

FOLDER = Path(__file__).parent.parent / "data" / "transcripts"


@cache
def _lines() -> list[dict[str, Any]]:
    return [json.loads(each) for each in (FOLDER / "orders.jsonl").read_text("utf-8").splitlines()]


def reply(n: int) -> Any:
    """Return the reply of a line, by its number: a text, a JSON object, or calls."""
    said = _lines()[n - 1]["reply"]
    calls = [(each["name"], each["args"]) for each in said.get("tool_calls", ())]
    return calls_all(*calls) if calls else said.get("json") or said["text"]


@cache
def told(n: int) -> tuple[dict[str, Any], list[Any]]:
    """Return the brief of a line, and what its tools had returned."""
    messages = _lines()[n - 1]["messages"]
    return json.loads(messages[0]["content"]), [_data(each["content"]) for each in messages if each["role"] == "tool"]


def _data(content: str) -> Any:
    """Return the data of a call; the id of a message is another one each time."""
    raw = json.loads(content).get("raw")
    return {**raw, "message_id": ""} if isinstance(raw, dict) and "message_id" in raw else raw


def tools_of(stem: str) -> list[Tool[..., Any]]:
    """Return the tools of a file of the transcripts, as if nobody had called them yet."""
    spec = spec_from_file_location(f"transcripts_{stem}", FOLDER / f"{stem}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return [each for each in vars(module).values() if isinstance(each, Tool)]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A run of the transcripts by the numbers of its lines: ``plan``, ``work``, the ``answer``, and the ``shape`` of a
    typed one. ``review`` comes before the one that writes the answer. ``sent`` is what a person approves instead."""

    tools: str = "travel"
    plan: int
    work: tuple[int, ...] = ()
    review: int = 0
    answer: int
    adds: str = ""
    shape: int = 0
    status: str = "succeeded"
    follows: str = ""
    sent: Mapping[str, Any] = field(default_factory=dict)

    @property
    def request(self) -> str:
        return told(self.plan)[0]["request"]

    @property
    def text(self) -> str:
        said = reply(self.answer)
        return (said if isinstance(said, str) else said["answer"]) + self.adds

    @property
    def output(self) -> Any:
        """The schema of the typed answer."""
        return {"type": "object", "properties": {name: {} for name in reply(self.shape)}} if self.shape else None

    def settings(self, home: Path) -> dict[str, Any]:
        return {"tools": tools_of(self.tools)}

    @property
    def start(self) -> dict[str, Any]:
        return {"output": self.output}

    def delivered(self, text: str) -> str:
        return text

    def reply(self, request: ModelRequest, text: str, value: Any) -> Any:
        """Return what the model replies; ``text`` is its answer, ``value`` the typed one."""
        brief = brief_of(request)
        match request.worker:
            case "plan":
                plan = reply(self.plan)
                return {"answer": text} if "answer" in plan else plan
            case "review" if "answer" in brief:
                return reviews()
            case "review":
                shown = {each["subtask"]: each["status"] == "completed" for each in brief.get("subtasks", ())}
                shown |= dict.fromkeys(brief.get("chosen", ()), True)
                if self.review and "wo-002.0" not in json.dumps(brief):
                    return reply(self.review)
                answer = {"answer": text} if brief.get("compose") else {}
                drop = {key: "it cannot be had" for key, done in shown.items() if not done}
                return reviews(accept=[key for key, done in shown.items() if done], drop=drop, **answer)
            case "compose":
                return text
            case "shape":
                return value
            case _:
                return self._work(request, brief)

    def _work(self, request: ModelRequest, brief: Mapping[str, Any]) -> Any:
        returned = [_data(each.content) for each in request.messages if isinstance(each, ToolMessage)]
        name = brief.get("subtask", {}).get("name")
        for n in self.work:
            asked, then = told(n)
            if (then and then == returned) or (not then and asked.get("subtask", {}).get("name") == name):
                return reply(n)
        raise AssertionError(f"no line of {self} has {name}, {returned}")
