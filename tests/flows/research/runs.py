"""Research runs with a scripted model: two sources, and workers whose answers a test can replace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leads import leadhand_of

from flows.judges import Wrong
from leadhand import Answer, ToolReturn, tool
from leadhand.core.conversation import ToolMessage
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls

QUESTION = "What does a heat pump in an old house cost?"
PASSAGES = {
    "aaaaaaaa.1": "A heat pump in a house of 1930 needs 9 kW.",
    "bbbbbbbb.1": "The installation costs 18,000 euros.",
}
SOUND = "A heat pump in a house of 1930 needs 9 kW [aaaaaaaa.1]. The installation costs 18,000 euros [bbbbbbbb.1]."
SHOWN = SOUND.replace("aaaaaaaa.1", "1").replace("bbbbbbbb.1", "2")
WRONG = SOUND.replace("needs 9 kW", "needs 25 kW")
CONTRADICTED = Wrong("needs 25 kW", "1", "needs 9 kW")


def source(name: str) -> dict[str, Any]:
    """One source as web_search returns it."""
    passages = [{"id": id_, "text": text} for id_, text in PASSAGES.items() if id_.startswith(name)]
    return {"title": f"Source {name[0]}", "url": f"https://example.org/{name[0]}", "source": name, "passages": passages}


@tool
async def search(query: str) -> ToolReturn:
    """Find sources."""
    found = source("aaaaaaaa" if "size" in query else "bbbbbbbb")
    credit = {"title": found["title"], "url": found["url"]}
    return ToolReturn.model_validate({"raw": {"results": [found]}, "summary": "1 source", "sources": [credit]})


def task(name: str, prompt: str = "", **more: Any) -> dict[str, Any]:
    """The arguments of subagent_run."""
    given = {"task_name": name, "prompt": prompt or f"Which {name}?", "description": "for the answer", "tool_budget": 5}
    return {"task": {**given, **more}}


def both(request: ModelRequest) -> Any:
    """What a lead asks for: two tasks at once."""
    return calls(
        "parallel_tool_call",
        calls=[{"tool": "subagent_run", "args": task("size")}, {"tool": "subagent_run", "args": task("costs")}],
    )


def lead(*steps: Any) -> Callable[[ModelRequest], Any]:
    """Return a lead that replies with these steps, one for each turn of its conversation; the last one stays."""

    def reply(request: ModelRequest) -> Any:
        turn = sum(message.role == "assistant" for message in request.messages)
        return steps[min(turn, len(steps) - 1)]

    return reply


def subagent(request: ModelRequest) -> Any:
    """Search, write a file, and report."""
    name = brief_of(request)["task"]["task_name"]
    passage = "aaaaaaaa.1" if "size" in name else "bbbbbbbb.1"
    found = f"{PASSAGES[passage]} [{passage}]"
    turn = sum(message.role == "assistant" for message in request.messages)
    if turn == 0:
        return calls("search", query=name)
    if turn == 1:
        return calls("filesystem_write", path=f"{name}.md", content=f"# {name}\n\n{found}")
    return {"summary": found, "artifact_path": f"memory/{name}.md"}


def model(**answers: Any) -> ScriptedModel:
    """Return a model with which a run succeeds; ``answers`` replace those of workers, or of subagents by task."""
    given = {"lead": lead(both, SOUND), "subagent": subagent, **answers}

    def answer(request: ModelRequest) -> Any:
        name = brief_of(request)["task"]["task_name"] if request.worker == "subagent" else ""
        said = given.get(name, given[request.worker])
        while callable(said):
            said = said(request)
        return said

    return ScriptedModel(answer)


def research(home: Path, scripted: ScriptedModel | None = None, **more: Any) -> Answer:
    """Carry out a research run; ``more`` are options of the flow, and settings of Leadhand."""
    options = {name: more.pop(name) for name in ("max_turns", "max_subagents") if name in more}
    lead = leadhand_of(home=home, models=scripted or model(), tools=[search], **more)
    return lead.research_sync(QUESTION, **options)


def told(scripted: ScriptedModel, worker: str = "lead") -> list[Any]:
    """What the tools said to a worker in its last request, as JSON."""
    request = next(each for each in reversed(scripted.requests) if each.worker == worker)
    return [json.loads(each.content) for each in request.messages if isinstance(each, ToolMessage)]
