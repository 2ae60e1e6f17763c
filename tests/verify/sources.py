# ruff: noqa: RUF001
"""Reports and research over a few passages of our own, with the replies of a strong model as it writes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leadhand import ToolReturn, tool
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import brief_of, calls

SOURCES = {
    "c0ffee01": ("Parcel tricycles in Utrecht: the first year", "https://tricycles.example/first-year", "2025-03-10"),
    "c0ffee02": ("What urban delivery vehicles cost", "https://costs.example/vehicles", "2024-11-02"),
    "c0ffee03": ("Zustellung auf drei Rädern", "https://zustellung.example/befragung", "2025-01-15"),
}
PASSAGES = {
    "c0ffee01.1": "In its first year the pilot carried 41,200 parcels with nine electric tricycles. A tricycle covered "
    "46 kilometres a day on average and delivered 18 parcels an hour, where the vans on the same routes delivered 11.",
    "c0ffee01.2": "Two of the nine tricycles were out of service for more than a week because of broken spokes. The "
    "operator now replaces the spokes every 4,000 kilometres.",
    "c0ffee02.1": "Buying an electric tricycle costs 7,400 euros; a small electric van costs 31,900 euros. Yearly "
    "upkeep is 1,150 euros for the tricycle and 3,600 euros for the van.",
    "c0ffee02.2": "On routes with more than 60 stops the tricycle is cheaper per stop; on routes in the outskirts with "
    "fewer than 25 stops the van is.",
    "c0ffee03.1": "Die Fahrerinnen und Fahrer nannten Regen als größten Nachteil: 14 von 22 Befragten wünschen sich "
    "eine geschlossene Kabine.",
    "c0ffee03.2": "Nach Angaben des Betreibers sank die Zahl der Parkverstöße im Zustellgebiet von 310 auf 24 im Jahr.",
}
ENGLISH = """\
# Electric tricycles for the parcel post

Tricycles are faster in town and far cheaper to buy, but they suffer in the rain and need frequent maintenance. For
dense districts we would replace vans; for the outskirts we would not.

## Performance

- In the first year, nine tricycles carried 41,200 parcels [p1], i.e. roughly 4,600 each.
- They delivered **18 parcels an hour** against 11 for vans on the same routes, about 60 % more [p1].
- Each rode some 46 km a day [p1]; “spokes every 4,000 kilometres” [p2] therefore means a workshop visit about every
  three months.

## Costs

| | Tricycle | Van |
|---|--:|--:|
| Purchase [p3] | €7,400 | €31,900 |
| Upkeep per year [p3] | €1,150 | €3,600 |
| Cheaper per stop [p4] | above 60 stops | below 25 stops |

For the price of one van, a depot gets four tricycles and keeps €2,300.

## What drivers and neighbours say

Rain is the drivers' main complaint: 14 of the 22 who were asked want a closed cabin [p5]. The operator reports that
parking offences fell from 310 to 24 a year [p6]. One reservation: two of the nine vehicles stood still for more than a
week because their spokes broke [p2]."""
GERMAN = """\
# Elektrische Dreiräder in der Paketzustellung

Im ersten Jahr beförderten neun Dreiräder 41.200 Pakete [p1]. Sie schafften 18 statt 11 Pakete pro Stunde [p1], also gut
sechzig Prozent mehr als die Lieferwagen.

Ein Dreirad kostet in der Anschaffung 7.400 €, ein kleiner E-Transporter 31.900 € [p3]; beim Unterhalt spart man
jährlich 2.450 € (3.600 € − 1.150 €) [p3]. Ab etwa sechzig Stopps je Tour ist das Dreirad günstiger, am Stadtrand
mit weniger als 25 Stopps der Transporter [p4].

Die Kehrseite: „14 von 22 Befragten wünschen sich eine geschlossene Kabine“ [p5], und bei zwei von neun Fahrzeugen
brachen Speichen [p2]. Dafür gingen die Parkverstöße laut Betreiber um über 90 % zurück [p6]."""
ANSWER = """\
**Yes, in dense districts.** A tricycle delivers 18 parcels an hour where a van manages 11 [c0ffee01.1], and at €7,400
it costs less than a quarter of a small electric van (€31,900) [c0ffee02.1]. Per stop it is cheaper on routes with more
than sixty stops; in the outskirts the van wins [c0ffee02.2].

Plan for two things: spokes (the operator replaces them “every 4,000 kilometres” [c0ffee01.2]) and rain, the drivers'
biggest complaint [c0ffee03.1]. I would start with ten tricycles in one district and decide after a winter."""
FRENCH = """\
Oui, mais seulement en ville : un tricycle livre 18 colis par heure contre 11 pour une camionnette [c0ffee01.1], pour un
prix d'achat de 7 400 € au lieu de 31 900 € [c0ffee02.1]. Les infractions de stationnement sont passées de 310 à 24 par
an [c0ffee03.2]. 🚲"""


@tool
async def search(query: str) -> ToolReturn:
    """Find sources about a question."""
    results = [
        {
            "title": title,
            "url": url,
            "source": name,
            "published": day,
            "passages": [{"id": id_, "text": text} for id_, text in PASSAGES.items() if id_.startswith(name)],
        }
        for name, (title, url, day) in SOURCES.items()
    ]
    credits = [{"title": title, "url": url} for title, url, _ in SOURCES.values()]
    return ToolReturn.model_validate({"raw": {"results": results}, "summary": "3 sources", "sources": credits})


def numbered(text: str) -> str:
    """Return a text as it is delivered: its citations are the numbers of its sources, in their order."""
    ids = list(PASSAGES)
    names = {name: id_ for n, id_ in enumerate(ids, start=1) for name in (f"p{n}", id_)}
    order: dict[str, int] = {}
    found = sorted((text.find(f"[{name}]"), name) for name in names if f"[{name}]" in text)
    for _, name in found:
        order.setdefault(names[name].partition(".")[0], len(order) + 1)
    for _, name in found:
        text = text.replace(f"[{name}]", f"[{order[names[name].partition('.')[0]]}]")
    return text


@dataclass(frozen=True, kw_only=True)
class Sourced:
    """A report, or an answer from research, that cites the passages."""

    flow: str
    request: str
    written: str
    status: str = "succeeded"
    follows: str = ""

    @property
    def text(self) -> str:
        return self.written

    def delivered(self, text: str) -> str:
        return numbered(text)

    def settings(self, home: Path) -> dict[str, Any]:
        return {"tools": [search]}

    @property
    def start(self) -> dict[str, Any]:
        return {"flow": self.flow}

    def reply(self, request: ModelRequest, text: str, value: Any) -> Any:
        turn = sum(message.role == "assistant" for message in request.messages)
        match request.worker:
            case "planner":
                return {"title": self.request, "sections": [{"heading": "All", "question": self.request}]}
            case "researcher" | "subagent" if turn == 0:
                return calls("search", query=self.request)
            case "researcher":
                findings = [{"statement": text, "passages": [id_]} for id_, text in PASSAGES.items()]
                return {"summary": "Six passages answer it.", "findings": findings}
            case "subagent":
                return {"summary": "\n".join(f"{text} [{id_}]" for id_, text in PASSAGES.items())}
            case "lead" if turn == 0:
                task = {"task_name": "tricycles", "prompt": self.request, "description": "facts", "tool_budget": 5}
                return calls("subagent_run", task=task)
            case "reviewer":
                return {"verdict": "APPROVED", "findings": []}
            case _:
                assert request.worker in ("writer", "lead"), brief_of(request)
                return text


SOURCED = {
    "report": Sourced(flow="report", request="Electric tricycles for the parcel post", written=ENGLISH),
    "German report": Sourced(flow="report", request="Elektrische Dreiräder in der Paketzustellung", written=GERMAN),
    "research": Sourced(flow="research", request="Should we buy tricycles for our parcels?", written=ANSWER),
    "French research": Sourced(flow="research", request="Faut-il acheter des tricycles ?", written=FRENCH),
}
