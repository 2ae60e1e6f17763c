"""Turns what a request asks for into tool calls, and names every part that no call covers."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leadhand.domain.days import When
from leadhand.domain.json_values import object_of, texts_of

from . import words
from .arguments import Facts, Offer, Offers, fill, role_of, takes
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


@dataclass
class Planned:
    """The calls of a request, each once, by their key; ``gaps`` are the parts that cannot be done, with the reason."""

    understood: Understanding
    offers: Offers
    calls: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    gaps: dict[str, str] = field(default_factory=dict[str, str])
    hidden: int = 0
    too_many: bool = False

    def plan(self) -> None:
        """Go through the asks."""
        for ask in self.understood.asks:
            words_said = self.words(ask)
            before = len(self.calls)
            match ask.kind:
                case "weather":
                    self._weather(ask)
                case "route":
                    self._routes(ask)
                case "tool":
                    self._tool(ask)
                case _:
                    reason = ask.reason or "no registered tool covers it"
                    self.gap(words_said, reason if "asked" in reason else f"{reason}; {HOW}")
            for left in ask.left if len(self.calls) > before else ():
                self.gap(left, f"the built-in rules do not understand this part of “{short(words_said, 200)}”")

    def words(self, ask: Ask) -> str:
        return self.understood.text.source[ask.begin : ask.end]

    def gap(self, what: str, reason: str) -> None:
        """Name a part that cannot be done; only the first few are named."""
        what = short(what, 300) or "(an empty request)"
        if what in self.gaps or len(self.gaps) >= _MOST_GAPS:
            self.hidden += what not in self.gaps
        else:
            self.gaps[what] = short(reason, 900)

    def cannot(self) -> list[dict[str, str]]:
        """The gaps, as a plan lists them."""
        listed = [{"what": what, "reason": reason} for what, reason in self.gaps.items()]
        if self.hidden:
            listed.append(
                {"what": f"{self.hidden} more parts of the request", "reason": f"they are not covered; {HOW}"}
            )
        if self.too_many:
            reason = f"one request is planned up to {MOST_LOOKUPS} look-ups"
            listed.append({"what": "more look-ups", "reason": reason})
        return listed

    def _facts(self, ask: Ask) -> Facts:
        said = self.words(ask).split()
        folded = frozenset(word.strip(",.;:?!()\"'").casefold() for word in said)
        return Facts(
            words=folded, units=self.understood.units, places=tuple({place: None for place, _ in ask.entries()})
        )

    def _weather(self, ask: Ask) -> None:
        offer = self.offers.by_name.get(WEATHER_TOOL)
        entries = ask.entries()
        if offer is None:
            return self.gap(self.words(ask), f"no registered tool tells the weather: this run has no {WEATHER_TOOL}")
        if not entries:
            return self.gap(self.words(ask), "no place was named; say where, for example “weather in Paris tomorrow”")
        facts = self._facts(ask)
        for place, day in entries[:1] if _takes_all_places(offer) else entries:
            when = day or When("today")
            label = slug(place) + (f"_{slug(str(when))}" if day else "")
            given = facts._replace(place=place, day=when.day, days=when.days)
            args = self._add(offer, given, "check_weather", (slug(place), label), ask, ("location", "day"))
            if args is None:
                continue
            if when.day not in ("now", "today") and when.day not in args.values():
                self.gap(f"{self.words(ask)} (for {when})", f"{WEATHER_TOOL} cannot be asked about a day")
            elif when.days > 1 and when.days not in args.values():
                reason = (
                    f"{WEATHER_TOOL} is asked about one day at a time; name the days, such as “on Friday and Saturday”"
                )
                self.gap(f"{self.words(ask)} (beyond the first day)", reason)
        return None

    def _routes(self, ask: Ask) -> None:
        offer = self.offers.by_name.get(DIRECTIONS_TOOL)
        if offer is None:
            return self.gap(self.words(ask), f"no registered tool gives directions: this run has no {DIRECTIONS_TOOL}")
        if not any(way.goals for way in ask.ways):
            missing = "destination was" if ask.ways else "two places were"
            return self.gap(self.words(ask), f"no {missing} named; say “from … to …”")
        facts = self._facts(ask)
        for way in ask.ways:
            starts = way.ends("starts") or [start for start in [ask.start_at] if start]
            if not starts or not way.goals:
                self.gap(self.words(ask), "no starting point or destination was named; say “from … to …”")
            ends = [(start, goal) for start in starts[:MOST_LOOKUPS] for goal in way.ends("goals")[:MOST_LOOKUPS]]
            for start, goal in ends[: MOST_LOOKUPS + 1]:
                mode = way.mode or ("transit" if ask.transport else "drive")
                given = facts._replace(origin=start, destination=goal, mode=mode)
                if ask.transport and not way.mode and not _goes_by(offer, given):
                    reason = f"{DIRECTIONS_TOOL} knows ways by car, by bicycle and on foot, none by {ask.transport}"
                    self.gap(self.words(ask), reason)
                    continue
                label = f"{slug(start)}_{slug(goal)}"
                labels = (label, f"{label}_{way.mode}" if way.mode else label)
                self._add(offer, given, "get_directions", labels, ask, ("origin", "destination", "mode"))
        return None

    def _tool(self, ask: Ask) -> None:
        assert ask.match is not None, "an ask for a tool names it"
        offer, text = ask.match.offer, self.understood.text
        noun = text.tokens[ask.match.at]
        behind = text.source[text.tokens[ask.match.last].end : ask.end]
        items = self._items(ask, offer, behind)
        if isinstance(items, str):
            return self.gap(self.words(ask), items)
        entries = ask.entries()
        placed = bool(offer.roles & {"place", "places", "day"})
        if _takes_all_places(offer) or "place" not in offer.roles:
            entries = entries[:1]
        links = {phrase.link: phrase.value for clause in ask.clauses for phrase in clause.of("place")}
        modes = [phrase.value for clause in ask.clauses for phrase in clause.of("mode")]
        numbers = tuple(word for word in re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-]*\w)", self.words(ask)))
        known = self._facts(ask)._replace(
            origin=links.get("from", ""), destination=links.get("to", ""), mode="".join(modes[:1]), numbers=numbers
        )
        first = ask.clauses[0]
        verb = next((text.tokens[at].low for at in first.rest if text.tokens[at].low in words.VERBS), "")
        base = slug(f"{verb} {noun.low}") if verb and not ask.match.named else slug(noun.low.removesuffix("_tool"))
        made: list[dict[str, Any]] = []
        for place, day in entries or [("", None)]:
            when = day or next(iter(ask.visits.days), When(""))
            for item in items or [Item("", {})]:
                given = known._replace(place=place, day=when.day, days=when.days, text=item.text, named=item.named)
                label = slug(f"{item.text} {'' if item.text and not placed else place}")
                args = self._add(offer, given, base, (label, f"{label}_{slug(str(when))}"), ask)
                made += [args] if args is not None else []
        if made:
            self._name_left(ask, offer, made, items)
        return None

    def _name_left(self, ask: Ask, offer: Offer, made: list[dict[str, Any]], items: list[Item]) -> None:
        """Name what was said of a tool and is in no argument of its calls."""
        text, used = self.understood.text, json.dumps(made, ensure_ascii=False).casefold()
        left = [item.left for item in items if item.left and item.left.split()[-1].casefold() not in used]
        for clause in ask.clauses if not items else ():
            for phrase in clause.phrases:
                value = phrase.when.day if phrase.when is not None else phrase.value
                if value and value.casefold() not in used and phrase.kind != "units":
                    tokens = text.tokens[phrase.start : phrase.stop]
                    left.append(text.source[tokens[0].start : tokens[-1].end])
            spoken = [text.tokens[index] for index in clause.rest]
            about = {token.low for token in spoken if token.low in words.FUNCTION or token.low in offer.name.casefold()}
            left += [
                token.text
                for token in spoken
                if token.low not in about and token.low not in used and not _is_about(token.low, offer)
            ]
        for part in left[:_MOST_GAPS]:
            self.gap(
                f"{part} ({short(self.words(ask), 200)})", f"{offer.name} has no parameter that “{part}” could go into"
            )

    def _items(self, ask: Ask, offer: Offer, behind: str) -> list[Item] | str:
        """What a tool with free text is asked about, one call each; a text where that is not clear."""
        text, texts = self.understood.text, offer.texts()
        if not texts:
            return []
        assert ask.match is not None, "an ask for a tool names it"
        quotes = [
            token.text
            for clause in ask.clauses
            for token in text.tokens[clause.start : clause.stop]
            if token.quoted
        ]  # fmt: skip
        if len(texts) > 1:
            return [Item("", dict(zip(texts, quotes, strict=True)))] if len(quotes) == len(texts) else []
        if quotes:
            return [Item(quote, {}) for quote in quotes]
        if len(texts_of(offer.parameters.get("required"))) > 1:
            return []  # a message beside other arguments has to be quoted
        whole = " ".join(behind.split()).strip(" :,.-–—!?")
        spoken = [name for name in offer.properties if not role_of(name) and takes(offer.properties[name], "string")]
        named = [name for name in spoken if name not in texts]
        parts = [self._item(clause, ask.match.last + 1, named) for clause in ask.clauses]
        parts = [part for part in parts if part.text or part.named]
        if not parts:
            return [Item(whole, {})] if whole else []
        if len(parts) == 1:
            return parts
        last = parts[-1]
        if not any(part.named or part.left for part in parts[:-1]):
            parts = [part._replace(named=last.named, left=last.left) for part in parts]
        if all(part.led for part in parts[1:]) or all(_is_code(part.text) for part in parts):
            return parts
        if any(len(part.text.split()) > _LONGEST_ITEM for part in parts) or ask.clauses[-1].before != "and":
            return [Item(_topic(whole), {})]
        if len(parts) > 2:
            return parts
        return (
            f"whether “{parts[0].text} and {last.text}” is one thing or two is not clear: put each into quotation marks"
        )

    def _item(self, clause: Clause, first: int, names: list[str]) -> Item:
        """One part of what may be a list, without the words that lead to it."""
        tokens = self.understood.text.tokens[max(clause.start, first) : clause.stop]
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
        self, offer: Offer, facts: Facts, name: str, labels: tuple[str, str], ask: Ask, defaults: tuple[str, ...] = ()
    ) -> dict[str, Any] | None:
        """Add a call and return its arguments; a gap and None if required ones are missing."""
        args, missing = fill(offer.parameters, facts, defaults)
        if missing:
            where = all(role_of(name) == "place" for name in missing)
            why = "no place was named" if where else "the request does not say it in words known here"
            self.gap(self.words(ask), f"{offer.name} needs {', '.join(missing)}, and {why}; {HOW}")
            return None
        key = json.dumps([offer.name, args], sort_keys=True, ensure_ascii=False).casefold()
        if key not in self.calls and len(self.calls) >= MOST_LOOKUPS:
            self.too_many = True
        elif key not in self.calls:
            self.calls[key] = {"name": name, "tool": offer.name, "args": args, "labels": labels}
        return args


def _is_about(low: str, offer: Offer) -> bool:
    from .arguments import stem_of

    return stem_of(low) in offer.about


def _topic(text: str) -> str:
    """``text`` without the small words that lead to what it is about: "for AAPL" is "AAPL"."""
    parts = text.split()
    while parts and parts[0].casefold() in words.LEADS:
        parts.pop(0)
    return " ".join(parts)


def _take(said: list[str], name: str, named: dict[str, Any]) -> list[str]:
    """Take "in warehouse north" or "in the north warehouse" out of the words, for the parameter ``warehouse``."""
    spoken = name.casefold().removesuffix("_name").removesuffix("_id").split("_")
    lows = [word.casefold() for word in said]
    at = next((at for at in range(len(lows)) if lows[at : at + len(spoken)] == spoken), -1)
    if at < 0:
        return said
    end = at + len(spoken)
    lead = next((index for index in range(at - 1, -1, -1) if lows[index] in words.LEADS), -1)
    before = [word for word in said[lead + 1 : at] if word.casefold() not in _ARTICLES] if lead >= 0 else []
    if before:  # "in the north warehouse"
        named[name] = " ".join(before)
        return [*said[:lead], *said[end:]]
    stop = next((index for index in range(end, len(lows)) if lows[index] in words.LEADS), len(lows))
    if end == stop:
        return said
    named[name] = " ".join(said[end:stop])
    return [*said[: lead if lead >= 0 else at], *said[stop:]]


def _is_code(text: str) -> bool:
    """Whether this can only be one name: ``A-113``, ``iPhone 15``, ``AAPL``."""
    few = 0 < len(text.split()) <= _LONGEST_ITEM
    return few and (any(character.isdigit() for character in text) or (len(text) > 1 and text.isupper()))


def _goes_by(offer: Offer, facts: Facts) -> bool:
    """Whether the tool lists the means among its modes; one that lists none proves nothing."""
    args, _ = fill(offer.parameters, facts)
    return "mode" in args and "enum" in json.dumps(object_of(offer.properties.get("mode")))


def _takes_all_places(offer: Offer) -> bool:
    """Whether one call takes a list of places, and none takes a single one."""
    return "places" in offer.roles and "place" not in offer.roles


def slug(name: str) -> str:
    """A name as part of an identifier: lower case, accents dropped, other letters kept; at most 60 characters."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "_".join("".join(c if c.isalnum() else " " for c in plain.casefold()).split())[:60].strip("_")


def short(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters."""
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
