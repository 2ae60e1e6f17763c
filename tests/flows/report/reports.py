"""Reports with a scripted model: two questions, one source each, and workers whose answers a test can replace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leads import leadhand_of

from flows.judges import Wrong, step_of
from leadhand import Answer, Leadhand, ToolReturn, tool
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, calls, fails

TOPIC = "Heat pumps in old houses"
PASSAGES = {
    "aaaaaaaa.1": "A heat pump in a house of 1930 needs 9 kW.",
    "bbbbbbbb.1": "The installation costs 18,000 euros.",
    "bbbbbbbb.2": "A subsidy pays 30 % of it.",
}
SOUND = """# Heat pumps in old houses

## Size

A heat pump in a house of 1930 needs 9 kW [p1].

## Costs

The installation costs 18,000 euros [p2]."""
WRONG = SOUND.replace("needs 9 kW", "needs 25 kW")
CONTRADICTED = Wrong("needs 25 kW", "p1", "needs 9 kW")
APPROVED = {"verdict": "APPROVED", "findings": []}
REVISE = {"verdict": "NEEDS_REVISION", "findings": [{"claim": 3, "problem": "name the year"}]}

Answers = Mapping[str, Any]
"""By worker, or by step: an answer, or a function of the request. A function may return an answer, too."""


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


def plan(request: ModelRequest) -> Any:
    sections = [{"heading": "Size", "question": "Which size?"}, {"heading": "Costs", "question": "Which costs?"}]
    return {"title": TOPIC, "sections": sections}


def research(request: ModelRequest) -> Any:
    question = brief_of(request)["question"]
    name = "aaaaaaaa.1" if "size" in question else "bbbbbbbb.1"
    if len(request.messages) == 2:
        return calls("search", query=question)
    return {"summary": PASSAGES[name], "findings": [{"statement": PASSAGES[name], "passages": [name]}]}


ANSWERS: Answers = {"planner": plan, "researcher": research, "writer": SOUND, "reviewer": APPROVED}


def model(**answers: Any) -> ScriptedModel:
    """Return a model that writes a sound report; ``answers`` replace those of workers or steps (``draft_1``)."""
    return ScriptedModel(answering(**answers))


def answering(**answers: Any) -> Callable[[ModelRequest], Any]:
    """Return the answers of :func:`model`, as a function of the request."""
    given = {**ANSWERS, **answers}

    def answer(request: ModelRequest) -> Any:
        said = given.get(step_of(request).replace("-", "_"), given.get(request.worker))
        while callable(said):
            said = said(request)
        return said

    return answer


def lead(home: Path, scripted: ScriptedModel, **more: Any) -> Leadhand:
    return leadhand_of(home=home, models=scripted, tools=[search], **more)


def report(home: Path, scripted: ScriptedModel | None = None, **options: Any) -> Answer:
    """Carry out a report; ``options`` are those of the flow, and who checks it."""
    opened = lead(home, scripted or model(), check=options.pop("check", None))
    return opened.run_sync(TOPIC, flow="report", **options)


def in_turn(*answers: Any) -> Callable[[ModelRequest], Any]:
    """Return an answer that is another one each time; the last one stays."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def cut(text: str) -> Step:
    """Return a reply that ends at its token limit."""
    return Step(text=text, finish_reason="length")


BROKEN_MESSAGE = "the model is away"
BROKEN = fails("invalid", "bad_request", BROKEN_MESSAGE)
