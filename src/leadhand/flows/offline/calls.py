"""Turn what a request asks for into tool calls, and name every part that no call covers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from itertools import dropwhile, islice, product
from typing import Any, TypeAlias

from leadhand.core.text import line
from leadhand.core.value import list_of

from .arguments import USUAL, Offer, Offers, fill, role_of
from .asks import KNOWN, MOST_LOOKUPS, Ask, Listener
from .days import WEEKDAYS, When
from .tokens import tokenize
from .words import ALIASES, FUNCTION, WORDS, slug, stem_of

HOW = (
    "the built-in offline model only understands English questions about weather and directions, and tools named in "
    "the request; set a model with --model for anything else"
)
_MOST_GAPS = 8
_Look: TypeAlias = tuple[Mapping[str, Any], str, str]  # facts of a call; what it is about and its day, for its name


class Calls:
    """The calls of a request (``found``, without duplicates), and what cannot be done, with reasons (``gaps``)."""

    def __init__(self, request: str, tools: Iterable[Mapping[str, Any]], today: date | None) -> None:
        heard = Listener(request, Offers(tools), today)
        self.text, self.units = heard.text, heard.units
        self.found: dict[str, dict[str, Any]] = {}
        self.gaps: dict[str, str] = {}
        for ask in heard.asks:
            said = self.text.said(ask.clauses[0].start, ask.clauses[-1].stop)
            if refused := self._plan(ask, said) if ask.kind != "scene" else "":
                self.gap(said, f"{refused}; {HOW}")
        if len(self.found) > MOST_LOOKUPS:
            self.found = dict(islice(self.found.items(), MOST_LOOKUPS))
            self.gap("more look-ups", f"one request is planned up to {MOST_LOOKUPS} look-ups")
        every = [call["args"] for call in self.found.values()]
        for ask in heard.asks:
            if ask.kind == "scene" and (left := self._left(ask, every)):
                self.gap(left, f"the request does not say what to do with it; {HOW}")

    def gap(self, what: str, reason: str) -> None:
        """Name a part that cannot be done."""
        self.gaps.setdefault(line(what, 300) or "(an empty request)", line(reason, 900))

    def cannot(self) -> list[dict[str, str]]:
        """Return the gaps for a plan: the first few, and how many more there are."""
        listed = list(self.gaps.items())
        if more := len(listed[_MOST_GAPS:]):
            listed[_MOST_GAPS:] = [(f"{more} more parts of the request", f"they are not covered; {HOW}")]
        return [{"what": what, "reason": reason} for what, reason in listed]

    def _plan(self, ask: Ask, said: str) -> str:
        """Add the calls for an ask, or return the reason why that is not possible."""
        offer = ask.offer
        if ask.kind == "unclear":
            return "which day is for which place is not clear: ask for each place in a sentence of its own"
        if offer is None or ask.kind == "other":
            none = f"no registered tool gives {ask.kind}: this run has no {USUAL.get(ask.kind)}"
            return none if ask.kind in USUAL else "no registered tool covers it, as far as the built-in rules can tell"
        looks = self._routes(ask) if ask.kind == "route" else self._visits(ask, offer)
        if isinstance(looks, str):
            return looks
        folded = frozenset(word.strip(",.;:?!()\"'").casefold() for word in said.split())
        calls: dict[str, dict[str, Any]] = {}
        for facts, place, detail in looks:
            args, missing = fill(offer, {"words": folded, "units": self.units, **facts})
            if missing:
                return f"{offer.name} needs {', '.join(missing)}, and the built-in rules do not find it in the request"
            longer = slug(f"{ask.name} {slug(place)} {detail}", 180)
            key = json.dumps([offer.name, args], sort_keys=True, ensure_ascii=False).casefold()
            calls.setdefault(key, {"name": ask.name, "longer": longer, "tool": offer.name, "args": args})
        is_whole = len(calls) <= MOST_LOOKUPS
        if is_whole and (left := self._left(ask, [call["args"] for call in calls.values()])):
            if left.title() in WEEKDAYS and "day" in map(role_of, offer.properties):
                return f"the date after “{left}” is another day of the week"
            return f"{offer.name} has no parameter that “{left}” could go into, as far as the built-in rules can tell"
        if len(self.found) <= MOST_LOOKUPS:
            self.found |= calls
        return ""

    def _left(self, ask: Ask, made: list[dict[str, Any]]) -> str:
        """Return the part of an ask that calls with some arguments do not cover; "" if they cover all."""
        parts = [part for args in made for value in args.values() for part in list_of(value) or [value]]
        values = {f"{part:g}" if isinstance(part, float) else f"{part}".casefold() for part in parts}
        joined, known = "\n".join(values), KNOWN.get(ask.kind, FUNCTION)
        if ask.kind == "tool":
            known = known.union(values, *(map(str.casefold, args) for args in made))
            known |= {token.low for token in tokenize(joined)}
        about = ask.offer.about | {ask.offer.name.casefold()} if ask.offer is not None else frozenset[str]()

        def is_open(at: int) -> bool:
            token = self.text.tokens[at]
            said = {token.low, token.text.casefold()}
            return said.isdisjoint(known) and about.isdisjoint(said | {stem_of(token.low)})

        left: list[int] = []
        for clause in ask.clauses:
            left += [at for rest in clause.rest if is_open(rest) for at in (rest, rest + 1)]
            for phrase in clause.phrases:
                if phrase.when is not None:
                    used = phrase.when.day in values and (phrase.when.days == 1 or f"{phrase.when.days}" in values)
                elif phrase.kind == "place":
                    used = phrase.value.casefold() in joined
                else:
                    used = phrase.kind == "there" or not values.isdisjoint(ALIASES.get(phrase.value, (phrase.value,)))
                if not used and any(map(is_open, range(phrase.start, phrase.stop))):
                    left += [phrase.start, phrase.stop]
        return self.text.said(min(left), max(left)) if left else ""

    def _routes(self, ask: Ask) -> list[_Look] | str:
        transport = next((phrase.value for phrase in ask.of("transport")), "")
        looks: list[_Look] = []
        for way in ask.ways:
            starts, goals = way.starts or [ask.start_at] * bool(ask.start_at), way.goals
            if not starts or not goals:
                return f"no {'destination' if starts else 'starting point'} was named; say “from … to …”"
            if transport and not way.mode:
                return f"the built-in rules plan routes by car, by bicycle and on foot, but not by {transport}"
            ends = islice(product(starts, goals), MOST_LOOKUPS + 1)
            looks += [({"origin": a, "destination": b, "mode": way.mode or "drive"}, f"{a} {b}", "") for a, b in ends]
        return looks or "no two places were named; say “from … to …”"

    def _visits(self, ask: Ask, offer: Offer) -> list[_Look] | str:
        weather, items = ask.kind == "weather", self._items(ask, offer)
        roles = set(map(role_of, offer.properties))
        entries = ask.entries()[: None if weather or "place" in roles else 1]
        if weather and not entries:
            return "no place was found; say “in …” and give small towns a capital: “weather in Blois tomorrow”"
        if isinstance(items, str):
            return items
        rest = (self.text.tokens[at].text for clause in ask.clauses for at in clause.rest)
        numbers = [word for word in rest if re.fullmatch(r"\d+(?:\.\d+)?", word)]
        links = {phrase.link: phrase.value for phrase in ask.of("place")}
        known = {
            "origin": links.get("from", ""),
            "destination": links.get("to", ""),
            "mode": next((phrase.value for phrase in ask.of("mode")), ""),
            "number": numbers[0] if len(numbers) == 1 else "",
        }
        lone = next((day for group in ask.groups for day in group.days), None)
        looks: list[_Look] = []
        for (place, day), item in product(entries or [("", lone)], items):
            when = day or When("today" if weather else "")
            facts = {**known, "place": place, "day": when.day, "days": when.days, **item}
            where = f" {place or known['destination']}" if not item or roles & {"place", "day"} else ""
            label = item.get("text", "") + where
            looks.append((facts, label, str(day or "") if len({day for _, day in entries}) > 1 else ""))
        return looks

    def _items(self, ask: Ask, offer: Offer) -> list[dict[str, Any]] | str:
        """Return the values for a tool with free text, one call each, or a reason if they are not clear."""
        texts = offer.texts()
        days = {at for phrase in ask.of("day") for at in range(phrase.start, phrase.stop)}
        spans = (range(max(clause.start, ask.first), clause.stop) for clause in ask.clauses)
        given = [[self.text.tokens[at] for at in span if at not in days] for span in spans]
        odd = [token.text for tokens in given for token in tokens if token.low in WORDS["condition"]]
        if ask.first and odd:
            return f"the built-in rules do not understand “{odd[0]}”"
        quotes = [token.text for tokens in given for token in tokens if token.quoted]
        if len(texts) > 1 and len(quotes) == len(texts):
            return [{"named": dict(zip(texts, quotes, strict=True))}]
        if len(texts) == 1 and quotes:
            return [{"text": quote} for quote in quotes]
        if len(offer.required) != 1 or not texts:
            return [{}]  # a message next to other arguments has to be quoted
        parts, led = list[str](), True
        for tokens in given:
            said = [token.text for token in tokens if not token.mark and token.low not in ("please", "too", "also")]
            item = list(dropwhile(lambda word: word.casefold() in WORDS["lead"], said))
            if _is_code("".join(item[:1])) and not WORDS["lead"].isdisjoint(map(str.casefold, item)):
                item = item[:1]  # the rest fits no parameter
            if item:
                led = led and (item[0] != said[0] or not parts)
                parts.append(" ".join(item))
        listed = led or (len(parts) > 2 and all(len(part.split()) <= 3 for part in parts))
        if len(parts) < 2 or listed or all(map(_is_code, parts)):
            return [{"text": part} for part in parts] or [{}]
        both = f"{parts[0]} and {parts[-1]}"
        return f"whether “{both}” is one thing or several is not clear: put each into quotation marks"


def _is_code(text: str) -> bool:
    """Whether this can only be one name: ``A-113``, ``iPhone 15``, ``AAPL``."""
    return 0 < len(text.split()) <= 3 and (any(map(str.isdigit, text)) or (len(text) > 1 and text.isupper()))
