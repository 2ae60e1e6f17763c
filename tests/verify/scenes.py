"""All scenes: runs with honest, complete answers, and those that are honest about what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from leadhand import Worker, tool
from leadhand.app.project.manifest import load_project
from leadhand.core.conversation import ToolMessage
from leadhand.flows import FlowContext, flow
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import brief_of

from .sources import SOURCED
from .transcripts import Scene, reply, told, tools_of

DECKS = (89, 86, 87)
"""The lines in which a deck is evaluated as it is ranked in the end: bread, solar, boats."""


class AnyScene(Protocol):
    """A run with a scripted model: what it is asked, and what the model replies, ``text`` as the answer."""

    request: str
    text: str
    status: str
    follows: str
    start: dict[str, Any]

    def settings(self, home: Path) -> dict[str, Any]: ...
    def reply(self, request: ModelRequest, text: str, value: Any) -> Any: ...
    def delivered(self, text: str) -> str: ...


ASSESSMENT = {"type": "object", "required": ["article", "verdict", "score", "worth_a_second_look"]}
ASSESS = Worker("assess", "Assess.", tools=("price_lookup",), output=ASSESSMENT)
CHECK = Worker("check", "Is it in stock?", tools=("stock_lookup",))
WRITER = Worker("writer", "Write a memo.", loop="reply")


@flow
async def memo(run: FlowContext):
    """Assess articles, look up the stock of those that are worth it, and write a memo."""
    assessed = await run.gather(run.ask(ASSESS, article=f"X{n}00") for n in (1, 2, 3))
    names = [each.value["article"] for each in assessed if each.value["worth_a_second_look"]]
    checked = await run.gather(run.ask(CHECK, article=name) for name in names)
    return await run.ask(WRITER, key="memo", found=[*assessed, *checked], final=True)


@dataclass(frozen=True)
class MemoScene:
    """A flow of the user's own."""

    request: str = "Which printer should we buy ten of?"
    status: str = "succeeded"
    follows: str = ""

    @property
    def text(self) -> str:
        return reply(80)

    @property
    def start(self) -> dict[str, Any]:
        return {"flow": "memo"}

    def settings(self, home: Path) -> dict[str, Any]:
        return {"tools": tools_of("shop"), "flows": [memo]}

    def delivered(self, text: str) -> str:
        return text

    def reply(self, request: ModelRequest, text: str, value: Any) -> Any:
        if request.worker == "writer":
            return text
        brief, lines = brief_of(request), {"assess": (61, 62, 64, 67, 68, 69), "check": (72, 73, 77, 78)}
        made = any(isinstance(each, ToolMessage) for each in request.messages)
        same = (n for n in lines[request.worker] if told(n)[0] == brief and bool(told(n)[1]) is made)
        return reply(next(same))


@tool
async def list_decks() -> list[str]:
    """List the pitch decks."""
    return ["decks/boats.md", "decks/bread.md", "decks/solar.md"]


@dataclass(frozen=True)
class DecksScene:
    """A worker of the project that makes another worker and calls it."""

    request: str = "Evaluate the pitch decks"
    status: str = "succeeded"
    follows: str = ""

    @property
    def text(self) -> str:
        return reply(105)

    @property
    def start(self) -> dict[str, Any]:
        return {"worker": "orchestrator"}

    def settings(self, home: Path) -> dict[str, Any]:
        (home / "decks").mkdir(parents=True)
        for line in DECKS:
            (deck,) = told(line)[0]["attachments"]
            (home / deck["path"]).write_text(deck["text"], "utf-8")
        own = "---\nname: orchestrator\ntools: [list_decks]\ntoolsets: [dynamic_workers]\n---\nRank the decks.\n"
        (home / "orchestrator.worker").write_text(own)
        manifest = home / "leadhand.toml"
        manifest.write_text('worker_files = ["orchestrator.worker"]\ngenerated_workers_dir = "made"\n')
        return {"tools": [list_decks], "project": load_project(manifest)}

    def delivered(self, text: str) -> str:
        return text

    def reply(self, request: ModelRequest, text: str, value: Any) -> Any:
        if request.worker == "deck_evaluator":
            brief = brief_of(request)
            return reply(next(n for n in (85, 86, 87, 89) if told(n)[0] == brief))
        turn = sum(message.role == "assistant" for message in request.messages)
        return [reply(63), reply(70), reply(83), reply(88), text][turn]


HONEST: dict[str, AnyScene] = {
    "weather and route": Scene(plan=1, work=(7, 8, 9), answer=10),
    "what can you do": Scene(plan=2, answer=2),
    "greeting": Scene(plan=3, answer=3),
    "explanation": Scene(plan=4, answer=4),
    "translation": Scene(plan=5, answer=5),
    "haiku": Scene(plan=6, answer=6),
    "sum": Scene(plan=118, answer=118),
    "mail": Scene(tools="mail", plan=11, work=(16, 47), answer=49),
    "mail that a person changed": Scene(
        tools="mail",
        plan=52,
        work=(75,),
        answer=82,
        sent={
            "to": "petra@example.org",
            "subject": "Verzögerung der Lieferung",
            "body": "Hallo Petra,\n\ndie Lieferung verzögert sich leider um drei Tage.\n\nViele Grüße",
        },
    ),
    "two printers": Scene(tools="shop", plan=12, work=(18, 19, 21, 23), answer=33, shape=38),
    "three printers": Scene(tools="shop", plan=15, work=(22, 24, 25, 26, 27, 28, 29, 30), answer=39),
    "three printers, as composed": Scene(tools="shop", plan=15, work=(22, 24, 25, 26, 27, 28, 29, 30), answer=46),
    "late orders": Scene(tools="chain", plan=14, work=(20, 32, 41), review=37, answer=45),
    "late orders, with the customer": Scene(tools="chain", plan=14, work=(20, 32, 41), review=37, answer=50),
    "stock": Scene(tools="shop", plan=51, work=(55, 56, 57, 58), answer=65, shape=76),
    "follow-up": Scene(plan=54, work=(59, 60), answer=66, follows="weather and route"),
    "regions": Scene(tools="shop", plan=92, work=(101,), answer=112),
    "a day in Lyon": Scene(plan=114, work=(121, 124), answer=132),
    "post and slogans": Scene(tools="shop", plan=116, work=(122, 126, 127), answer=131),
    "post, as composed": Scene(tools="shop", plan=116, work=(122, 126, 127), answer=133),
    "German costs": Scene(plan=113, work=(119, 120), answer=130),
    "memo": MemoScene(),
    "decks": DecksScene(),
    **SOURCED,
}
"""Honest, complete answers: their runs succeed."""
INCOMPLETE: dict[str, AnyScene] = {
    "trains": Scene(tools="flaky", plan=13, work=(17, 36), review=31, answer=40, status="partial"),
    "Atlantis": Scene(plan=90, work=(95, 96), answer=96, adds=" Atlantis is not on the map.", status="partial"),
}
"""Honest answers that lack something: their runs are partial with any judge."""
LYING: dict[str, AnyScene] = {
    "19 printers": Scene(tools="shop", plan=91, work=(97, 98, 99, 100), answer=107),
    "hail": Scene(plan=93, work=(103, 104), answer=110),
    "a note": Scene(tools="mail", plan=94, work=(102,), answer=109),
    "both places": Scene(plan=90, work=(95, 96), answer=111, status="partial"),
}
"""Answers with lies."""
SCENES = {**HONEST, **INCOMPLETE, **LYING}
