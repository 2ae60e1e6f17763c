"""Read a request clause by clause and collect what it asks for, and every clause that no rule understands."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from itertools import pairwise

from leadhand.domain.days import When

from . import words
from .arguments import DIRECTIONS_TOOL, WEATHER_TOOL, Match, Offer, Offers, stem_of
from .asks import Ask, Group
from .clauses import Clause, Phrase, clauses
from .places import read_place
from .tokens import Text, tokenize

_MOST_THERE = 50  # places that one "there" can mean
KNOWN = {
    "weather": words.WEATHER | words.WEATHER_IF_ALONE | words.WEATHER_DETAILS | words.MOVEMENT,
    "route": words.ROUTE | words.MOVEMENT | words.ROUTE_DETAILS,
}
"""The words of a clause that its topic explains."""
_IN_ITEMS = words.LEADS | words.ARTICLES | {"please", "too"}
_TOPICS = {"weather": (WEATHER_TOOL, "weather", "forecast"), "route": (DIRECTIONS_TOOL, "direction", "route")}


class Listener:
    """Collects what a request asks for; never fails. Text that is not understood becomes an ask of the kind ``other``.

    ``asks`` are in the order of the request, ``units`` applies to all of them. ``background`` are clauses that ask
    nothing, but may say where or when for others. ``spoken_of`` is what "there" refers to, ``located`` where the person
    is, ``lead`` are days mentioned before an ask in a sentence, ``last`` is the ask that further places belong to.
    """

    def __init__(self, request: str, offers: Offers, today: date | None) -> None:
        self.text, self.offers = Text(request, tokenize(request), today, offers.topics), offers
        self.asks: list[Ask] = []
        self.background: list[Clause] = []
        self.units, self.located = "", ""
        self.spoken_of = Group([], [])
        self.lead: tuple[int, list[When]] = (-1, [])
        self.last: Ask | None = None
        self.greeted = -1
        for clause in clauses(self.text):
            self._hear(clause)
        for ask in self.asks:
            if not ask.fallback.places:  # the place can follow: "Is it raining? I'm in Paris."
                ask.fallback = self.spoken_of

    def _hear(self, clause: Clause) -> None:
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

    # What a clause is

    def _kind(self, clause: Clause, match: Match | None) -> str:
        if match is not None and match.named:
            return {WEATHER_TOOL: "weather", DIRECTIONS_TOOL: "route"}.get(match.offer.name, "tool")
        found = [(match.at, 2, "tool")] if match is not None else []
        weather = words.WEATHER if self._unknown(clause, KNOWN["weather"]) else words.WEATHER | words.WEATHER_IF_ALONE
        found += [(index, 0, "weather") for index in clause.rest if self._low(index) in weather][:1]
        found += [(route, 1, "route")] if (route := self._route_at(clause)) >= 0 else []
        return min(found)[2] if found else ""

    def _route_at(self, clause: Clause) -> int:
        """Return where a clause begins to mention a route, else -1."""
        said = {self._low(index): index for index in reversed(clause.rest)}
        topic = min((said[low] for low in words.ROUTE & said.keys()), default=-1)
        if topic >= 0 or {"how", "far"} <= said.keys():
            return topic if topic >= 0 else clause.start
        if self._tells(clause):
            return -1
        places, movement = clause.of("place"), said.keys() & words.MOVEMENT
        links = {phrase.link for phrase in places} | {phrase.link or "to" for phrase in clause.of("there")}
        carried = bool(clause.of("mode", "transport"))
        begin = min([phrase.start for phrase in places] + [said[low] for low in movement], default=clause.start)
        for phrase, following in pairwise(places):
            if not phrase.link and following.link == "to" and following.start == phrase.stop:
                # "Introduce Anna to Bob" may be a verb and a name; "New York to Boston" is a route.
                pair = phrase.start == clause.start and clause.first and " " in phrase.value.partition(",")[0]
                named = not pair or self._low(phrase.start) in words.NAME_STARTS
                return begin if carried or movement or named else -1
        sure = {"from", "to"} <= links or (carried and links & {"from", "to"})
        sure = sure or ("how" in movement and len(movement) > 1 and "to" in links)
        alone = "from" in links and len(places) == 1 and not said and self.last is None  # more of it follows a comma
        return begin if sure or alone else -1

    def _low(self, index: int) -> str:
        return self.text.tokens[index].low

    def _unknown(self, clause: Clause, known: Collection[str], offer: Offer | None = None) -> list[int]:
        """The content words that are in no phrase and not ``known``."""
        return [index for index in clause.rest if not explains(self._low(index), known, offer)]

    def _tells(self, clause: Clause) -> bool:
        """Whether a clause is a statement and not a question: "I'm in Paris"."""
        first, second = self._low(clause.start), self.text.low(clause.start + 1, clause.stop)
        tells = first in words.STATEMENTS or (first in ("i", "we") and second in ("am", "are", "will", "live", "have"))
        return tells and clause.mark != "?"

    # What is asked

    def _begin(self, kind: str, clause: Clause, reason: str = "") -> Ask:
        self.last = Ask(kind, [clause], reason=reason)
        self.asks.append(self.last)
        return self.last

    def _other(self, clause: Clause, unknown: Collection[int] = ()) -> None:
        """Add an ask for a clause that no rule understands, because of ``unknown`` tokens if given."""
        if self.last is not None and self.last.kind == "other" and self.last.clauses[-1].sentence == clause.sentence:
            self.last.clauses.append(clause)
        else:
            quoted = ", ".join(f"“{self.text.tokens[index].text[:60]}”" for index in sorted(unknown)[:8])
            self._begin("other", clause, quoted and f"the built-in rules do not understand {quoted}")
        if names := [phrase.value for phrase in clause.of("place") if phrase.link]:
            self.spoken_of = Group(names[-_MOST_THERE:], clause.days)

    def _understood(self, kind: str, clause: Clause, unknown: list[int]) -> Ask | None:
        """Add the ask of a clause. If unknown words precede its last phrase, the whole clause becomes a gap."""
        last = max([phrase.start for phrase in clause.phrases if phrase.start not in unknown], default=-1)
        topic = [index for index in clause.rest if self._low(index) in KNOWN["weather"] | KNOWN["route"]]
        last = max([last, *(topic[-1:] if last < 0 else topic[:1])])
        condition = any(self._low(index) in words.CONDITIONS for index in unknown)
        if condition or any(index < last for index in unknown) or (unknown and not clause.phrases):
            return self._other(clause, unknown)
        ask = self.last
        if ask is not None and ask.kind == kind == "weather" and ask.clauses[-1].sentence == clause.sentence:
            ask.clauses.append(clause)
            return ask
        return self._begin(kind, clause)

    def _weather(self, clause: Clause) -> None:
        unknown = self._unknown(clause, KNOWN["weather"])
        if unknown and not clause.of("place"):
            self._claim_small(clause, unknown, beside=words.WEATHER)
            unknown = self._unknown(clause, KNOWN["weather"])
        linked = any(phrase.link == "in" for phrase in clause.of("place"))
        for phrase in clause.phrases:
            stray = phrase.kind == "place" and linked and not phrase.link
            if stray or phrase.kind in ("mode", "transport") or phrase.link in ("from", "to", "via"):
                unknown.append(phrase.start)
        if ask := self._understood("weather", clause, unknown):
            self._visit(ask, clause)

    def _visit(self, ask: Ask, clause: Clause) -> None:
        """Add the phrases of a clause, and its fallbacks, to an ask about places."""
        places, days = clause.of("place"), clause.days
        if not days and self.lead[0] == clause.sentence:
            days = self.lead[1]
        names = [phrase.value for phrase in places]
        if not names and clause.of("there"):
            names, days = self.spoken_of.places, days or self.spoken_of.days
        if not ask.fallback.places:
            ask.fallback = self.spoken_of
        trailing = bool(places) and any(phrase.start > places[-1].start for phrase in clause.of("day"))
        ask.visit(list(names), list(days), trailing=trailing)
        if recent := ask.groups[-1].places[-_MOST_THERE:]:
            self.spoken_of = Group(recent, list(ask.groups[-1].days))

    def _tool(self, clause: Clause, match: Match) -> None:
        unknown = self._unknown(clause, words.ROUTE | words.WEATHER if match.named else (), match.offer)
        before = [index for index in unknown if index < match.at and not self._low(index).isdigit()]
        before += [index for index in clause.rest if index > match.at and self._low(index) in words.CONDITIONS]
        strays = [phrase.start for phrase in clause.of("place") if phrase.stop <= match.at and not phrase.link]
        if before or (strays and clause.of("place")[-1].start > match.at):
            return self._other(clause, [*before, *strays])
        ask = self._begin("tool", clause)
        ask.match = match
        return self._visit(ask, clause)

    def _route(self, clause: Clause) -> None:
        same = self.last if self.last is not None and self.last.kind == "route" else None
        unknown = self._unknown(clause, KNOWN["route"])
        places, modes = clause.of("place"), clause.of("mode")
        unknown += [phrase.start for phrase in places if phrase.link in ("in", "via")]
        leads = bool(modes) and modes[0].start < min((phrase.start for phrase in places), default=clause.stop)
        topic = any(self._low(index) in words.ROUTE for index in clause.rest)
        if same and same.clauses[-1].sentence == clause.sentence and not (clause.phrases or unknown):
            same.clauses.append(clause)  # "from Paris to Lyon, how long does it take?" Every route includes that.
            return
        if same is None or leads or unknown or topic:
            ask = self._understood("route", clause, unknown)
            if ask is None:
                return
            ask.start_at = self.located
            if clause.before == "then" and same is not None and same.ways and same.ways[-1].goals:
                ask.start_at = same.ways[-1].ends("goals")[-1]
        else:
            ask = same
            ask.clauses.append(clause)
        self._walk(ask, clause, modes[0].value if leads else "")

    def _walk(self, ask: Ask, clause: Clause, mode: str) -> None:
        places = clause.of("place")
        if clause.of("there") and self.spoken_of.places:
            there = clause.of("there")[0]
            places = [*places, there._replace(value=self.spoken_of.places[-1], link=there.link or "to")]
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
            self.spoken_of = Group(ask.ways[-1].goals[-1:], [])

    # What belongs to something else

    def _without_topic(self, clause: Clause) -> None:
        """Read a clause without a topic: part of the previous ask, background, or something unknown."""
        last = self.last
        goes_on = clause.first and (clause.before != "." or clause.mark == "?" or clause.mark_before in ("\n", ";"))
        continues = last is not None and (last.clauses[-1].sentence == clause.sentence or goes_on)
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
        if unknown or (clause.phrases and last is not None and (not continues or last.kind == "other")):
            return self._other(clause)
        if clause.phrases and last is None:
            return self._background(clause, heading=True)
        if clause.phrases and last is not None:
            last.clauses.append(clause)
            return self._walk(last, clause, "") if last.kind == "route" else self._visit(last, clause)
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
        places, days = clause.of("place"), clause.days
        if days:
            self.lead = (clause.sentence, days)
        names = [phrase.value for phrase in places if phrase.link != "from"]
        if names:
            more = bool(self.background) and self.background[-1].sentence == clause.sentence
            self.spoken_of = Group([*(self.spoken_of.places if more else ()), *names][-_MOST_THERE:], days)
        self.located = next((phrase.value for phrase in places if phrase.link in ("in", "")), self.located)
        if not heading and self._unknown(clause, words.MOVEMENT | {"live", "staying"}):
            self._other(clause)
        else:
            self.background.append(clause)

    def _claim_small(self, clause: Clause, unknown: list[int], beside: Collection[str] = ()) -> None:
        """Treat a sequence of unknown words as a place in lower case: "paris weather", "weather in rome and oslo"."""
        start, stop = unknown[0], unknown[-1] + 1
        other = {self._low(at) for at in clause.rest if at not in unknown}
        if stop - start != len(unknown) or len(unknown) > 3 or not (beside or other <= words.WHERE | {"the"}):
            return
        around = {self._low(at) for at in (start - 1, stop) if clause.start <= at < clause.stop}
        place = read_place(self.text, start, stop)
        if place is not None and place.stop == stop and (not beside or around & set(beside)):
            clause.claim(Phrase("place", start, stop, place.name))

    def _is_item(self, clause: Clause) -> bool:
        """Whether a clause can be one more item of a list: "of B-7", "butter", not "book me a table"."""
        tokens = self.text.tokens[clause.start : clause.stop]
        content = [token for token in tokens if not token.mark and token.low not in _IN_ITEMS]
        return bool(content) and not words.FUNCTION & {token.low for token in content} and len(tokens) <= 8


def explains(low: str, known: Collection[str], offer: Offer | None = None) -> bool:
    """Whether a word is ``known`` or part of what a tool is about."""
    if low in words.FUNCTION or low in known:
        return True
    return offer is not None and bool(low) and (stem_of(low) in offer.about or low == offer.name.casefold())
