"""Read a request clause by clause and collect what it asks for, and every clause that no rule understands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby, islice, pairwise, product, takewhile
from typing import NamedTuple

from .arguments import USUAL, Offer, Offers
from .clauses import Clause, Phrase, clauses
from .days import DAY_PARTS, NUMBERS, When
from .places import kind_of_name
from .tokens import Text, tokenize
from .words import BACKGROUND, FUNCTION, GREETINGS, WORDS

MOST_LOOKUPS = 2_000
"""Maximum look-ups that are planned for one request; the plan names the rest as a gap."""
_OF_BOTH = (FUNCTION | WORDS["movement"]) - WORDS["other-question"]
KNOWN = {
    "weather": _OF_BOTH.union(*(WORDS[name] for name in ("weather", "weather-if-alone", "weather-details"))),
    "route": _OF_BOTH.union(WORDS["route"], WORDS["route-details"], NUMBERS),
    "scene": FUNCTION | BACKGROUND,
}
"""The words of a clause that its topic explains. For other kinds, words without content are explained."""
_KINDS = {name: kind for kind, name in USUAL.items()}
_CALLS = {"weather": "check_weather", "route": "get_directions"}
_MODIFIERS = ("day", "mode", "transport", "units")
_MOST_DAYS, _MOST_THERE = 31, 50  # "there" can mean several places
_IN_ITEMS = WORDS["lead"] | {"please", "too"}
# "Hello Bob," and "Thanks, Bob": the name is not a place.
_SALUTATION = re.compile(
    rf"(?<![^.,!?\n]) *(?i:{'|'.join(WORDS['salutation'])})(?: you)?,? *(?:[A-Z]\w*)?(?=[,.!?\n]|$)"
)


class Group(NamedTuple):
    """Places, and the days for each of them."""

    places: list[str]
    days: list[When]


@dataclass
class Way:
    """Routes from each start to each goal."""

    starts: list[str]
    mode: str = ""
    goals: list[str] = field(default_factory=list[str])


@dataclass
class Ask:
    """One thing that ``clauses`` ask for.

    ``kind`` is ``weather``, ``route``, ``tool``, ``scene`` for places and days that others may refer to, ``unclear`` if
    it does not say which day is for which place, or ``other`` for anything that no rule understands. ``offer`` is the
    tool, ``name`` the name of its calls, ``first`` the token after the name of the tool. ``context`` are the places and
    days mentioned before, for an ask without a place, ``start_at`` is the start of a route that names none.
    """

    kind: str
    clauses: list[Clause]
    context: list[Group]
    offer: Offer | None = None
    name: str = ""
    first: int = 0
    start_at: str = ""
    groups: list[Group] = field(default_factory=list[Group])
    ways: list[Way] = field(default_factory=list[Way])
    order: list[str] = field(default_factory=list[str])  # how places and days alternate in the last group

    @property
    def sentence(self) -> int:
        """Where the sentence of its last clause begins."""
        return self.clauses[-1].sentence

    def of(self, *kinds: str) -> list[Phrase]:
        """The phrases of some kinds, in order."""
        return [phrase for clause in self.clauses for phrase in clause.of(*kinds)]

    def entries(self) -> list[tuple[str, When | None]]:
        """Return the pairs of places and days, without duplicates."""
        days = [day for group in self.groups for day in group.days]
        groups = [group for group in self.groups if group.places]
        if not groups:
            groups = [Group(group.places[-_MOST_THERE:], days or group.days) for group in self.context]
        elif not days and self.context and not self.context[0].places:  # "on Friday: weather in Oslo"
            groups = [Group(group.places, self.context[0].days) for group in groups]
        pairs = (pair for group in groups for pair in product(group.places, group.days or [None]))
        return list(dict.fromkeys(islice(pairs, 4 * MOST_LOOKUPS)))[: MOST_LOOKUPS + 1]

    def visit(self, clause: Clause) -> None:
        """Add the places and days of a clause. A day that follows its place applies to the places before it, too."""
        links = ("in", "", "to") if self.kind == "scene" else ("in", "")
        named = [phrase for phrase in clause.of("place") if phrase.link in links]
        places, group = [phrase for phrase in named if phrase.link] or named, self.groups[-1] if self.groups else None
        trailing = bool(places) and any(phrase.start > places[-1].start for phrase in clause.of("day"))
        names = [phrase.value for phrase in places]
        days = list(dict.fromkeys(phrase.when for phrase in clause.of("day") if phrase.when is not None))
        if group is None or (names and days and group.places and (group.days or not trailing)):
            self.groups.append(Group(names, list(days)))
            self.order.clear()
        else:
            group.places.extend(names)
            group.days.extend([day for day in days if day not in group.days][: _MOST_DAYS - len(group.days)])
        self.order = [kind for kind, _ in groupby([*self.order, *(each.kind for each in clause.of("place", "day"))])]
        if len(self.order) > 3:  # "Paris today Lyon tomorrow"
            self.kind = "unclear"
            self.groups[-1].places.clear()

    def walk(self, clause: Clause, there: str) -> None:
        """Add the ends of routes that a clause names, in order, and the means of transport."""
        named = clause.of("place", "there" if there else "")
        places = [phrase for phrase in named if phrase.link not in ("in", "via")]
        links, reached = {phrase.link for phrase in places}, clause.before == "then"
        for phrase, following in zip(places, [*places[1:], None], strict=False):
            name, link = phrase.value or there, phrase.link or "to" * (phrase.kind == "there")
            if not link and following is not None and following.link == "to" and following.start == phrase.stop:
                link = "from"  # "Paris to Lyon"
            elif not link and (clause.before == "then" or ("from" in links and "to" not in links)):
                link = "to"  # "how far is Versailles from Paris", "then Lyon"
            if not self.ways or (link == "from" and self.ways[-1].goals and (self.ways[-1].starts or not reached)):
                self.ways.append(Way([]))
            elif link == "to" and self.ways[-1].goals and reached:
                self.ways.append(Way([self.ways[-1].goals[-1]]))
            way = self.ways[-1]
            starts = link == "from" or (not link and bool(way.starts) and not way.goals)
            names = way.starts if starts else way.goals
            if clause.before == "," and not phrase.link and names and kind_of_name(names[-1]) in ("", "sight"):
                names[-1] = f"{names[-1]}, {name}"  # "10 Downing Street, London"
            else:
                names.append(name)
            reached = reached or not starts
        for mode in clause.of("mode")[-1:]:
            for way in takewhile(lambda way: not way.mode, reversed(self.ways)):
                way.mode = mode.value


class Listener:
    """Collects what a request asks for; never fails. Text that is not understood becomes an ask of the kind ``other``.

    ``asks`` are in the order of the request, ``units`` applies to all of them. ``context`` is what "there" refers to.
    """

    def __init__(self, request: str, offers: Offers, today: date | None) -> None:
        request = _SALUTATION.sub(lambda found: " " * len(found[0]), request)
        self.text, self.offers = Text(request, tokenize(request), today, offers.topics), offers
        self.asks: list[Ask] = []
        self.units = ""
        self.context: list[Group] = []
        for clause in clauses(self.text):
            self.units = next((phrase.value for phrase in clause.of("units")), self.units)
            offer, at, last = self.offers.match(self.text, clause)
            if kind := self._kind(clause) if offer is None else _KINDS.get(offer.name, "tool"):
                self._with_topic(clause, kind, offer or self.offers.by_name.get(USUAL[kind]), at, last)
            else:
                self._without_topic(clause)

    def _kind(self, clause: Clause) -> str:
        """Return whether a clause without the name of a tool is about a route or the weather."""
        lows, places = clause.lows, clause.of("place", "there")
        if lows & WORDS["route"] or {"how", "far"} <= lows:
            return "route"
        if lows & WORDS["weather"] or (lows & WORDS["weather-if-alone"] and lows <= KNOWN["weather"]):
            return "weather"
        links = {phrase.link or "to" * (phrase.kind == "there") for phrase in places}
        moves = clause.of("mode", "transport") or {"how"} < lows & WORDS["movement"]
        # "Introduce Anna to Bob" may be a verb and a name.
        sure = [each for each in places if " " not in each.value or kind_of_name(each.value)]
        pairs = any(a in sure and not a.link and b.link == "to" and b.start == a.stop for a, b in pairwise(places))
        whole = "from" in links and lows <= KNOWN["route"]
        asks = pairs or whole or ("to" in links and ("from" in links or moves))
        return "route" if asks and not self._tells(clause) else ""

    def _tells(self, clause: Clause) -> bool:
        """Whether a clause is a statement and not a question: "I'm in Paris"."""
        first, second = (self.text.low(clause.start + at, clause.stop) for at in (0, 1))
        return first in WORDS["statement"] or (first in ("i", "we") and second in ("am", "are", "will", "live", "have"))

    def _with_topic(self, clause: Clause, kind: str, offer: Offer | None, at: int, stop: int) -> None:
        """Add what a clause asks for; it names its tool, if at all, at the tokens from ``at`` to before ``stop``."""
        last = self.asks[-1] if self.asks else None
        follows = last is not None and last.kind == kind != "tool" and last.sentence == clause.sentence
        if kind == "route" and clause.phrases:
            follows = follows and not clause.lows & WORDS["route"] and clause.phrases[0].kind != "mode"
        if last is None or not follows:
            goes_on = clause.before == "then" and last is not None and last.kind == "route"
            mentioned = (phrase for ask in reversed(self.asks) if ask.kind == "scene" for phrase in ask.of("place"))
            here = next((phrase.value for phrase in mentioned if phrase.link in ("in", "")), "")
            verb = next((f"{low}_" for each in clause.rest if (low := self.text.tokens[each].low) in WORDS["verb"]), "")
            name = _CALLS.get(kind) or verb + self.text.tokens[at].low.removesuffix("_tool")
            last = Ask(kind, [], self.context, offer, name, stop, self._there() if goes_on else here)
            self.asks.append(last)
        self._add(last, clause)

    def _there(self) -> str:
        return next((place for group in reversed(self.context) for place in reversed(group.places)), "")

    def _add(self, ask: Ask, clause: Clause) -> None:
        """Add a clause to an ask, with its places and days."""
        ask.clauses.append(clause)
        if ask.kind == "route":
            ask.walk(clause, self._there())
            self.context = [Group(ask.ways[-1].goals[-1:], [])] if ask.ways and ask.ways[-1].goals else self.context
            return
        ask.visit(clause)
        if ask.groups[-1].places or ask.kind == "scene":
            self.context = ask.groups

    def _without_topic(self, clause: Clause) -> None:
        """Read a clause without a topic: part of the ask before it, a scene, or something unknown."""
        last = self.asks[-1] if self.asks else None
        if last is not None and last.sentence != clause.sentence and not (clause.goes_on or clause.before == "and"):
            last = None
        if last is not None and last.kind == "tool" and last.offer and last.offer.texts() and self._is_item(clause):
            return self._add(last, clause)
        kind = "scene" if last is None or self._tells(clause) or clause.after == ":" else last.kind
        greetings = GREETINGS if last is None else GREETINGS.difference(DAY_PARTS)
        known = KNOWN.get(kind, FUNCTION) if clause.phrases else FUNCTION | greetings
        if not clause.lows <= known or (clause.phrases and kind == "other"):
            return self._other(clause)
        if last is None or (kind == "scene" and (last.kind != "scene" or last.sentence != clause.sentence)):
            last = Ask(kind, [], self.context)
            self.asks.extend([last] * bool(clause.phrases))
        return self._add(last, clause) if clause.phrases else None

    def _other(self, clause: Clause) -> None:
        """Add an ask for a clause that no rule understands, or decline the ask before it that it may change.

        "But not today" changes what was asked, and so does the day of a list with an unknown place.
        """
        names = [phrase.value for phrase in clause.of("place") if phrase.link]
        before = [ask for ask in self.asks[-2:] if ask.sentence == clause.sentence]
        before = before if before and before[-1].kind == "other" else before[-1:]
        kinds = {phrase.kind for phrase in clause.of(*_MODIFIERS)}
        kinds -= {phrase.kind for ask in before[:1] for phrase in ask.of(*kinds)}
        if before and kinds and not names and self._is_item(clause):
            del self.asks[-len(before) :]
            self.asks.append(Ask("other", [each for ask in before for each in ask.clauses], self.context))
        elif not before or before[-1].kind != "other":
            self.asks.append(Ask("other", [], self.context))
        self.asks[-1].clauses.append(clause)
        if names:
            self.context = [Group(names, [])]

    def _is_item(self, clause: Clause) -> bool:
        """Whether a clause can be one more item of a list: "of B-7", "butter", not "book me a table"."""
        tokens = self.text.tokens[clause.start : clause.stop]
        content = {token.low for token in tokens if not token.mark} - _IN_ITEMS
        return bool(content) and not FUNCTION & content and len(tokens) <= 8
