"""Read a request clause by clause and collect what it asks for, and every clause that no rule understands."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date
from itertools import islice, pairwise, product, takewhile
from typing import NamedTuple

from leadhand.domain.days import When

from . import words
from .arguments import USUAL, Offer, Offers, stem_of
from .clauses import Clause, Phrase, clauses
from .places import read_place
from .tokens import Text, tokenize

MOST_LOOKUPS = 2_000
"""Maximum look-ups that are planned for one request; the plan names the rest as a gap."""
KNOWN = {
    "weather": words.WEATHER | words.WEATHER_IF_ALONE | words.WEATHER_DETAILS | words.MOVEMENT,
    "route": words.ROUTE | words.MOVEMENT | words.ROUTE_DETAILS,
}
"""The words of a clause that its topic explains."""
_CALLS = {"weather": "check_weather", "route": "get_directions"}
_MOST_DAYS, _MOST_THERE = 31, 50  # "there" can mean several places
_LONGEST_NAME = 3  # words of a place in lower case
_IN_ITEMS = words.LEADS | {"please", "too"}
# "Hello Bob," and "Thanks, Bob": the name is not a place.
_SALUTATION = re.compile(rf"(?<![^.,!?\n]) *(?i:{'|'.join(words.SALUTATIONS)})(?: you)?,? *(?:[A-Z]\w*)?(?=[,.!?\n]|$)")


class Group(NamedTuple):
    """Places, and the days for each of them."""

    places: list[str]
    days: list[When]


@dataclass
class Way:
    """Routes from each start to each goal. Names separated only by commas are one name: "10 High St, Oxford"."""

    starts: list[str]
    mode: str = ""
    goals: list[str] = field(default_factory=list[str])
    listed: set[bool] = field(default_factory=set[bool])  # whether an "and" lists the starts (True), the goals (False)

    def ends(self, *, starts: bool) -> list[str]:
        """Return the starts or the goals."""
        names = self.starts if starts else self.goals
        return names if starts in self.listed or len(names) < 2 else [", ".join(names)]


@dataclass
class Ask:
    """One thing that ``clauses`` ask for.

    ``kind`` is ``weather``, ``route``, ``tool`` or, for anything that no rule understands, ``other``. ``offer`` is the
    tool, ``name`` the name of its calls, ``first`` the token after the name of the tool. ``context`` are the places and
    days mentioned before, for an ask without a place, ``start_at`` is the start of a route that names none.
    """

    kind: str
    clauses: list[Clause]
    context: Group
    offer: Offer | None = None
    name: str = ""
    first: int = 0
    start_at: str = ""
    groups: list[Group] = field(default_factory=list[Group])
    ways: list[Way] = field(default_factory=list[Way])

    @property
    def sentence(self) -> int:
        """Where the sentence of its last clause begins."""
        return self.clauses[-1].sentence

    def of(self, *kinds: str) -> list[Phrase]:
        """The phrases of some kinds, in order."""
        return [phrase for clause in self.clauses for phrase in clause.of(*kinds)]

    def entries(self) -> list[tuple[str, When | None]]:
        """Return the pairs of places and days, without duplicates."""
        groups = self.groups or [self.context]
        if not groups[0].places:
            groups = [Group(self.context.places, groups[0].days or self.context.days)]
        pairs = (pair for group in groups for pair in product(group.places, group.days or [None]))
        return list(dict.fromkeys(islice(pairs, 4 * MOST_LOOKUPS)))[: MOST_LOOKUPS + 1]

    def visit(self, clause: Clause, days: list[When]) -> None:
        """Add the places and days of a clause. A day that follows its place applies to the places before it, too."""
        named = [phrase for phrase in clause.of("place") if phrase.link in ("in", "")]
        places, group = [phrase for phrase in named if phrase.link] or named, self.groups[-1] if self.groups else None
        trailing = bool(places) and any(phrase.start > places[-1].start for phrase in clause.of("day"))
        names = [phrase.value for phrase in places]
        if group is None or (names and days and group.places and (group.days or not trailing)):
            self.groups.append(Group(names, list(days)))
        else:
            group.places.extend(names)
            group.days.extend([day for day in days if day not in group.days][: _MOST_DAYS - len(group.days)])

    def walk(self, clause: Clause, there: str) -> None:
        """Add the ends of routes that a clause names, in order, and the means of transport."""
        places = [
            phrase if phrase.value else phrase._replace(value=there, link=phrase.link or "to")
            for phrase in clause.of("place", "there" if there else "")
            if phrase.link not in ("in", "via")
        ]
        modes, links, reached = clause.of("mode"), {phrase.link for phrase in places}, clause.before == "then"
        leads = bool(modes and places) and modes[0].start < places[0].start
        for phrase, following in zip(places, [*places[1:], None], strict=False):
            link = phrase.link
            if not link and following is not None and following.link == "to" and following.start == phrase.stop:
                link = "from"  # "Paris to Lyon"
            elif not link and "from" in links and "to" not in links:
                link = "to"  # "how far is Versailles from Paris"
            if not self.ways or (link == "from" and self.ways[-1].goals and (self.ways[-1].starts or not reached)):
                self.ways.append(Way([], modes[0].value if leads else ""))
            elif link == "to" and self.ways[-1].goals and reached:
                self.ways.append(Way([self.ways[-1].goals[-1]], modes[0].value if leads else ""))
            way = self.ways[-1]
            starts = link == "from" or (not link and bool(way.starts) and not way.goals)
            (way.starts if starts else way.goals).append(phrase.value)
            if clause.before == "and":
                way.listed.add(starts)
            reached = reached or not starts
        for way in takewhile(lambda way: not way.mode, reversed(self.ways if modes and not leads else [])):
            way.mode = modes[-1].value


class Listener:
    """Collects what a request asks for; never fails. Text that is not understood becomes an ask of the kind ``other``.

    ``asks`` are in the order of the request, ``units`` applies to all of them. ``background`` are clauses that ask
    nothing, but may say where or when for others. ``context`` is what "there" refers to.
    """

    def __init__(self, request: str, offers: Offers, today: date | None) -> None:
        request = _SALUTATION.sub(lambda found: " " * len(found[0]), request)
        self.text, self.offers = Text(request, tokenize(request), today, offers.topics), offers
        self.asks: list[Ask] = []
        self.background: list[Clause] = []
        self.units = ""
        self.context = Group([], [])
        for clause in clauses(self.text):
            self.units = next((phrase.value for phrase in clause.of("units")), self.units)
            offer, at, last = self.offers.match(self.text, clause)
            if kind := offer.kind if offer is not None else self._kind(clause):
                self._with_topic(clause, kind, offer or self.offers.by_name.get(USUAL[kind]), at, last)
            else:
                self._without_topic(clause)

    # What a clause is

    def _kind(self, clause: Clause) -> str:
        """Return whether a clause without the name of a tool is about a route or the weather."""
        lows = self._lows(clause.rest)
        places, movement = clause.of("place", "there"), lows & words.MOVEMENT
        links = {phrase.link or "to" * (phrase.kind == "there") for phrase in places}
        carried = bool(clause.of("mode", "transport"))
        if lows & words.ROUTE or {"how", "far"} <= lows:
            return "route"
        if places and not self._tells(clause):
            # "Introduce Anna to Bob" may be a verb and a name.
            first = places[0].value.partition(",")[0].casefold().split()
            sure = (
                carried or movement or len(first) < 2 or first[0] in words.NAME_STARTS or places[0].start > clause.start
            )
            pairs = any(not a.link and b.link == "to" and b.start == a.stop for a, b in pairwise(places))
            to = "to" in links and (carried or "from" in links or {"how"} < movement)
            alone = len(places) == 1 and not lows and not self.asks  # the goal follows a comma
            if to or ("from" in links and (carried or alone)) or (pairs and sure):
                return "route"
        weather = words.WEATHER if self._unknown(clause, KNOWN["weather"]) else words.WEATHER | words.WEATHER_IF_ALONE
        return "weather" if lows & weather else ""

    def _lows(self, indexes: Collection[int]) -> set[str]:
        return {self.text.tokens[index].low for index in indexes}

    def _unknown(self, clause: Clause, known: Collection[str]) -> list[int]:
        """The content words that are in no phrase and not ``known``."""
        return [index for index in clause.rest if not explains(self.text.tokens[index].low, known)]

    def _tells(self, clause: Clause) -> bool:
        """Whether a clause is a statement and not a question: "I'm in Paris"."""
        first, second = (self.text.low(clause.start + at, clause.stop) for at in (0, 1))
        tells = first in words.STATEMENTS or (first in ("i", "we") and second in ("am", "are", "will", "live", "have"))
        return tells and clause.mark != "?"

    # What is asked

    def _other(self, clause: Clause) -> None:
        """Add an ask for a clause that no rule understands."""
        if self.asks and self.asks[-1].kind == "other" and self.asks[-1].sentence == clause.sentence:
            self.asks[-1].clauses.append(clause)
        else:
            self.asks.append(Ask("other", [clause], self.context))
        if names := [phrase.value for phrase in clause.of("place") if phrase.link]:
            self.context = Group(names[-_MOST_THERE:], clause.days)

    def _with_topic(self, clause: Clause, kind: str, offer: Offer | None, at: int, stop: int) -> None:
        """Add what a clause asks for; it names its tool, if at all, at the tokens from ``at`` to before ``stop``."""
        last = self.asks[-1] if self.asks else None
        follows = last is not None and last.kind == kind != "tool" and last.sentence == clause.sentence
        if kind == "route" and clause.phrases:
            follows = follows and not self._lows(clause.rest) & words.ROUTE and clause.phrases[0].kind != "mode"
        if last is None or not follows:
            goes_on = clause.before == "then" and last is not None and last.kind == "route" and self.context.places
            mentioned = (phrase for each in reversed(self.background) for phrase in each.of("place"))
            here = next((phrase.value for phrase in mentioned if phrase.link in ("in", "")), "")
            start = self.context.places[-1] if goes_on else here
            verb = next((f"{low}_" for each in clause.rest if (low := self.text.tokens[each].low) in words.VERBS), "")
            name = _CALLS.get(kind) or verb + self.text.tokens[at].low.removesuffix("_tool")
            last = Ask(kind, [], self.context, offer, name, stop, start)
            self.asks.append(last)
        self._add(last, clause)

    def _add(self, ask: Ask, clause: Clause) -> None:
        """Add a clause to an ask, with its places and days."""
        ask.clauses.append(clause)
        if ask.kind == "route":
            ask.walk(clause, there="".join(self.context.places[-1:]))
            if ask.ways and ask.ways[-1].goals:
                self.context = Group(ask.ways[-1].goals[-1:], [])
            return
        before = takewhile(lambda each: each.sentence == clause.sentence, reversed(self.background))
        ask.visit(clause, clause.days or [day for each in before for day in each.days])
        if not ask.context.places:
            ask.context = self.context
        if ask.groups[-1].places:
            self.context = Group(ask.groups[-1].places[-_MOST_THERE:], list(ask.groups[-1].days))

    # What belongs to something else

    def _without_topic(self, clause: Clause) -> None:
        """Read a clause without a topic: part of the previous ask, background, or something unknown."""
        goes_on = clause.before == "and" or clause.mark == "?" or clause.mark_before in ("\n", ";")
        last = self.asks[-1] if self.asks and (goes_on or self.asks[-1].sentence == clause.sentence) else None
        takes_text = last is not None and last.kind == "tool" and last.offer is not None and last.offer.texts()
        if last is not None and takes_text and self._is_item(clause):
            return self._add(last, clause)
        if last is not None and last.kind == "weather":
            self._name_in_lower_case(last, clause)
        known = KNOWN.get(last.kind if last is not None else "", frozenset())
        unknown = self._unknown(clause, known if clause.phrases else known | words.GREETINGS)
        heading = clause.after == ":" and not self._unknown(clause, words.BACKGROUND)
        if clause.phrases and (heading or self._tells(clause) or not (self.asks or unknown)):
            return self._in_background(clause)
        if unknown or (clause.phrases and (last is None or last.kind == "other")):
            return self._other(clause)
        return self._add(last, clause) if clause.phrases and last is not None else None

    def _name_in_lower_case(self, last: Ask, clause: Clause) -> None:
        """Take a clause for a place if the one before it was in lower case, too: "weather in paris and new york"."""
        before = [self.text.tokens[phrase.stop - 1].text for phrase in last.clauses[-1].of("place")]
        stop = next((phrase.start for phrase in clause.of("day")), clause.stop)
        if len(clause.of("day")) < len(clause.phrases) or clause.before != "and":
            return
        place = read_place(self.text, clause.start, stop)
        if place and place[1] == stop <= clause.start + _LONGEST_NAME and before and before[-1].islower():
            clause.phrases.insert(0, Phrase("place", clause.start, stop, place[0]))
            clause.rest = [at for at in clause.rest if at >= stop]

    def _in_background(self, clause: Clause) -> None:
        """Remember places and days that later asks may refer to."""
        if self._unknown(clause, words.BACKGROUND):
            return self._other(clause)
        if names := [phrase.value for phrase in clause.of("place") if phrase.link != "from"]:
            more = bool(self.background) and self.background[-1].sentence == clause.sentence
            self.context = Group([*(self.context.places if more else ()), *names][-_MOST_THERE:], clause.days)
        return self.background.append(clause)

    def _is_item(self, clause: Clause) -> bool:
        """Whether a clause can be one more item of a list: "of B-7", "butter", not "book me a table"."""
        tokens = self.text.tokens[clause.start : clause.stop]
        content = {token.low for token in tokens if not token.mark} - _IN_ITEMS
        return bool(content) and not words.FUNCTION & content and len(tokens) <= 8


def explains(low: str, known: Collection[str], offer: Offer | None = None) -> bool:
    """Whether a word is ``known`` or part of what a tool is about."""
    if low in words.FUNCTION or low in known:
        return True
    return offer is not None and bool(low) and (stem_of(low) in offer.about or low == offer.name.casefold())
