"""Turns what a request asks for into tool calls, and names every part that no call covers."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, NamedTuple

from leadhand.domain.days import When
from leadhand.domain.value import object_of, texts_of

from . import words
from .arguments import Facts, Offer, Offers, fill, role_of, stem_of, takes
from .asks import DIRECTIONS_TOOL, MOST_LOOKUPS, WEATHER_TOOL, Ask
from .clauses import Clause
from .listening import Understanding

HOW = (
    "the built-in offline model only understands English questions about weather and directions, and tools named in "
    "the request; set a model with --model for anything else"
)
_MOST_GAPS = 8
_LONGEST_ITEM = 3  # words; a longer part belongs to one topic
_ARTICLES = frozenset(("the", "a", "an", "our", "my"))


class Item(NamedTuple):
    """One thing to ask a tool about: its ``text``, values of ``named`` parameters, and ``left``, what fits in none."""

    text: str
    named: dict[str, Any]
    left: str = ""
    led: bool = False  # it begins with a preposition: "and of B-7"


class Calls:
    """The calls of a request in ``found``, each once, and in ``gaps`` what cannot be done, with the reason."""

    def __init__(self, understood: Understanding, offers: Offers) -> None:
        self.understood, self.offers, self.text = understood, offers, understood.text
        self.found: dict[str, dict[str, Any]] = {}
        self.gaps: dict[str, str] = {}
        self._hidden = 0
        self._too_many = False
        plan = {"weather": self._weather, "route": self._routes, "tool": self._tool, "other": self._other}
        for ask in understood.asks:
            said, before = understood.text.source[ask.begin : ask.end], len(self.found)
            plan[ask.kind](ask, said)
            for left in ask.left if len(self.found) > before else ():
                self.gap(left, f"the built-in rules do not understand this part of “{short(said, 200)}”")

    def gap(self, what: str, reason: str) -> None:
        """Name a part that cannot be done; only the first few are named."""
        what = short(what, 300) or "(an empty request)"
        if what in self.gaps or len(self.gaps) >= _MOST_GAPS:
            self._hidden += what not in self.gaps
        else:
            self.gaps[what] = short(reason, 900)

    def cannot(self) -> list[dict[str, str]]:
        """The gaps, as a plan lists them."""
        listed = list(self.gaps.items())
        if self._hidden:
            listed.append((f"{self._hidden} more parts of the request", f"they are not covered; {HOW}"))
        if self._too_many:
            listed.append(("more look-ups", f"one request is planned up to {MOST_LOOKUPS} look-ups"))
        return [{"what": what, "reason": reason} for what, reason in listed]

    def _other(self, ask: Ask, said: str) -> None:
        self.gap(said, f"{ask.reason or 'no registered tool covers it'}; {HOW}")

    def _facts(self, ask: Ask, said: str) -> Facts:
        folded = frozenset(word.strip(",.;:?!()\"'").casefold() for word in said.split())
        places = tuple(dict.fromkeys(place for place, _ in ask.entries()))
        return Facts(words=folded, units=self.understood.units, places=places)

    def _weather(self, ask: Ask, said: str) -> None:
        offer, entries = self.offers.by_name.get(WEATHER_TOOL), ask.entries()
        if offer is None:
            return self.gap(said, f"no registered tool tells the weather: this run has no {WEATHER_TOOL}")
        if not entries:
            return self.gap(said, "no place was named; say where, for example “weather in Paris tomorrow”")
        facts = self._facts(ask, said)
        for place, day in entries[: 1 if offer.takes_all_places else None]:
            when = day or When("today")
            label = slug(place) + (f"_{slug(str(when))}" if day else "")
            given = facts._replace(place=place, day=when.day, days=when.days)
            args = self._add(offer, given, "check_weather", (slug(place), label), said, ("location", "day"))
            values = [] if args is None else list(args.values())
            if args is not None and when.day not in ("now", "today", *values):
                self.gap(f"{said} (for {when})", f"{WEATHER_TOOL} cannot be asked about a day")
            elif args is not None and when.days > 1 and when.days not in values:
                reason = "is asked about one day at a time; name the days, for example “on Friday and Saturday”"
                self.gap(f"{said} (beyond the first day)", f"{WEATHER_TOOL} {reason}")
        return None

    def _routes(self, ask: Ask, said: str) -> None:
        offer = self.offers.by_name.get(DIRECTIONS_TOOL)
        if offer is None:
            return self.gap(said, f"no registered tool gives directions: this run has no {DIRECTIONS_TOOL}")
        if not ask.ways:
            return self.gap(said, "no two places were named; say “from … to …”")
        facts = self._facts(ask, said)
        for way in ask.ways:
            starts = way.ends("starts") if way.starts else [ask.start_at] * bool(ask.start_at)
            if not starts or not way.goals:
                self.gap(said, f"no {'destination' if starts else 'starting point'} was named; say “from … to …”")
            for start, goal in ((start, goal) for start in starts for goal in way.ends("goals") if way.goals):
                given = facts._replace(origin=start, destination=goal, mode=way.mode or "drive")
                if ask.transport and not way.mode:
                    # A tool that lists its modes knows the means; one that does not may take anything.
                    given = given._replace(mode="transit")
                    listed = "enum" in json.dumps(object_of(offer.properties.get("mode")))
                    if not listed or "mode" not in fill(offer.parameters, given)[0]:
                        reason = f"knows ways by car, by bicycle and on foot, none by {ask.transport}"
                        self.gap(said, f"{DIRECTIONS_TOOL} {reason}")
                        break
                label = f"{slug(start)}_{slug(goal)}"
                labels = (label, f"{label}_{way.mode}" if way.mode else label)
                self._add(offer, given, "get_directions", labels, said, ("origin", "destination", "mode"))
                if self._too_many:
                    break
        return None

    def _tool(self, ask: Ask, said: str) -> None:
        assert ask.match is not None, "an ask for a tool names it"
        offer, noun = ask.match.offer, self.text.tokens[ask.match.at].low
        items = self._items(ask, offer)
        if isinstance(items, str):
            return self.gap(said, items)
        roles, entries = offer.roles, ask.entries()
        if offer.takes_all_places or "place" not in roles:
            entries = entries[:1]
        placed = bool(roles & {"place", "places", "day"})
        links = {phrase.link: phrase.value for clause in ask.clauses for phrase in clause.of("place")}
        known = self._facts(ask, said)._replace(
            origin=links.get("from", ""),
            destination=links.get("to", ""),
            mode=next((phrase.value for clause in ask.clauses for phrase in clause.of("mode")), ""),
            numbers=tuple(re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-]*\w)", said)),
        )
        lows = (self.text.tokens[at].low for at in ask.clauses[0].rest)
        verb = next((f"{low} " for low in lows if low in words.VERBS), "")
        base = slug(noun.removesuffix("_tool") if ask.match.named else f"{verb}{noun}")
        made: list[dict[str, Any]] = []
        for place, day in entries or [("", None)]:
            when = day or next(iter(ask.visits.days), When(""))
            for item in items or [Item("", {})]:
                given = known._replace(place=place, day=when.day, days=when.days, text=item.text, named=item.named)
                label = slug(f"{item.text} {'' if item.text and not placed else place}")
                args = self._add(offer, given, base, (label, f"{label}_{slug(str(when))}"), said)
                made += [args] if args is not None else []
        for part in self._left(ask, offer, made, items) if made else ():
            self.gap(f"{part} ({short(said, 200)})", f"{offer.name} has no parameter that “{part}” could go into")
        return None

    def _left(self, ask: Ask, offer: Offer, made: list[dict[str, Any]], items: list[Item]) -> list[str]:
        """What was said of a tool and is in no argument of its calls."""
        used = json.dumps(made, ensure_ascii=False).casefold()
        left = [item.left for item in items if item.left and item.left.split()[-1].casefold() not in used]
        for clause in ask.clauses if not items else ():
            for phrase in clause.phrases:
                value = phrase.when.day if phrase.when is not None else phrase.value
                if phrase.kind != "units" and value.casefold() not in used:
                    tokens = self.text.tokens[phrase.start : phrase.stop]
                    left.append(self.text.source[tokens[0].start : tokens[-1].end])
            for token in (self.text.tokens[index] for index in clause.rest):
                if token.low not in words.FUNCTION and token.low not in used and stem_of(token.low) not in offer.about:
                    left += [token.text] if token.low != offer.name.casefold() else []
        return left[:_MOST_GAPS]

    def _items(self, ask: Ask, offer: Offer) -> list[Item] | str:
        """What a tool with free text is asked about, one call each; a text where that is not clear."""
        texts = offer.texts()
        if not texts or ask.match is None:
            return []
        tokens = [token for clause in ask.clauses for token in self.text.tokens[clause.start : clause.stop]]
        quotes = [token.text for token in tokens if token.quoted]
        if len(texts) > 1:
            return [Item("", dict(zip(texts, quotes, strict=True)))] if len(quotes) == len(texts) else []
        if quotes:
            return [Item(quote, {}) for quote in quotes]
        if len(texts_of(offer.parameters.get("required"))) > 1:
            return []  # a message beside other arguments has to be quoted
        strings = [name for name, schema in offer.properties.items() if not role_of(name) and takes(schema, "string")]
        first = ask.match.last + 1
        parts = [self._item(clause, first, [name for name in strings if name not in texts]) for clause in ask.clauses]
        parts = [part for part in parts if part.text or part.named]
        if len(parts) < 2:
            return parts
        last = parts[-1]
        if not any(part.named or part.left for part in parts[:-1]):  # "A-113 and B-7 in warehouse north"
            parts = [part._replace(named=last.named, left=last.left) for part in parts]
        if all(part.led for part in parts[1:]) or all(_is_code(part.text) for part in parts):
            return parts
        unclear = (
            f"whether “{parts[0].text} and {last.text}” is one thing or two is not clear: put each into quotation marks"
        )
        short_ones = all(len(part.text.split()) <= _LONGEST_ITEM for part in parts)
        return parts if len(parts) > 2 and short_ones and ask.clauses[-1].before == "and" else unclear

    def _item(self, clause: Clause, first: int, names: list[str]) -> Item:
        """One part of what may be a list, without the words that lead to it."""
        tokens = self.text.tokens[max(clause.start, first) : clause.stop]
        said = [token.text for token in tokens if not token.mark and token.low not in ("please", "too", "also")]
        led = bool(said) and said[0].casefold() in words.LEADS
        named: dict[str, Any] = {}
        for name in names:
            said = _take(said, name, named)
        while said and said[0].casefold() in words.LEADS | _ARTICLES:
            said.pop(0)
        if len(said) > 2 and _is_code(said[0]) and said[1].casefold() in words.LEADS:
            return Item(said[0], named, " ".join(said[1:]), led)
        return Item(" ".join(said), named, led=led)

    def _add(
        self, offer: Offer, facts: Facts, name: str, labels: tuple[str, str], said: str, defaults: tuple[str, ...] = ()
    ) -> dict[str, Any] | None:
        """Add a call and return its arguments; a gap and None if required ones are missing."""
        args, missing = fill(offer.parameters, facts, defaults)
        if missing:
            where = all(role_of(name) == "place" for name in missing)
            why = "no place was named" if where else "the request does not say it in words known here"
            self.gap(said, f"{offer.name} needs {', '.join(missing)}, and {why}; {HOW}")
            return None
        key = json.dumps([offer.name, args], sort_keys=True, ensure_ascii=False).casefold()
        self._too_many = self._too_many or (key not in self.found and len(self.found) >= MOST_LOOKUPS)
        if not self._too_many:
            self.found.setdefault(key, {"name": name, "tool": offer.name, "args": args, "labels": labels})
        return args


def _take(said: list[str], name: str, named: dict[str, Any]) -> list[str]:
    """Take "in warehouse north" or "in the north warehouse" out of the words, for the parameter ``warehouse``."""
    lows = [word.casefold() for word in said]
    spoken = name.casefold().removesuffix("_name").removesuffix("_id")
    if spoken not in lows:
        return said
    at = lows.index(spoken)
    lead = next((index for index in range(at - 1, -1, -1) if lows[index] in words.LEADS), at)
    stop = next((index for index in range(at + 1, len(lows)) if lows[index] in words.LEADS), len(lows))
    before = [word for word in said[lead + 1 : at] if word.casefold() not in _ARTICLES]
    if before:
        stop = at + 1
    named[name] = " ".join(before or said[at + 1 : stop])
    return [*said[:lead], *said[stop:]] if named[name] else said


def _is_code(text: str) -> bool:
    """Whether this can only be one name: ``A-113``, ``iPhone 15``, ``AAPL``."""
    few = 0 < len(text.split()) <= _LONGEST_ITEM
    return few and (any(character.isdigit() for character in text) or (len(text) > 1 and text.isupper()))


def slug(name: str) -> str:
    """A name as part of an identifier: lower case, accents dropped, other letters kept; at most 60 characters."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "_".join("".join(c if c.isalnum() else " " for c in plain.casefold()).split())[:60].strip("_")


def short(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters."""
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
