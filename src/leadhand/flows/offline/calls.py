"""Turn what a request asks for into tool calls, and name every part that no call covers."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from itertools import product
from typing import Any, NamedTuple

from leadhand.domain.days import When
from leadhand.domain.value import list_of

from . import words
from .arguments import DIRECTIONS_TOOL, WEATHER_TOOL, Facts, Offer, Offers, fill, options_of, role_of, takes
from .asks import MOST_LOOKUPS, Ask
from .clauses import Clause, Phrase
from .listening import KNOWN, Listener, explains
from .rendering import short
from .tokens import tokenize

HOW = (
    "the built-in offline model only understands English questions about weather and directions, and tools named in "
    "the request; set a model with --model for anything else"
)
_MOST_GAPS = 8
_LONGEST_ITEM = 3  # words; a longer part belongs to one topic


class Item(NamedTuple):
    """One value for a tool: its ``text``, and values of ``named`` parameters."""

    text: str
    named: dict[str, Any]
    led: bool = False  # it begins with a preposition: "and of B-7"


class Calls:
    """The calls of a request (``found``, without duplicates), and what cannot be done, with reasons (``gaps``)."""

    def __init__(self, request: str, tools: Iterable[Mapping[str, Any]], today: date | None) -> None:
        self.offers = Offers(tools)
        heard = Listener(request, self.offers, today)
        self.text, self.units = heard.text, heard.units
        self.found: dict[str, dict[str, Any]] = {}
        self.gaps: dict[str, str] = {}
        self._hidden = 0
        self._too_many = False
        self._made: list[dict[str, Any]] = []  # the arguments of the calls for one ask
        plan = {"weather": self._weather, "route": self._routes, "tool": self._tool}
        every: list[dict[str, Any]] = []
        for ask in heard.asks:
            said, self._made = self.text.said(ask.clauses[0].start, ask.clauses[-1].stop), []
            folded = frozenset(word.strip(",.;:?!()\"'").casefold() for word in said.split())
            places = tuple(dict.fromkeys(place for place, _ in ask.entries()))
            facts = Facts(words=folded, units=self.units, places=places)
            if ask.kind == "other":
                self.gap(said, f"{ask.reason or 'no registered tool covers it'}; {HOW}")
            elif refused := plan[ask.kind](ask, facts, said):
                self.gap(said, refused)
            elif self._made:
                self._audit(ask, ask.clauses, self._made)
            every += self._made
        self._audit(None, heard.background, every)

    def gap(self, what: str, reason: str) -> None:
        """Name a part that cannot be done; only the first few are listed."""
        what = short(what, 300) or "(an empty request)"
        if what in self.gaps or len(self.gaps) >= _MOST_GAPS:
            self._hidden += what not in self.gaps
        else:
            self.gaps[what] = short(reason, 900)

    def cannot(self) -> list[dict[str, str]]:
        """Return the gaps for a plan."""
        listed = list(self.gaps.items())
        if self._hidden:
            listed.append((f"{self._hidden} more parts of the request", f"they are not covered; {HOW}"))
        if self._too_many:
            listed.append(("more look-ups", f"one request is planned up to {MOST_LOOKUPS} look-ups"))
        return [{"what": what, "reason": reason} for what, reason in listed]

    def _audit(self, ask: Ask | None, clauses: list[Clause], made: list[dict[str, Any]]) -> None:
        """Name the parts of the clauses that no call covers, so that no part of a request is silently dropped."""
        if self._too_many:
            return
        parts = [part for args in made for value in args.values() for part in list_of(value) or [value]]
        values = {f"{part:g}" if isinstance(part, float) else f"{part}".casefold() for part in parts}
        joined = "\n".join(values)
        said = {token.low for token in tokenize(joined)} | {name.casefold() for args in made for name in args}
        offer = self._offer(ask) if ask is not None else None
        said |= words.HEADING if ask is None else KNOWN.get(ask.kind, frozenset())

        def is_open(index: int) -> bool:
            token = self.text.tokens[index]
            return not explains(token.low, said, offer) and token.text.casefold() not in values

        for clause in clauses:
            unused: list[Phrase] = []
            left = {index for index in clause.rest if offer is not None and is_open(index)}
            for phrase in clause.phrases:
                still_open = [index for index in range(phrase.start, phrase.stop) if is_open(index)]
                if still_open and not _is_used(phrase, values, joined):
                    begin = still_open[0]
                    while begin > phrase.start and self.text.tokens[begin - 1].low in words.FUNCTION:
                        begin -= 1  # "via Dijon", not "Dijon"
                    left |= {begin, phrase.stop - 1}
                    unused.append(phrase)
            if not left:
                continue
            part, days = self.text.said(min(left), max(left) + 1), [phrase.when for phrase in unused if phrase.when]
            if offer is None:
                self.gap(part, f"the request does not say what to do with it; {HOW}")
            elif days and days[0].day in values:
                reason = "is asked about one day at a time; name the days, for example “on Friday and Saturday”"
                self.gap(f"{part} (beyond the first day)", f"{offer.name} {reason}")
            elif days:
                self.gap(part, f"{offer.name} cannot be asked about a day")
            else:
                self.gap(part, f"{offer.name} has no parameter that “{part}” could go into")

    def _offer(self, ask: Ask) -> Offer | None:
        name = {"weather": WEATHER_TOOL, "route": DIRECTIONS_TOOL}.get(ask.kind, "")
        return ask.match.offer if ask.match is not None else self.offers.by_name.get(name)

    def _weather(self, ask: Ask, facts: Facts, said: str) -> str:
        offer, entries = self._offer(ask), ask.entries()
        if offer is None:
            return f"no registered tool gives the weather: this run has no {WEATHER_TOOL}"
        if not entries:
            return "no place was named; say where, for example “weather in Paris tomorrow”"
        lacking = ""
        together = "places" in offer.roles and "place" not in offer.roles  # one call takes all places
        for place, day in entries[: 1 if together else None]:
            when = day or When("today")
            given = facts._replace(place=place, day=when.day, days=when.days)
            lacking = lacking or self._add(offer, given, "check_weather", place, str(day or ""), ("location", "day"))
        return lacking

    def _routes(self, ask: Ask, facts: Facts, said: str) -> str:
        offer = self._offer(ask)
        if offer is None:
            return f"no registered tool gives directions: this run has no {DIRECTIONS_TOOL}"
        lacking = "" if ask.ways else "no two places were named; say “from … to …”"
        for way in ask.ways:
            starts = way.ends("starts") if way.starts else [ask.start_at] * bool(ask.start_at)
            goals = way.ends("goals") if way.goals else []
            if not starts or not goals:
                lacking = f"no {'destination' if starts else 'starting point'} was named; say “from … to …”"
            given = facts._replace(mode=way.mode or "drive")
            if ask.transport and not way.mode:
                # A tool that does not list its modes may accept any means of transport.
                given = given._replace(mode="transit", origin="A", destination="B")
                if not options_of(offer.properties.get("mode")) or "mode" not in fill(offer, given)[0]:
                    return f"{DIRECTIONS_TOOL} gives routes by car, by bicycle and on foot, but not by {ask.transport}"
            for start, goal in product(starts, goals):
                if self._too_many:
                    return ""
                given = given._replace(origin=start, destination=goal)
                defaults = ("origin", "destination", "mode")
                lacking = self._add(offer, given, "get_directions", f"{start} {goal}", way.mode, defaults) or lacking
        return lacking

    def _tool(self, ask: Ask, facts: Facts, said: str) -> str:
        assert ask.match is not None, "an ask for a tool names it"
        offer, noun = ask.match.offer, self.text.tokens[ask.match.at].low
        items = self._items(ask, offer)
        if isinstance(items, str):
            return items
        entries = ask.entries()[: None if "place" in offer.roles else 1]
        placed = bool(offer.roles & {"place", "places", "day"})
        links = {phrase.link: phrase.value for clause in ask.clauses for phrase in clause.of("place")}
        known = facts._replace(
            origin=links.get("from", ""),
            destination=links.get("to", ""),
            mode=next((phrase.value for clause in ask.clauses for phrase in clause.of("mode")), ""),
            numbers=tuple(re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-]*\w)", said)),
        )
        lows = (self.text.tokens[at].low for at in ask.clauses[0].rest)
        verb = next((f"{low} " for low in lows if low in words.VERBS), "")
        base, lacking = slug(noun.removesuffix("_tool") if ask.match.named else f"{verb}{noun}"), ""
        days = [day for group in ask.groups for day in group.days]
        for place, day in entries or [("", None)]:
            when = day or next(iter(days), When(""))
            for item in items or [Item("", {})]:
                given = known._replace(place=place, day=when.day, days=when.days, text=item.text, named=item.named)
                label = f"{item.text} {'' if item.text and not placed else place}"
                lacking = lacking or self._add(offer, given, base, label, str(when))
        return lacking

    def _items(self, ask: Ask, offer: Offer) -> list[Item] | str:
        """Return the values for a tool with free text, one call each, or a reason if they are not clear."""
        texts = offer.texts()
        if not texts or ask.match is None:
            return []
        tokens = [token for clause in ask.clauses for token in self.text.tokens[clause.start : clause.stop]]
        quotes = [token.text for token in tokens if token.quoted]
        if len(texts) > 1:
            return [Item("", dict(zip(texts, quotes, strict=True)))] if len(quotes) == len(texts) else []
        if quotes:
            return [Item(quote, {}) for quote in quotes]
        if len(offer.required) > 1:
            return []  # a message next to other arguments has to be quoted
        strings = [name for name, schema in offer.properties.items() if not role_of(name) and takes(schema, "string")]
        first = ask.match.last + 1
        parts = [self._item(clause, first, [name for name in strings if name not in texts]) for clause in ask.clauses]
        parts = [part for part in parts if part.text or part.named]
        if len(parts) < 2:
            return parts
        last = parts[-1]
        if not any(part.named for part in parts[:-1]):  # "A-113 and B-7 in warehouse north"
            parts = [part._replace(named=last.named) for part in parts]
        if all(part.led for part in parts[1:]) or all(_is_code(part.text) for part in parts):
            return parts
        short_ones = all(len(part.text.split()) <= _LONGEST_ITEM for part in parts)
        if len(parts) > 2 and short_ones and ask.clauses[-1].before == "and":
            return parts
        both = f"{parts[0].text} and {last.text}"
        return f"whether “{both}” is one thing or two is not clear: put each into quotation marks"

    def _item(self, clause: Clause, first: int, names: list[str]) -> Item:
        tokens = self.text.tokens[max(clause.start, first) : clause.stop]
        said = [token.text for token in tokens if not token.mark and token.low not in ("please", "too", "also")]
        led = bool(said) and said[0].casefold() in words.LEADS
        named: dict[str, Any] = {}
        for name in names:
            said = _take(said, name, named)
        while said and said[0].casefold() in words.LEADS | words.ARTICLES:
            said.pop(0)
        if len(said) > 2 and _is_code(said[0]) and said[1].casefold() in words.LEADS:
            said = said[:1]  # the rest is named as a gap
        return Item(" ".join(said), named, led)

    def _add(
        self, offer: Offer, facts: Facts, name: str, place: str, detail: str, defaults: tuple[str, ...] = ()
    ) -> str:
        """Add a call, or return why it lacks arguments. Place and detail make its name distinct."""
        args, missing = fill(offer, facts, defaults)
        if missing:
            where = all(role_of(name) == "place" for name in missing)
            why = "no place was named" if where else "the built-in rules do not find it in the request"
            return f"{offer.name} needs {', '.join(missing)}, and {why}; {HOW}"
        self._made.append(args)
        key = json.dumps([offer.name, args], sort_keys=True, ensure_ascii=False).casefold()
        self._too_many = self._too_many or (key not in self.found and len(self.found) >= MOST_LOOKUPS)
        if not self._too_many:
            names = [name, slug(f"{name} {slug(place)}", 120), slug(f"{name} {slug(place)} {detail}", 180)]
            self.found.setdefault(key, {"names": names, "tool": offer.name, "args": args})
        return ""


def _is_used(phrase: Phrase, values: Collection[str], joined: str) -> bool:
    """Whether the arguments of calls contain the value of a phrase, under any name."""
    if phrase.when is not None:
        return phrase.when.day in values and (phrase.when.days == 1 or f"{phrase.when.days}" in values)
    match phrase.kind:
        case "place":
            return phrase.value.casefold() in joined
        case "units":
            return not words.UNIT_NAMES[phrase.value].isdisjoint(values)
        case "there":
            return True
        case _:
            names = words.MODE_NAMES[phrase.value if phrase.kind == "mode" else "transit"]
            return phrase.value in values or not names.isdisjoint(values)


def _take(said: list[str], name: str, named: dict[str, Any]) -> list[str]:
    """Take "in warehouse north" or "in the north warehouse" out of the words, for the parameter ``warehouse``."""
    lows = [word.casefold() for word in said]
    spoken = name.casefold().removesuffix("_name").removesuffix("_id")
    if spoken not in lows:
        return said
    at = lows.index(spoken)
    lead = next((index for index in range(at - 1, -1, -1) if lows[index] in words.LEADS), at)
    stop = next((index for index in range(at + 1, len(lows)) if lows[index] in words.LEADS), len(lows))
    before = [word for word in said[lead + 1 : at] if word.casefold() not in words.ARTICLES]
    if before:
        stop = at + 1
    named[name] = " ".join(before or said[at + 1 : stop])
    return [*said[:lead], *said[stop:]] if named[name] else said


def _is_code(text: str) -> bool:
    """Whether this can only be one name: ``A-113``, ``iPhone 15``, ``AAPL``."""
    few = 0 < len(text.split()) <= _LONGEST_ITEM
    return few and (any(character.isdigit() for character in text) or (len(text) > 1 and text.isupper()))


def slug(name: str, limit: int = 60) -> str:
    """A name as part of an identifier: lower case, without accents, with other letters kept; cut at ``limit``."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "_".join("".join(c if c.isalnum() else " " for c in plain.casefold()).split())[:limit].strip("_")
