"""Turn what a request asks for into tool calls, and name what the built-in model did not understand."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice, pairwise, product, zip_longest
from typing import Any, NamedTuple

from leadhand.core.text import line
from leadhand.core.value import list_of, object_of, text_of

from .reading import FUNCTION, PLACES, SAID, WORDS, Clause, Mark, Text, slug, stem_of

HOW = (
    "the built-in offline model only understands English questions about weather and directions, and tools named in "
    "the request; choose a model for anything else"
)
_MOST_LOOKUPS = 2_000
_BUILT_IN = {
    "weather": ("weather_tool", "check_weather", {"location", "day"}),
    "route": ("directions_tool", "get_directions", {"origin", "destination"}),
}


class Offer(NamedTuple):
    """A tool: ``topic`` are the word stems of its name (none for a built-in tool), ``about`` those of its description.

    ``kind`` is ``weather``, ``route`` or ``tool``, ``types`` are the JSON types of its required parameters.
    """

    name: str
    kind: str
    topic: frozenset[str]
    about: frozenset[str]
    types: dict[str, str]

    @classmethod
    def of(cls, tool: Mapping[str, Any]) -> Offer:
        """Return a tool of a brief as a request may name it."""
        name, schema = text_of(tool.get("name")), object_of(tool.get("parameters"))
        given, types = object_of(schema.get("properties")), dict[str, str]()
        for each in list_of(schema.get("required")):
            part = object_of(given.get(each))
            types[each] = "other" if {"enum", "anyOf", "$ref"} & part.keys() else text_of(part.get("type", "string"))
        built_in = (each for each, (tool, _, has) in _BUILT_IN.items() if tool == name and has <= given.keys())
        kind = next(built_in, "tool")
        stems = [stem_of(part.casefold()) for part in re.findall(r"[^\W_A-Z]+|[A-Z]+[^\W_A-Z]*", name)]
        own = [each for each in stems if each not in WORDS["not-a-topic"]] or [*stems, name] if kind == "tool" else []
        about = map(stem_of, re.findall(r"\w+", text_of(tool.get("description"))[:2_000].casefold()))
        return cls(name, kind, frozenset(own), frozenset([*own, *about, *given, name.casefold()]), types)


@dataclass
class Ask:
    """One thing that a request asks for (``weather``, ``route`` or ``tool``), and its tool."""

    kind: str
    offer: Offer | None
    clauses: list[Clause]

    def of(self, kind: str) -> list[Mark]:
        """The marks of its clauses of a kind, in order."""
        return [mark for clause in self.clauses for mark in clause.of(kind)]


class Calls:
    """The calls of a request (``found``: name, tool and arguments), and what it ``cannot`` do, with reasons."""

    def __init__(self, request: str, tools: Iterable[Mapping[str, Any]], today: object) -> None:
        """``today`` is an ISO date and time; without one, no day has a date."""
        self._offers = [Offer.of(tool) for tool in tools if tool.get("name")]
        self._text = Text(request, today, frozenset(stem for each in self._offers for stem in each.topic))
        self._clauses, self._asks = list(self._text.clauses()), list[Ask]()
        self.found: dict[str, tuple[str, str, dict[str, Any]]] = {}
        self.cannot: dict[str, str] = {}
        read = {clause.start for clause in self._clauses if self._hear(clause)}
        for ask in self._asks:
            try:
                self._plan(ask)
            except LookupError as reason:
                self._gap(ask.clauses[0].start, ask.clauses[-1].stop, str(reason))
        for is_read, group in groupby(self._clauses, lambda clause: clause.start in read):
            if not is_read:
                *_, last = clauses = list(group)
                self._gap(clauses[0].start, last.stop, "no registered tool covers it")
        other = (WORDS[kind] for kind in _BUILT_IN.keys() - {ask.kind for ask in self._asks})
        known = SAID.difference(*other).union(*(ask.offer.about for ask in self._asks if ask.offer))
        values = [f"{value}".casefold() for _, _, args in self.found.values() for value in args.values()]
        values += [mark.value for ask in self._asks if ask.kind == "route" for mark in ask.of("day")]
        shown = "\n".join([*values, *self.cannot]).casefold()
        for clause in self._clauses:  # each word is known, in a call, or in a gap
            left = [(each.start, each.stop) for each in clause.marks if each.value.casefold() not in shown]
            left += [(at, at + 1) for at in clause.rest if not self._text.forms(at) & known]
            if left := [each for each in left if self._text.said(*each).casefold() not in shown]:
                self._gap(min(left)[0], max(left)[1], "it was not understood")

    def subtasks(self) -> list[dict[str, Any]]:
        """Return the calls as subtasks, with their arguments in their names if several are alike."""
        of_name, subtasks = Counter(name for name, _, _ in self.found.values()), list[dict[str, Any]]()
        for name, tool, args in self.found.values():
            own = slug(" ".join([name, *map(str, args.values())]), 180) if of_name[name] > 1 else name
            subtasks.append({"name": own, "tool": tool, "args": args})
        return subtasks

    def _gap(self, start: int, stop: int, reason: str) -> None:
        self.cannot.setdefault(line(self._text.said(start, stop), 300), line(f"{reason}; {HOW}", 900))

    # Which clauses ask for what

    def _hear(self, clause: Clause) -> bool:
        """Add a clause to what is asked, if it belongs there; return whether it is understood at all."""
        if clause.lows & WORDS["negation"]:
            return False
        unknown, marks = clause.lows - SAID, clause.marks
        last = self._asks[-1] if self._asks else None
        follows = last is not None and last.clauses[-1].sentence == clause.sentence
        tells = self._text.low(clause.start) in WORDS["statement"]
        listed = not (clause.lows - WORDS["lead"]) & FUNCTION  # "of B-7", "butter", not "book me a table"
        offer = self._offer_for(clause)
        if kind := offer.kind if offer is not None else self._kind(clause, unknown, tells=tells):
            offer = offer or next((each for each in self._offers if each.name == _BUILT_IN[kind][0]), None)
            kind = offer.kind if offer else kind
            modes = clause.of("mode") and last is not None and last.of("mode")
            if last is None or modes or not (follows and last.kind == kind != "tool"):
                self._asks.append(last := Ask(kind, offer, []))
        elif last is None or not (follows and last.kind == "tool" and listed):
            leads = bool(marks) and marks[0].start == clause.start
            if not marks or (unknown and not leads and not tells):
                return not unknown
            if last is None or tells or not (follows or leads):
                return True  # others can refer to it
        last.clauses.append(clause)
        return True

    def _kind(self, clause: Clause, unknown: set[str], *, tells: bool) -> str:
        """Return what a clause without the name of a tool asks for: ``weather``, ``route`` or ""."""
        lows, places = clause.lows, clause.of("place")
        links = {mark.link for mark in places}
        if lows & WORDS["route"] or {"how", "far"} <= lows:
            return "route"
        if lows & WORDS["weather"]:
            return "weather"
        moves = places and (clause.of("mode") or ("how" in lows and lows & WORDS["movement"]))
        known = any(slug(mark.value.partition(",")[0]) in PLACES["city"] | PLACES["sight"] for mark in places)
        pair = "between" in links or {"from", "to"} <= links or (len(places) > 1 and known and links & {"from", "to"})
        return "route" if (pair or moves) and not tells and "compare" not in lows and len(unknown) <= 1 else ""

    def _offer_for(self, clause: Clause) -> Offer | None:
        """Return the tool that a clause names, by its name or at least half of its words."""
        best, most = None, 0.49
        for offer in self._offers:
            stems = offer.topic | {offer.name.casefold()}
            hits = sum(bool(self._text.forms(at) & stems) for at in range(clause.start, clause.stop))
            if (share := hits / max(hits, len(offer.topic), 1)) > most:
                best, most = offer, share
        return best

    # The calls of an ask

    def _plan(self, ask: Ask) -> None:
        """Add the calls of an ask. Raises LookupError with the reason if it has no calls."""
        if ask.offer is None:
            raise LookupError(f"this run has no {_BUILT_IN[ask.kind][0]}")
        how = {"weather": self._weather, "route": self._routes, "tool": self._tool}[ask.kind]
        name = ask.offer.name.removesuffix("_tool") if ask.kind == "tool" else _BUILT_IN[ask.kind][1]
        for args in (found := list(islice(how(ask, ask.offer), _MOST_LOOKUPS))):
            key = json.dumps([ask.offer.name, args], sort_keys=True).casefold()
            self.found.setdefault(key, (name, ask.offer.name, args))
        if not found:
            raise LookupError("no place was found; give small towns a capital: “weather in Blois tomorrow”")

    def _weather(self, ask: Ask, offer: Offer) -> Iterator[dict[str, Any]]:
        for place, day in self._entries(ask):
            yield {"location": place, "day": day}

    def _routes(self, ask: Ask, offer: Offer) -> Iterator[dict[str, Any]]:
        places = [mark for mark in ask.of("place") if mark.link != "via"]
        said = [mark for mark in self._around(ask) if mark.kind == "place"]
        there = [mark.value for mark in said[-1:] if places]
        ways = [(starts or there, goals or there) for starts, goals in _ways(places or said)]
        if not all(starts and goals for starts, goals in ways):
            raise LookupError("no two places were named; say “from … to …”")
        mode = next((mark.value for mark in reversed(ask.of("mode"))), "drive")
        for origin, destination in (pair for way in ways for pair in product(*way)):
            yield {"origin": origin, "destination": destination, "mode": mode}

    def _tool(self, ask: Ask, offer: Offer) -> Iterator[dict[str, Any]]:
        if any(each.lows & (WORDS["negation"] | {"if"}) for each in self._clauses):
            raise LookupError("the built-in rules do not understand its condition")
        tokens = [at for each in ask.clauses for at in range(each.start, each.stop)]
        said = [mark.value for mark in sorted([*ask.of("place"), *ask.of("day")], key=lambda mark: mark.link == "to")]
        texts = [each for each, kind in offer.types.items() if kind == "string"]
        counts = [each for each, kind in offer.types.items() if kind in ("number", "integer")]
        values = [self._text.words[at] for at in tokens if at in self._text.quoted]
        if len(texts) == 1:
            values = values or (said if counts else self._items(ask, offer) or said)
            rows = [[each] for each in values or dict.fromkeys(place for place, _ in self._entries(ask))]
        else:
            rows = [values or said]
        numbers = [json.loads(low) for low in map(self._text.low, tokens) if re.fullmatch(r"[1-9]\d*(\.\d+)?", low)]
        if {*texts, *counts} < offer.types.keys() or len(numbers) < len(counts) or {len(texts)} != {*map(len, rows)}:
            raise LookupError(f"the built-in rules do not find all arguments of {offer.name} in the request")
        found = [dict(zip([*counts, *texts], [*numbers[: len(counts)], *row], strict=True)) for row in rows]
        held = json.dumps(found, ensure_ascii=False).casefold()
        for word in [
            *map(str.casefold, said),
            *(low for each in ask.clauses for low in map(self._text.low, each.rest)),
        ]:
            if not {word, stem_of(word)} & (FUNCTION | offer.about) and word not in held:
                raise LookupError(f"the built-in rules do not know where “{word}” goes in a call of {offer.name}")
        yield from found

    def _items(self, ask: Ask, offer: Offer) -> list[str]:
        """Return what the clauses of an ask name: their words, without those for the tool and "of the" around them."""
        days = {at for mark in ask.of("day") for at in range(mark.start, mark.stop)}
        known, items = FUNCTION | WORDS["lead"] | offer.about, list[str]()
        for clause in ask.clauses:
            said = [n for n in range(clause.start, clause.stop) if n not in days and not self._text.forms(n) & known]
            if said and not any(self._text.forms(n) & offer.topic for n in range(said[0], said[-1])):
                items.append(self._text.said(said[0], said[-1] + 1))
        return items

    def _around(self, ask: Ask) -> list[Mark]:
        """Return the places that "there" can mean, and the days: those of the last sentence with a place before an ask,
        else of the first clause after it."""
        placed = [each for each in self._clauses if each.of("place")]
        before = [each for each in placed if each.start < ask.clauses[0].start]
        near = [each for each in self._clauses if before and each.sentence == before[-1].sentence] or placed[:1]
        return [mark for each in near if each not in ask.clauses for mark in each.of("place", "day")]

    def _entries(self, ask: Ask) -> Iterator[tuple[str, str]]:
        """Yield the pairs of places and days of an ask, with what is said around it where it says none."""
        around = self._around(ask)
        goals = [mark for mark in around if mark.link == "to"]
        places = ask.of("place") or [mark for mark in goals or around if mark.kind == "place"]
        days = ask.of("day") or [mark for mark in around if mark.kind == "day"]
        order = [mark.kind for mark in sorted([*places, *days], key=lambda mark: mark.start)]
        by_turns = len(places) == len(days) and all(a != b for a, b in pairwise(order))  # "Paris today, Lyon tomorrow"
        names, when = [mark.value for mark in places], [mark.value for mark in days]
        yield from zip(names, when, strict=True) if by_turns else product(names, when or ["today"])


def _ways(places: list[Mark]) -> list[tuple[list[str], list[str]]]:
    """Return the starts and goals of the routes that places and the words before them describe."""
    ways: list[dict[str, list[str]]] = [{"from": [], "to": [], "": []}]
    last, end = "", -1
    for place, following in zip_longest(places, places[1:]):
        link = {"between": "from", "then": "to", "in": last, "": last}.get(place.link, place.link)
        if following is not None and following.link == "to" and following.start == place.stop:
            link = place.link or "from"  # "Paris to Lyon"
        goes_on = place.link == "then" or (place.link == "to" and place.start == end)  # "from Paris to Lyon to Nice"
        if ways[-1]["to"] and (goes_on or (link == "from" and ways[-1]["from"])):
            ways.append({"from": ways[-1]["to"][-1:] if goes_on else [], "to": [], "": []})
        ways[-1]["to" if goes_on else link].append(place.value)
        last, end = "to" if place.link == "between" else link, place.stop
    for way in ways:
        start = 0 if way["from"] else len(way[""]) if way["to"] else 1  # "Versailles from Paris"; "Paris to Lyon"
        way["from"] += way[""][:start]
        way["to"] += way[""][start:]
    return [(way["from"], way["to"]) for way in ways]
