"""Turn what a request asks for into tool calls, and name what the built-in model did not understand."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby, islice, product, takewhile, zip_longest
from typing import Any, TypeAlias

from leadhand.core.text import line

from .days import When
from .offers import Offer, offers
from .reading import Clause, Mark, Text
from .words import FUNCTION, PLACES, SAID, WORDS, slug, stem_of

HOW = (
    "the built-in offline model only understands English questions about weather and directions, and tools named in "
    "the request; set a model with --model for anything else"
)
_MOST_LOOKUPS, _MOST_GAPS, _LONGEST_ITEM = 2_000, 8, 8
_TOOLS = {"weather": "weather_tool", "route": "directions_tool"}
_NAMES = {"weather": "check_weather", "route": "get_directions"}
_Args: TypeAlias = Iterable[dict[str, Any]] | str  # the arguments of calls, or the reason why there are none


@dataclass
class Ask:
    """One thing that a request asks for (``weather``, ``route`` or ``tool``), its tool, and the name of its calls.

    ``named_at`` is the token that names the tool.
    """

    kind: str
    offer: Offer | None
    name: str
    named_at: int
    clauses: list[Clause]

    def of(self, *kinds: str) -> list[Mark]:
        """The marks of its clauses of some kinds, in order."""
        return [mark for clause in self.clauses for mark in clause.of(*kinds)]

    def lows(self) -> set[str]:
        """The words of its clauses that are in no mark."""
        return {low for clause in self.clauses for low in clause.lows}


class Calls:
    """The calls of a request (``found``: name, tool and arguments), and what cannot be done, with reasons (``gaps``)."""

    def __init__(self, request: str, tools: Iterable[Mapping[str, Any]], today: date | None) -> None:
        self._offers = offers(tools)
        self._text = Text(request, today, frozenset(stem for each in self._offers.values() for stem in each.topic))
        self._clauses, self._asks = list(self._text.clauses()), list[Ask]()
        self.found: dict[str, tuple[str, str, dict[str, Any]]] = {}
        self.gaps: dict[str, str] = {}
        read = [self._hear(clause) for clause in self._clauses]
        for ask in self._asks:
            self._plan(ask)
        for (is_read, _), group in groupby(
            zip(read, self._clauses, strict=True), lambda each: (each[0], each[1].sentence)
        ):
            run = [clause for _, clause in group]
            if not is_read or not (self._asks or all(not clause.marks for clause in run)):
                self._gap(run, "no registered tool covers it")

    def subtasks(self) -> list[dict[str, Any]]:
        """Return the calls as subtasks with distinct names: with what differs, if several are alike."""
        values, taken, subtasks = defaultdict[tuple[str, str], set[str]](set), Counter[str](), list[dict[str, Any]]()
        for name, _, args in self.found.values():
            for key, value in args.items():
                values[name, key].add(f"{value}")
        for name, tool, args in self.found.values():
            differing = [slug(f"{value}") for key, value in args.items() if len(values[name, key]) > 1]
            own = slug("_".join([name, *differing]), 180)
            taken[own] += 1
            subtasks.append({"name": f"{own}_{taken[own]}" if taken[own] > 1 else own, "tool": tool, "args": args})
        return subtasks

    def cannot(self) -> list[dict[str, str]]:
        """Return the gaps for a plan: the first few, and how many more there are."""
        listed = list(self.gaps.items())
        if more := len(listed[_MOST_GAPS:]):
            listed[_MOST_GAPS:] = [(f"{more} more parts of the request", f"they are not covered; {HOW}")]
        return [{"what": what, "reason": reason} for what, reason in listed]

    def _gap(self, clauses: list[Clause], reason: str) -> None:
        said = self._text.said(clauses[0].start, clauses[-1].stop)
        self.gaps.setdefault(line(said, 300), line(f"{reason}; {HOW}", 900))

    # Which clauses ask for what

    def _hear(self, clause: Clause) -> bool:
        """Add a clause to what is asked, if it belongs there; return whether it is understood at all."""
        if clause.lows & WORDS["negation"]:
            return False
        offer, at = self._offer_for(clause)
        unknown, marks = clause.lows - SAID, clause.marks
        last = self._asks[-1] if self._asks else None
        follows = last is not None and last.clauses[-1].sentence == clause.sentence
        tells = self._text.low(clause.start) in WORDS["statement"]
        if kind := "tool" if offer is not None else self._kind(clause, unknown, tells=tells):
            offer = offer or self._offers.get(_TOOLS[kind])
            usual = (each for each, name in _TOOLS.items() if offer and offer.name == name and not offer.topic)
            kind = next(usual, "tool" if offer else kind)
            modes = clause.of("mode") and last is not None and last.of("mode")
            if last is None or modes or not (follows and last.kind == kind != "tool"):
                verb = next((f"{low}_" for low in map(self._text.low, clause.rest) if low in WORDS["verb"]), "")
                name = _NAMES.get(kind) or verb + self._text.low(at).removesuffix("_tool")
                self._asks.append(last := Ask(kind, offer, name, at, []))
        elif last is None or not (follows and last.kind == "tool" and _is_item(clause, last)):
            leads = bool(marks) and marks[0].start == clause.start
            if not marks or (unknown and not leads and not tells):
                return not unknown
            leads = leads and bool(marks[0].link or marks[0].kind == "day")
            if last is None or (tells and last.of("place")) or not (follows or leads or tells):
                return True  # others can refer to it
        last.clauses.append(clause)
        return True

    def _kind(self, clause: Clause, unknown: set[str], *, tells: bool) -> str:
        """Return what a clause without the name of a tool asks for: ``weather``, ``route`` or ""."""
        lows, places = clause.lows, clause.of("place")
        links = {mark.link for mark in places}
        if lows & WORDS["route"] or {"how", "far"} <= lows:
            return "route"
        if lows & WORDS["weather"] or (lows & WORDS["weather-too"] and len(unknown) <= 1):
            return "weather"
        moves = (clause.of("mode") or ("how" in lows and lows & WORDS["movement"])) and (places or "there" in lows)
        known = any(slug(mark.value.partition(",")[0]) in PLACES["city"] | PLACES["sight"] for mark in places)
        pair = "between" in links or ("to" in links and ("from" in links or (len(places) > 1 and known)))
        return "route" if (pair or moves) and not tells and "compare" not in lows and len(unknown) <= 1 else ""

    def _offer_for(self, clause: Clause) -> tuple[Offer | None, int]:
        """Return the tool that a clause names, by its name or at least half of its words, and where it names it."""
        lows = {at: self._text.low(at) for at in range(clause.start, clause.stop)}
        best, most, where = None, 0.49, clause.start
        for name, offer in self._offers.items():
            hits = [at for at, low in lows.items() if low == name or stem_of(low) in offer.topic]
            share = 2.0 if name in lows.values() else len(hits) / max(len(hits), len(offer.topic), 1)
            if share > most:
                best, most, where = offer, share, hits[0]
        return best, where

    # The calls of an ask

    def _plan(self, ask: Ask) -> None:
        """Add the calls of an ask, or the reason why there are none."""
        plans = {"weather": self._weather, "route": self._routes, "tool": self._tool}
        planned = plans[ask.kind](ask, ask.offer) if ask.offer else f"this run has no {_TOOLS[ask.kind]}"
        found = list(islice(planned, _MOST_LOOKUPS + 1)) if not isinstance(planned, str) else []
        if isinstance(planned, str) or len(found) > _MOST_LOOKUPS:
            most = f"a request is planned up to {_MOST_LOOKUPS} look-ups"
            return self._gap(ask.clauses, planned if isinstance(planned, str) else most)
        for args in found if ask.offer else ():
            key = json.dumps([ask.offer.name, args], sort_keys=True).casefold()
            self.found.setdefault(key, (ask.name, ask.offer.name, args))
        for clause in ask.clauses if ask.kind != "tool" else ():
            if left := [at for at in clause.rest if self._text.low(at) not in SAID]:
                self._gap([Clause(left[0], 0, left[-1] + 1)], "it was not understood")
        return None

    def _weather(self, ask: Ask, offer: Offer) -> _Args:
        units = {mark.kind: mark.value for clause in self._clauses for mark in clause.of("units")}
        found = [(place, when or When("today")) for place, when in islice(self._entries(ask), _MOST_LOOKUPS + 1)]
        if not found:
            return "no place was found; say “in …” and give small towns a capital: “weather in Blois tomorrow”"
        args = ({"location": at, "day": when.day, "days": when.days, **units} for at, when in found)
        return ({name: value for name, value in each.items() if value != 1} for each in args)

    def _routes(self, ask: Ask, offer: Offer) -> _Args:
        places, other = ask.of("place"), ask.lows() & WORDS["other-transport"]
        if any(mark.link == "via" for mark in places) or (other and not ask.of("mode")):
            return "the built-in rules plan direct routes by car, by bicycle and on foot"
        said = [mark for mark in self._around(ask) if mark.kind == "place"]
        there = [mark.value for mark in said[-1:] if places]
        ways = [(starts or there, goals or there) for starts, goals in _ways(places or said)]
        if not all(starts and goals for starts, goals in ways):
            return "no two places were named; say “from … to …”"
        mode = next((mark.value for mark in reversed(ask.of("mode"))), "drive")
        ends = (pair for way in ways for pair in product(*way))
        return ({"origin": origin, "destination": destination, "mode": mode} for origin, destination in ends)

    def _tool(self, ask: Ask, offer: Offer) -> _Args:
        sentences = {clause.sentence for clause in ask.clauses}
        if any(clause.lows & WORDS["condition"] for clause in self._clauses if clause.sentence in sentences):
            return "the built-in rules do not understand its condition"
        texts, places, days = offer.texts(), ask.of("place"), ask.of("day")
        tokens = [self._text.tokens[at] for clause in ask.clauses for at in range(clause.start, clause.stop)]
        values = [token.text for token in tokens if token.quoted]
        if len(texts) == 1 and not values:
            values = self._items(ask, offer) if len(offer.required) == 1 else [mark.value for mark in places]
            values = values or list(dict.fromkeys(place for place, _ in self._entries(ask)))
        elif not values:
            values = [mark.value for mark in sorted(places, key=lambda mark: mark.link == "to")]
        rows = [[value] for value in values] if len(texts) == 1 else [values] if len(values) == len(texts) else []
        numbers = [token.low for token in tokens if re.fullmatch(r"\d+(\.\d+)?", token.low)]
        found = [offer.fill(row, numbers, days[0].when.day if days else "", ask.lows()) for row in rows or [[]]]
        if missing := next((each for each in found if isinstance(each, str)), ""):
            return f"{offer.name} needs {missing}, and the built-in rules do not find it in the request"
        held = json.dumps(found, ensure_ascii=False).casefold()
        known = FUNCTION | offer.about | {offer.name.casefold(), *map(str.casefold, offer.properties)}
        said = [*(mark.when.day or mark.value for mark in ask.of("place", "day", "mode")), *sorted(ask.lows())]
        for word in map(str.casefold, said):
            if not {word, stem_of(word)} & known and word not in held:
                return f"{offer.name} has no parameter that “{word}” fits, as far as the built-in rules can tell"
        return [each for each in found if not isinstance(each, str)]

    def _items(self, ask: Ask, offer: Offer) -> list[str]:
        """Return what the clauses of an ask name: their words, without those for the tool and "of the" around them."""
        days = {at for mark in ask.of("day") for at in range(mark.start, mark.stop)}
        items = list[str]()
        for names, first in ((offer.about, ask.named_at), (offer.topic, ask.named_at), (offer.topic, 0)):
            known = FUNCTION | WORDS["lead"] | names | {offer.name.casefold()}
            for clause in ask.clauses if not items else ():
                at = range(max(clause.start, first), clause.stop)
                said = [n for n in at if n not in days and not {low := self._text.low(n), stem_of(low)} & known]
                items += [self._text.said(said[0], said[-1] + 1)] if said else []
        return items

    def _around(self, ask: Ask) -> list[Mark]:
        """Return the places that "there" can mean, with their days: those said last before an ask, else after it."""
        start, owner = (
            ask.clauses[0].start,
            {each.start: at for at, ask in enumerate(self._asks) for each in ask.clauses},
        )
        before = [each for each in self._clauses if each.start < start and each.of("place", "day")]
        placed = [each for each in before if each.of("place")]
        run = takewhile(lambda each: owner.get(each.start) == owner.get(placed[-1].start), reversed(placed))
        after = (each.of("place") for each in self._clauses if each.start > start)
        marks = [mark for each in reversed(list(run)) for mark in each.of("place", "day")]
        days = [mark for each in before if each.start not in owner for mark in each.of("day") if mark not in marks]
        marks = [mark for mark in marks if mark.kind == "place" or not placed or placed[-1].start not in owner]
        return [*marks, *days] if placed else [*next(filter(None, after), []), *days]

    def _entries(self, ask: Ask) -> Iterator[tuple[str, When | None]]:
        """Yield the pairs of places and days of an ask, with what is said around it where it says none."""
        marks, around = ask.of("place", "day"), self._around(ask)
        said = [mark for mark in around if mark.kind == "day" and not ask.of("day")]
        if not ask.of("place"):
            goals = [mark for mark in around if mark.link == "to" and "both" not in ask.lows()]
            marks = [
                *(mark for mark in around if mark in said or (mark.kind == "place" and mark in (goals or around))),
                *marks,
            ]
        days_of = {place: days for places, days in _groups(around) for place in places}
        for places, days in _groups(marks):
            for place in places:
                for day in days or days_of.get(place) or ([said[0].when] if len(said) == 1 else [None]):
                    yield place, day


def _is_item(clause: Clause, ask: Ask) -> bool:
    """Whether a clause can be one more item for a tool: "of B-7", "butter", not "book me a table"."""
    texts = ask.offer.texts() if ask.offer is not None else []
    return bool(texts) and not (clause.lows - WORDS["lead"]) & FUNCTION and clause.stop - clause.start <= _LONGEST_ITEM


def _groups(marks: Iterable[Mark]) -> list[tuple[list[str], list[When]]]:
    """Return places with their days. A day after several places is for all of them: "in Paris, Rome and Oslo today"."""
    groups: list[tuple[list[str], list[When]]] = [([], [])]
    days_first = False
    for mark in marks:
        places, days = groups[-1]
        days_first = days_first if places or days else mark.kind == "day"
        if places and days and (mark.kind == "day") == days_first:
            groups.append(([], []))
        if mark.kind == "day":
            groups[-1][1].append(mark.when)
        else:
            groups[-1][0].append(mark.value)
    if len(groups) > 1 and not groups[-1][1]:  # "in Oslo tomorrow, and in Paris"
        groups[-1][1].extend(groups[-2][1])
    return groups


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
