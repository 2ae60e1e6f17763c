"""Listens to a request clause by clause and gathers what it asks for, and every part that no rule understands."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from leadhand.domain.days import When

from . import words
from .arguments import Match, Offer, Offers, stem_of
from .asks import DIRECTIONS_TOOL, WEATHER_TOOL, Ask
from .clauses import Clause, Phrase, clauses
from .places import Text, cut, read_place

_MOST_THERE = 50  # places that one "there" can mean
_WEATHER_WORDS = words.WEATHER | words.WEATHER_IF_ALONE | words.WEATHER_DETAILS | words.MOVEMENT
_ROUTE_WORDS = words.ROUTE | words.MOVEMENT | words.ROUTE_DETAILS
_IN_ITEMS = words.LEADS | words.word_set("the a an our my please too")
_TOPICS = {"weather": (WEATHER_TOOL, "weather", "forecast"), "route": (DIRECTIONS_TOOL, "direction", "route")}


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


def _days(clause: Clause) -> list[When]:
    return list(dict.fromkeys(phrase.when for phrase in clause.of("day") if phrase.when is not None))


class _Listener:
    """Holds what was said so far.

    ``places`` and ``days`` are what "there" refers to, ``located`` is where the person said to be, ``lead`` are days
    said before an ask in a sentence. ``loose`` clauses name places before anything was asked: gaps if no ask uses them.
    ``last`` is the ask that further places belong to, ``mark`` what ended the sentence before.
    """

    def __init__(self, text: Text, offers: Offers) -> None:
        self.text, self.offers = text, offers
        self.asks: list[Ask] = []
        self.units, self.located, self.mark = "", "", ""
        self.places: list[str] = []
        self.days: list[When] = []
        self.lead: tuple[int, list[When]] = (-1, [])
        self.loose: list[Clause] = []
        self.last: Ask | None = None
        self.greeted = -1
        self._previous: Clause | None = None

    def hear(self, clause: Clause) -> None:
        """Take in the next clause."""
        if self._previous is not None and self._previous.sentence != clause.sentence:
            self.mark = self._previous.mark
        self._previous = clause
        self.units = next((phrase.value for phrase in clause.of("units")), self.units)
        match = self.offers.match(self.text, clause)
        kind = self._kind(clause, match)
        usual, *topics = _TOPICS.get(kind, ("",))
        if usual and usual not in self.offers.by_name:
            # Another tool may be named for it: "will it rain" asks the run's own forecast_tool.
            others = (offer for offer in self.offers.by_name.values() if offer.topic & set(topics))
            match = match or next((Match(offer, clause.start, clause.start, named=True) for offer in others), None)
            kind = "tool" if match is not None else kind
        if kind == "tool" and match is not None:
            self._tool(clause, match)
        elif kind:
            (self._weather if kind == "weather" else self._route)(clause)
        else:
            self._without_topic(clause)

    def finish(self) -> list[Ask]:
        """Return the asks, once everything was heard."""
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
        found = [(match.at, 2, "tool")] if match is not None else []
        weather = next((index for index in clause.rest if self._low(index) in words.WEATHER), -1)
        if weather < 0 and not self._unknown(clause, _WEATHER_WORDS):
            weather = next((index for index in clause.rest if self._low(index) in words.WEATHER_IF_ALONE), -1)
        if weather >= 0:
            found.append((weather, 0, "weather"))
        if (route := self._route_at(clause)) >= 0:
            found.append((route, 1, "route"))
        return min(found)[2] if found else ""

    def _route_at(self, clause: Clause) -> int:
        """Where a clause begins to speak of a way, else -1."""
        said = {self._low(index): index for index in reversed(clause.rest)}
        topic = next((said[low] for low in words.ROUTE if low in said), -1)
        if topic >= 0 or ("how" in said and "far" in said):
            return topic if topic >= 0 else clause.start
        if self._tells(clause):
            return -1
        places, movement = clause.of("place"), said.keys() & words.MOVEMENT
        links = {phrase.link for phrase in places} | {phrase.link or "to" for phrase in clause.of("there")}
        carried = bool(clause.of("mode") or clause.of("transport"))
        begin = min([phrase.start for phrase in places] + [said[low] for low in movement], default=clause.start)
        for phrase, following in pairwise(places):
            if not phrase.link and following.link == "to" and following.start == phrase.stop:
                # "Introduce Anna to Bob" may be a verb and a name; "New York to Boston" is a way.
                pair = phrase.start == clause.start and clause.first and " " in phrase.value.partition(",")[0]
                named = not pair or self._low(phrase.start) in words.NAME_STARTS
                return begin if carried or movement or named else -1
        sure = {"from", "to"} <= links or (carried and links & {"from", "to"})
        sure = sure or ("how" in movement and len(movement) > 1 and bool(links & {"to"}))
        alone = "from" in links and len(places) == 1 and not said and self.last is None  # more of it follows a comma
        return begin if sure or alone else -1

    def _low(self, index: int) -> str:
        token = self.text.tokens[index]
        return "" if token.quoted else token.low

    def _unknown(self, clause: Clause, known: Collection[str], offer: Offer | None = None) -> list[int]:
        """The content words that are in no phrase and not ``known``."""
        found = [index for index in clause.rest if self._low(index) not in words.FUNCTION]
        if offer is not None:
            said = offer.name.casefold()
            found = [at for at in found if stem_of(self._low(at)) not in offer.about and self._low(at) != said]
        return [index for index in found if self._low(index) not in known]

    def _tells(self, clause: Clause) -> bool:
        """Whether a clause tells something and asks nothing: "I'm in Paris"."""
        first, second = self._low(clause.start), self._low(min(clause.start + 1, clause.stop - 1))
        tells = first in words.STATEMENTS or (first in ("i", "we") and second in ("am", "are", "will", "live", "have"))
        return tells and clause.mark != "?"

    def _span(self, start: int, stop: int) -> tuple[int, int]:
        return self.text.tokens[start].start, self.text.tokens[stop - 1].end

    def _source(self, start: int, stop: int) -> str:
        begin, end = self._span(start, stop)
        return self.text.source[begin:end]

    # What is asked

    def _begin(self, kind: str, clause: Clause) -> Ask:
        ask = Ask(kind, *self._span(clause.start, clause.stop), clause.sentence, [clause])
        self.asks.append(ask)
        self.last = ask
        return ask

    def _understood(self, kind: str, clause: Clause, unknown: list[int]) -> Ask | None:
        """The ask of a clause, unless it says something unknown before its last phrase: then all of it is a gap."""
        last = max([phrase.start for phrase in clause.phrases if phrase.start not in unknown], default=-1)
        topic = [index for index in clause.rest if self._low(index) in (_WEATHER_WORDS | _ROUTE_WORDS)]
        last = max([last, *(topic[-1:] if last < 0 else topic[:1])])
        condition = any(self._low(index) in words.CONDITIONS for index in unknown)
        if condition or any(index < last for index in unknown) or (unknown and not clause.phrases):
            return self._other(clause, self._not_understood(unknown))
        ask = self.last
        if ask is not None and ask.kind == kind == "weather" and ask.sentence == clause.sentence:
            ask.clauses.append(clause)
            ask.end = self._span(clause.start, clause.stop)[1]
        else:
            ask = self._begin(kind, clause)
        if unknown:
            ask.left.append(self._source(min(unknown), clause.stop))
        return ask

    def _not_understood(self, unknown: list[int]) -> str:
        quoted = ", ".join(f"“{self.text.tokens[index].text[:60]}”" for index in sorted(unknown)[:8])
        return f"the built-in rules do not understand {quoted}"

    def _weather(self, clause: Clause) -> None:
        unknown = self._unknown(clause, _WEATHER_WORDS)
        if unknown and not clause.of("place"):
            self._claim_small(clause, unknown, beside=words.WEATHER)
            unknown = self._unknown(clause, _WEATHER_WORDS)
        linked = any(phrase.link == "in" for phrase in clause.of("place"))
        for phrase in clause.phrases:
            stray = phrase.kind == "place" and linked and not phrase.link
            if stray or phrase.kind in ("mode", "transport") or phrase.link in ("from", "to", "via"):
                unknown.append(phrase.start)
        if ask := self._understood("weather", clause, unknown):
            self._visit(ask, clause)

    def _visit(self, ask: Ask, clause: Clause) -> None:
        """Give an ask about places what a clause says, and what it may fall back on."""
        days, places = _days(clause), clause.of("place")
        if not days and self.lead[0] == clause.sentence:
            days, self.loose = self.lead[1], []
        names = [phrase.value for phrase in places]
        if not names and clause.of("there"):
            names, days, self.loose = self.places[:_MOST_THERE], days or self.days, []
        if not ask.fallback:
            ask.fallback, ask.fallback_days = self.places[:_MOST_THERE], self.days
        trailing = bool(places) and any(phrase.start > places[-1].start for phrase in clause.of("day"))
        ask.visits.add(list(dict.fromkeys(names)), days, trailing=trailing)
        ask.end = max(ask.end, self._span(clause.start, clause.stop)[1])
        if recent := ask.visits.entries[-_MOST_THERE:]:
            self.places, self.days = list(dict.fromkeys(place for place, _ in recent)), ask.visits.days

    def _tool(self, clause: Clause, match: Match) -> None:
        unknown = self._unknown(clause, words.ROUTE | words.WEATHER if match.named else (), match.offer)
        before = [index for index in unknown if index < match.at and not self._low(index).isdigit()]
        before += [index for index in clause.rest if index > match.at and self._low(index) in words.CONDITIONS]
        strays = [phrase.start for phrase in clause.of("place") if phrase.stop <= match.at and not phrase.link]
        if before or (strays and clause.of("place")[-1].start > match.at):
            self._other(clause, self._not_understood([*before, *strays]))
            return
        ask = self._begin("tool", clause)
        ask.match = match
        self._visit(ask, clause)

    def _route(self, clause: Clause) -> None:
        same = self.last if self.last is not None and self.last.kind == "route" else None
        unknown = self._unknown(clause, _ROUTE_WORDS)
        places = clause.of("place")
        if same and same.sentence == clause.sentence and not (places or clause.of("there") or unknown):
            return  # "from Paris to Lyon, how long does it take?": any answer about a way says it
        unknown += [phrase.start for phrase in places if phrase.link in ("in", "via")]
        modes = clause.of("mode")
        leads = bool(modes) and modes[0].start < min((phrase.start for phrase in places), default=clause.stop)
        if same is None or leads or unknown or any(self._low(index) in words.ROUTE for index in clause.rest):
            ask = self._understood("route", clause, unknown)
            if ask is None:
                return
            ask.start_at = self.located
            if clause.before == "then" and same is not None and same.ways and same.ways[-1].goals:
                ask.start_at = same.ways[-1].ends("goals")[-1]
        else:
            ask = same
            ask.end = self._span(clause.start, clause.stop)[1]
        self._walk(ask, clause, modes[0].value if leads else "")

    def _walk(self, ask: Ask, clause: Clause, mode: str) -> None:
        ask.left += [self._source(phrase.start, phrase.stop) for phrase in clause.of("day")]
        places = clause.of("place")
        if clause.of("there") and self.places:
            there, self.loose = clause.of("there")[0], []
            places = [*places, there._replace(value=self.places[-1], link=there.link or "to")]
        links = {phrase.link for phrase in places}
        places = [phrase for phrase in places if phrase.link not in ("in", "via")]
        ends: list[tuple[str, str]] = []
        for phrase, following in zip(places, [*places[1:], None], strict=False):
            link = phrase.link
            if not link and following is not None and following.link == "to" and following.start == phrase.stop:
                link = "from"  # "Paris to Lyon"
            elif not link and "from" in links and "to" not in links:
                link = "to"  # "how far is Versailles from Paris"
            ends.append((link, phrase.value))
        onwards = clause.before == "then" or any(self._low(index) in ("on", "onwards") for index in clause.rest[:8])
        ask.walk(ends, separator=clause.before, onwards=onwards, mode=mode)
        for phrase in clause.of("mode") if not mode else ():
            ask.travel_by(phrase.value)
        ask.transport = next((phrase.value for phrase in clause.of("transport")), ask.transport)
        if ask.ways and ask.ways[-1].goals:
            self.places, self.days = ask.ways[-1].goals[-1:], []

    # What belongs to something else

    def _without_topic(self, clause: Clause) -> None:
        """A clause that speaks of no topic: part of the ask before, background, or something unknown."""
        last = self.last
        goes_on = clause.first and (clause.before != "." or clause.mark == "?" or self.mark in ("\n", ";"))
        continues = last is not None and (last.sentence == clause.sentence or goes_on)
        if last and continues and last.match and last.match.offer.texts() and self._is_item(clause):
            last.clauses.append(clause)
            return self._visit(last, clause)
        unknown = self._unknown(clause, ())
        if self._greets(clause, unknown):
            self.greeted = clause.sentence
            return None
        heading = clause.after == ":" and not self._unknown(clause, words.HEADING)
        if clause.phrases and (heading or self._tells(clause)):
            return self._background(clause, heading=heading)
        if unknown and continues and not clause.phrases and clause.before in (",", "and"):
            self._claim_small(clause, unknown)
            unknown = self._unknown(clause, ())
        if unknown or (clause.phrases and last is not None and not continues):
            self._other(clause)
        elif clause.phrases and last is None:
            self._background(clause, heading=True)
            self.loose.append(clause)
        elif clause.phrases and last is not None:
            self._continue(last, clause)
        return None

    def _greets(self, clause: Clause, unknown: list[int]) -> bool:
        bare = [phrase for phrase in clause.phrases if phrase.kind == "place" and not phrase.link]
        lows = {self._low(index) for index in clause.rest}
        named = len(clause.phrases) == len(bare) <= 1
        if named and self._low(clause.start) in words.SALUTATIONS and clause.stop - clause.start <= 3:
            return True  # "Hello Bob"
        if self.greeted == clause.sentence and named and bare and not unknown:
            return clause.before == ","  # "Thanks, Bob"
        return not clause.phrases and bool(lows & words.GREETINGS) and lows <= words.GREETINGS | words.FUNCTION

    def _background(self, clause: Clause, *, heading: bool) -> None:
        """Remember places and days that later asks may refer to."""
        places, days = clause.of("place"), _days(clause)
        if days:
            self.lead = (clause.sentence, days)
        names = [phrase.value for phrase in places if phrase.link != "from"]
        if names:
            more = bool(self.loose) and self.loose[-1].sentence == clause.sentence
            self.places, self.days = [*self.places, *names] if more else names, days
        self.located = next((phrase.value for phrase in places if phrase.link in ("in", "")), self.located)
        if not heading and self._unknown(clause, words.MOVEMENT | {"live", "staying"}):
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
        """Add more places, days or means to what was asked before."""
        ask.sentence = clause.sentence
        ask.end = self._span(clause.start, clause.stop)[1]
        if ask.kind == "route":
            self._walk(ask, clause, "")
        elif ask.kind != "other":
            ask.clauses.append(clause)
            self._visit(ask, clause)
            ask.left += [phrase.value for phrase in (*clause.of("mode"), *clause.of("transport"))]

    def _other(self, clause: Clause, reason: str = "") -> None:
        if self.last is not None and self.last.kind == "other" and self.last.sentence == clause.sentence:
            self.last.end = max(self._span(clause.start, clause.stop)[1], self.last.end)
        else:
            self._begin("other", clause).reason = reason
        if names := [phrase.value for phrase in clause.of("place") if phrase.link]:
            self.places, self.days = names, _days(clause)
