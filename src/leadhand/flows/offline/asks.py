"""What a request asks for: questions about the weather, ways and tools, and every part that no rule understands."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from leadhand.domain.days import When

from . import words
from .arguments import Match, Offer, Offers, stem_of
from .clauses import Clause, Phrase, clauses
from .places import Text, cut, read_place

WEATHER_TOOL = "weather_tool"
DIRECTIONS_TOOL = "directions_tool"
MOST_LOOKUPS = 2_000
"""More look-ups than this in one request are not planned, and the plan says so."""

_MOST_THERE = 50  # places that one "there" can mean
_WEATHER_WORDS = words.WEATHER | words.WEATHER_IF_ALONE | words.WEATHER_DETAILS
_ROUTE_WORDS = words.ROUTE | words.MOVEMENT | words.ROUTE_DETAILS
_IN_ITEMS = words.LEADS | frozenset(("the", "a", "an", "our", "my", "please", "too"))


@dataclass
class Visits:
    """Places, and the days they are asked about; each pair once."""

    entries: list[tuple[str, When | None]] = field(default_factory=list[tuple[str, "When | None"]])
    days: list[When] = field(default_factory=list[When])
    _undated: int = 0  # the entries before this one have a day
    _group: list[str] = field(default_factory=list[str])  # the places since a day was said
    _known: set[tuple[str, When | None]] = field(default_factory=set[tuple[str, "When | None"]])

    def add(self, places: list[str], days: list[When], *, trailing: bool) -> None:
        """Add what one clause says. ``trailing``: the day is behind the place, so it is for earlier places too."""
        if days and self._undated < len(self.entries) and (trailing or not places):
            self._date(days)
        elif days and not places and self._group:
            self._append(self._group, [day for day in days if day not in self.days])
            self.days = [*self.days, *(day for day in days if day not in self.days)][-9:]
            return
        if days and self.days and not self.entries:
            days = [*self.days, *(day for day in days if day not in self.days)]
        if days and self.days and places:
            self._group = []
        self.days = days or self.days
        if places:
            self._group += places
            self._append(places, self.days or [None])

    def _date(self, days: list[When]) -> None:
        """Give the entries without a day the ``days``."""
        undated = [place for place, _ in self.entries[self._undated :]]
        del self.entries[self._undated :]
        self._append(undated, days)

    def _append(self, places: Iterable[str], days: Iterable[When | None]) -> None:
        for place in places:
            for day in days:
                if len(self.entries) <= MOST_LOOKUPS and (place, day) not in self._known:
                    self._known.add((place, day))
                    self.entries.append((place, day))
                    self._undated += day is not None


@dataclass
class Way:
    """Ways from each start to each goal. Names with only commas between them are one name: "10 High St, Oxford"."""

    starts: list[str] = field(default_factory=list[str])
    goals: list[str] = field(default_factory=list[str])
    stops: list[str] = field(default_factory=list[str])
    mode: str = ""
    joined: set[str] = field(default_factory=set[str])  # "starts" or "goals": an "and" lists them

    def ends(self, side: str) -> list[str]:
        """The starts or the goals, each a place."""
        names = self.starts if side == "starts" else self.goals
        return names if side in self.joined or len(names) < 2 else [", ".join(names)]


@dataclass
class Ask:
    """One thing asked for, in ``source[begin:end]``.

    ``kind`` is ``weather``, ``route``, ``tool`` or ``other``: what no rule understands, for the ``reason`` if that is
    known. ``clauses`` are what it is said in, ``left`` the words that say more than the rules understand.
    """

    kind: str
    begin: int
    end: int
    sentence: int
    clauses: list[Clause]
    match: Match | None = None
    open: bool = False  # a colon promises that the rest of the sentence belongs to the tool
    reason: str = ""
    left: list[str] = field(default_factory=list[str])
    visits: Visits = field(default_factory=Visits)
    fallback: list[str] = field(default_factory=list[str])
    fallback_days: list[When] = field(default_factory=list[When])
    ways: list[Way] = field(default_factory=list[Way])
    start_at: str = ""
    transport: str = ""
    _moded: int = 0  # the ways before this one have their means of transport

    def entries(self) -> list[tuple[str, When | None]]:
        """The places and days, from what was said before if the ask names no place itself."""
        if self.visits.entries:
            return self.visits.entries
        days = self.visits.days or self.fallback_days or [None]
        return [(place, day) for place in self.fallback for day in days]

    def travel_by(self, mode: str) -> None:
        """The means for the ways so far that name none."""
        for way in self.ways[self._moded :]:
            way.mode = way.mode or mode
        self._moded = len(self.ways)


class Understanding(NamedTuple):
    """What was understood: ``asks`` in the order they were made, ``units`` for all of them ("" if none was said)."""

    text: Text
    asks: list[Ask]
    units: str


def understand(request: str, offers: Offers, today: date | None) -> Understanding:
    """Return what ``request`` asks for; never fails. What is not understood is an ask of the kind ``other``."""
    listener = _Listener(cut(request, today, offers.topics), offers)
    for clause in clauses(listener.text):
        listener.hear(clause)
    return Understanding(listener.text, listener.finish(), listener.units)


class _Listener:
    """Hears a request clause by clause.

    ``places``, ``days`` and ``ends`` are what "there", "both" and an ask without a place refer to; ``located`` is where
    the person said to be. ``lead`` are days said before an ask, with their sentence. ``loose`` are clauses that name
    places or days before anything was asked: a gap if no ask refers to them. ``last`` is the ask that further places
    belong to, ``greeted`` the latest sentence with a greeting, ``mark`` what ended the sentence before.
    """

    def __init__(self, text: Text, offers: Offers) -> None:
        self.text, self.offers = text, offers
        self.asks: list[Ask] = []
        self.units = ""
        self.places: list[str] = []
        self.days: list[When] = []
        self.ends: list[str] = []
        self.located = ""
        self.lead: tuple[int, list[When]] = (-1, [])
        self.loose: list[Clause] = []
        self.last: Ask | None = None
        self.greeted = -1
        self.mark = ""
        self._previous: Clause | None = None

    def hear(self, clause: Clause) -> None:
        """Take in the next clause."""
        previous, self._previous = self._previous, clause
        if previous is not None and previous.sentence != clause.sentence:
            self.mark = previous.mark
        for phrase in clause.of("units"):
            self.units = phrase.value
        match = self.offers.match(self.text, clause)
        kind = self._kind(clause, match)
        if kind in ("weather", "route"):
            usual, *topics = ((WEATHER_TOOL, "weather", "forecast"), (DIRECTIONS_TOOL, "direction", "route"))[
                kind == "route"
            ]
            if usual not in self.offers.by_name:
                other = self.offers.about(*topics)
                match = match or (Match(other, clause.start, clause.start, named=True) if other else None)
                kind = "tool" if match is not None else kind
        match kind:
            case "weather":
                self._weather(clause)
            case "route":
                self._route(clause)
            case "tool" if match is not None:
                self._tool(clause, match)
            case _:
                self._without_topic(clause)

    def finish(self) -> list[Ask]:
        """The asks, once everything was heard."""
        for ask in self.asks:
            if ask.kind in ("weather", "tool") and not ask.visits.entries and not ask.fallback:
                ask.fallback = self.places[:_MOST_THERE]
        if not any(ask.fallback and not ask.visits.entries for ask in self.asks):
            for clause in self.loose:
                self._other(clause, "nothing is asked about it")
        return self.asks

    # What a clause is

    def _kind(self, clause: Clause, match: Match | None) -> str:
        if match is not None and match.named:
            return {WEATHER_TOOL: "weather", DIRECTIONS_TOOL: "route"}.get(match.offer.name, "tool")
        found: list[tuple[int, int, str]] = []
        sure = next((index for index in clause.rest if self._low(index) in words.WEATHER), -1)
        if sure < 0 and not self._unknown(clause, _WEATHER_WORDS | words.MOVEMENT):
            sure = next((index for index in clause.rest if self._low(index) in words.WEATHER_IF_ALONE), -1)
        if sure >= 0:
            found.append((sure, 0, "weather"))
        if (at := self._route_at(clause)) >= 0 and not (sure < 0 and self._tells(clause)):
            found.append((at, 1, "route"))
        if match is not None:
            found.append((match.at, 2, "tool"))
        return min(found)[2] if found else ""

    def _route_at(self, clause: Clause) -> int:
        """Where a clause begins to speak of a way, else -1."""
        said = {self._low(index): index for index in reversed(clause.rest)}
        topic = next((said[low] for low in words.ROUTE if low in said), -1)
        if topic >= 0 or ("how" in said and "far" in said):
            return max(topic, 0) or clause.start
        places = clause.of("place")
        links = {phrase.link for phrase in places} | {phrase.link or "to" for phrase in clause.of("there")}
        carried = bool(clause.of("mode") or clause.of("transport"))
        moving = carried or bool(said.keys() & words.MOVEMENT)
        begin = min(
            [phrase.start for phrase in places] + [said[low] for low in said.keys() & words.MOVEMENT], default=0
        )
        if {"from", "to"} <= links or ("to" in links and "how" in said and len(said.keys() & words.MOVEMENT) > 1):
            return begin
        if (carried and links & {"from", "to"}) or ("there" in said and "from" in links and moving):
            return begin
        for phrase, following in zip(places, places[1:], strict=False):
            if not phrase.link and following.link == "to" and following.start == phrase.stop:
                # "Introduce Anna to Bob": a verb and a name.
                pair = phrase.start == clause.start and clause.first and len(phrase.value.split()) > 1
                name = "," in phrase.value or self._low(phrase.start) in words.NAME_STARTS
                return begin if moving or name or not pair or self.text.tokens[phrase.start].quoted else -1
        if clause.of("there") and {"how"} < said.keys() & words.MOVEMENT:
            return begin
        return begin if "from" in links and len(places) == 1 and not said and self.last is None else -1

    def _low(self, index: int) -> str:
        token = self.text.tokens[index]
        return "" if token.quoted else token.low

    def _unknown(self, clause: Clause, known: Collection[str], offer: Offer | None = None) -> list[int]:
        """The content words that are in no phrase and not ``known``."""
        about = offer.about if offer is not None else ()
        return [
            index
            for index in clause.rest
            if (low := self._low(index)) not in words.FUNCTION
            and low not in known
            and stem_of(low) not in about
            and (offer is None or low != offer.name.casefold())
        ]

    def _tells(self, clause: Clause) -> bool:
        """Whether a clause tells something and asks nothing: "I'm in Paris"."""
        first, second = self._low(clause.start), self._low(min(clause.start + 1, clause.stop - 1))
        tells = first in words.STATEMENTS or (first in ("i", "we") and second in ("am", "are", "will", "live", "have"))
        return (
            tells
            and clause.mark != "?"
            and "looking" not in (second, self._low(min(clause.start + 2, clause.stop - 1)))
        )

    # What is asked

    def _span(self, clause: Clause) -> tuple[int, int]:
        return self.text.tokens[clause.start].start, self.text.tokens[clause.stop - 1].end

    def _begin(self, kind: str, clause: Clause) -> Ask:
        ask = Ask(kind, *self._span(clause), clause.sentence, [clause])
        self.asks.append(ask)
        self.last = ask
        return ask

    def _weather(self, clause: Clause) -> None:
        unknown = self._unknown(clause, _WEATHER_WORDS | words.MOVEMENT)
        if unknown and not clause.of("place"):
            self._claim_small(clause, unknown, beside=words.WEATHER)
            unknown = self._unknown(clause, _WEATHER_WORDS | words.MOVEMENT)
        places = clause.of("place")
        linked = any(phrase.link == "in" for phrase in places)
        strange = [
            phrase.start
            for phrase in clause.phrases
            if phrase.kind in ("mode", "transport") or phrase.link in ("from", "to", "via") or
            (phrase.kind == "place" and linked and not phrase.link)
        ]  # fmt: skip
        ask = self._understood("weather", clause, [*unknown, *strange])
        if ask is not None:
            self._visit(ask, clause)

    def _understood(self, kind: str, clause: Clause, unknown: list[int]) -> Ask | None:
        """The ask of a clause, unless it says something unknown before its last phrase: then all of it is a gap."""
        last = max([phrase.start for phrase in clause.phrases if phrase.start not in unknown], default=-1)
        topic = [index for index in clause.rest if self._low(index) in _WEATHER_WORDS | _ROUTE_WORDS]
        last = max([last, *(topic[-1:] if last < 0 else topic[:1])])
        if any(index < last for index in unknown):
            return self._other(clause, f"the built-in rules do not understand {self._quote(clause, unknown)}")
        same = self.last if self.last is not None and self.last.kind == kind == "weather" else None
        if same is not None and same.sentence == clause.sentence:
            same.clauses.append(clause)
            same.end = self._span(clause)[1]
        else:
            same = self._begin(kind, clause)
        if unknown:
            same.left.append(self.text.source[self.text.tokens[min(unknown)].start : self._span(clause)[1]])
        return same

    def _quote(self, clause: Clause, unknown: list[int]) -> str:
        return ", ".join(f"“{self.text.tokens[index].text[:60]}”" for index in sorted(unknown)[:8])

    def _visit(self, ask: Ask, clause: Clause) -> None:
        """Give an ask about places what a clause says, and what it may fall back on."""
        days = [phrase.when for phrase in clause.of("day") if phrase.when is not None]
        if not days and self.lead[0] == clause.sentence:
            days, self.loose = self.lead[1], []
        places = clause.of("place")
        names = [phrase.value for phrase in places]
        if not names and (pronouns := [*clause.of("there"), *clause.of("both")]):
            names = (self.ends if pronouns[0].kind == "both" and self.ends else self.places)[:_MOST_THERE]
            days, self.loose = days or self.days, []
        if not ask.fallback:
            ask.fallback, ask.fallback_days = self.places[:_MOST_THERE], self.days
        trailing = bool(places) and any(phrase.start > places[-1].start for phrase in clause.of("day"))
        ask.visits.add(list(dict.fromkeys(names)), list(dict.fromkeys(days)), trailing=trailing)
        ask.end = max(ask.end, self._span(clause)[1])
        if ask.visits.entries:
            recent = ask.visits.entries[-_MOST_THERE:]
            self.places, self.days = list(dict.fromkeys(place for place, _ in recent)), ask.visits.days

    def _tool(self, clause: Clause, match: Match) -> None:
        unknown = self._unknown(clause, (), match.offer)
        if match.named and match.at == clause.start:
            unknown = [index for index in unknown if self._low(index) not in _WEATHER_WORDS | _ROUTE_WORDS]
        else:
            before = [index for index in unknown if index < match.at]
            before += [phrase.start for phrase in clause.of("place") if phrase.stop <= match.at and clause.rest]
            if before and not (len(before) == 1 and not self._unknown(clause, (), match.offer)):
                self._other(clause, f"the built-in rules do not understand {self._quote(clause, before)}")
                return
        ask = self._begin("tool", clause)
        ask.match, ask.open = match, clause.after == ":"
        self._visit(ask, clause)

    def _route(self, clause: Clause) -> None:
        last = self.last
        same = last if last is not None and last.kind == "route" else None
        places = clause.of("place")
        unknown = self._unknown(clause, _ROUTE_WORDS)
        if same is not None and same.sentence == clause.sentence and not places and not clause.of("there"):
            if not unknown:
                return  # "from Paris to Lyon, how long does it take?": any answer about a way says it
        modes = clause.of("mode")
        first = min((phrase.start for phrase in places), default=clause.stop)
        leads = bool(modes) and modes[0].start < first
        topic = any(self._low(index) in words.ROUTE for index in clause.rest)
        strange = [*unknown, *(phrase.start for phrase in places if phrase.link == "in")]
        if same is None or leads or topic or strange:
            ask = self._understood("route", clause, strange)
            if ask is None:
                return
            ask.start_at = self.located
            if clause.before == "then" and same is not None and same.ways:
                ask.start_at = same.ways[-1].ends("goals")[-1] if same.ways[-1].goals else self.located
        else:
            ask = same
            ask.clauses.append(clause)
            ask.end = self._span(clause)[1]
        self._walk(ask, clause, modes[0].value if leads else "")
        if modes and not leads:
            ask.travel_by(modes[0].value)
        if transports := clause.of("transport"):
            ask.transport = transports[0].value

    def _walk(self, ask: Ask, clause: Clause, mode: str) -> None:
        """Take the ends of ways that a clause names, in the order it names them."""
        for phrase in clause.of("day"):
            ask.left.append(
                self.text.source[self.text.tokens[phrase.start].start : self.text.tokens[phrase.stop - 1].end]
            )
        places = [phrase for phrase in clause.phrases if phrase.kind == "place"]
        if clause.of("there") and self.places:
            there, self.loose = clause.of("there")[0], []
            places = [*places, there._replace(kind="place", value=self.places[-1], link=there.link or "to")]
        links = {phrase.link for phrase in places}
        onwards = clause.before == "then" or any(self._low(index) in ("on", "onwards") for index in clause.rest[:8])
        reached = False
        for phrase, following in zip(places, [*places[1:], None], strict=False):
            way = ask.ways[-1] if ask.ways else None
            match _end_of(phrase, following, links):
                case "from" if way is not None and reached and not way.starts:
                    way.starts.append(phrase.value)  # "to Lyon from Paris"
                case "from" if way is None or way.goals:
                    ask.ways.append(Way([phrase.value], mode=mode))
                case "to" if way is not None and way.goals and (reached or onwards):
                    ask.ways.append(Way([way.goals[-1]], [phrase.value], mode=mode))
                    reached = True
                case "via" if way is not None:
                    way.stops.append(phrase.value)
                case "via":
                    ask.ways.append(Way(stops=[phrase.value], mode=mode))
                case side if way is None:
                    ask.ways.append(Way(goals=[phrase.value], mode=mode))
                    reached = side == "to"
                case side:
                    starts = side == "from" or (side == "" and bool(way.starts) and not way.goals)
                    (way.starts if starts else way.goals).append(phrase.value)
                    if clause.before == "and":
                        way.joined.add("starts" if starts else "goals")
                    reached = reached or not starts
        if ask.ways and ask.ways[-1].goals:
            way = ask.ways[-1]
            self.places, self.days, self.ends = way.goals[-1:], [], [*way.starts[-1:], *way.goals[-1:]]

    # What belongs to something else

    def _without_topic(self, clause: Clause) -> None:
        """A clause that speaks of no topic: part of the ask before, background, or something unknown."""
        last = self.last
        continues = last is not None and (
            last.sentence == clause.sentence
            or (clause.first and (clause.before != "." or clause.mark == "?" or self.mark in ("\n", ";")))
        )
        unknown = self._unknown(clause, ())
        bare = [phrase for phrase in clause.of("place") if not phrase.link]
        if last is not None and last.kind == "tool" and last.match is not None and continues:
            promised = last.open and last.sentence == clause.sentence
            if promised or (last.match.offer.texts() and self._is_item(clause)):
                last.clauses.append(clause)
                self._visit(last, clause)
                return
        if self._greets(clause, unknown, bare):
            self.greeted = clause.sentence
            return
        heading = clause.after == ":" and not self._unknown(clause, words.HEADING)
        if (heading and clause.phrases) or (self._tells(clause) and clause.phrases):
            self._background(clause, heading=heading)
            return
        if unknown and continues and not clause.phrases and clause.before in (",", "and"):
            self._claim_small(clause, unknown)
            unknown = self._unknown(clause, ())
        if unknown or (clause.phrases and last is not None and not continues):
            self._other(clause)
        elif clause.phrases and last is None:
            self._background(clause, heading=True)
            if clause.of("place") == bare or not bare:
                self.loose.append(clause)
        elif clause.phrases and last is not None:
            self._continue(last, clause)

    def _greets(self, clause: Clause, unknown: list[int], bare: list[Phrase]) -> bool:
        first = self._low(clause.start)
        if self.greeted == clause.sentence and len(clause.phrases) == len(bare) == 1 and not unknown:
            return clause.before == ","  # "Thanks, Bob"
        named = len(clause.phrases) == len(bare) <= 1
        if first in words.SALUTATIONS and named and clause.stop - clause.start <= 3:
            return True
        said = not clause.phrases and clause.rest
        return (
            bool(said)
            and all(self._low(index) in words.GREETINGS | words.FUNCTION for index in clause.rest)
            and any(self._low(index) in words.GREETINGS for index in clause.rest)
        )

    def _background(self, clause: Clause, *, heading: bool) -> None:
        """Places and days that later asks may refer to."""
        days = [phrase.when for phrase in clause.of("day") if phrase.when is not None]
        places = clause.of("place")
        if days:
            self.lead = (clause.sentence, days)
        names = [phrase.value for phrase in places]
        if {"from", "to"} <= {phrase.link for phrase in places}:
            self.ends, names = names, names[-1:]
        if names:
            more = heading and bool(self.loose) and self.loose[-1].sentence == clause.sentence
            self.places, self.days = [*self.places, *names] if more else names, days
        self.located = next((phrase.value for phrase in places if phrase.link in ("in", "")), self.located)
        unknown = [] if heading else self._unknown(clause, words.MOVEMENT | frozenset(("live", "staying")))
        if unknown:
            self._other(clause)

    def _claim_small(self, clause: Clause, unknown: list[int], beside: Collection[str] = ()) -> None:
        """Make one run of unknown words a place that is written small: "paris weather", "weather in rome and oslo"."""
        start, stop = unknown[0], unknown[-1] + 1
        other = {self._low(at) for at in clause.rest if at not in unknown}
        if stop - start != len(unknown) or len(unknown) > 3 or not (beside or other <= words.WHERE | {"the"}):
            return
        around = {self._low(at) for at in (start - 1, stop) if clause.start <= at < clause.stop}
        place = read_place(self.text, start, stop)
        if place is not None and place.stop == stop and (not beside or around & set(beside)):
            clause.claim(Phrase("place", start, stop, place.name))

    def _is_item(self, clause: Clause) -> bool:
        """Whether a clause can be one more thing of a list: "of B-7", "butter", not "book me a table"."""
        tokens = self.text.tokens[clause.start : clause.stop]
        content = [token for token in tokens if token.quoted or (not token.mark and token.low not in _IN_ITEMS)]
        small = all(token.quoted or token.low not in words.FUNCTION for token in content)
        return bool(content) and small and len(tokens) <= 8

    def _continue(self, ask: Ask, clause: Clause) -> None:
        """More places, days or means for what was asked before."""
        ask.sentence = clause.sentence
        if ask.kind in ("weather", "tool"):
            ask.clauses.append(clause)
            self._visit(ask, clause)
            if ask.kind == "weather" and (odd := [*clause.of("mode"), *clause.of("transport")]):
                ask.left.append(odd[0].value)
            return
        ask.end = self._span(clause)[1]
        if ask.kind == "route":
            self._walk(ask, clause, "")
            for phrase in clause.of("mode"):
                ask.travel_by(phrase.value)
            for phrase in clause.of("transport"):
                ask.transport = phrase.value

    def _other(self, clause: Clause, reason: str = "") -> None:
        begin, end = self._span(clause)
        if self.last is not None and self.last.kind == "other" and self.last.sentence == clause.sentence:
            self.last.end = max(end, self.last.end)
        else:
            ask = self._begin("other", clause)
            ask.begin, ask.reason = begin, reason
        if names := [phrase.value for phrase in clause.of("place") if phrase.link]:
            self.places, self.days = names, [phrase.when for phrase in clause.of("day") if phrase.when is not None]


def _end_of(phrase: Phrase, following: Phrase | None, links: set[str]) -> str:
    """Which end of a way a place is: the start in "Paris to Lyon", the goal in "how far is Versailles from Paris"."""
    if phrase.link != "":
        return phrase.link
    if following is not None and following.link == "to" and following.start == phrase.stop:
        return "from"
    return "to" if "from" in links and "to" not in links else ""
