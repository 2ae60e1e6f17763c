"""Listens to a request piece by piece and gathers what it asks for, with what "there" and "and in Lyon?" refer to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from . import vocabulary as words
from .asks import Ask, OtherAsk, PlaceAsk, RouteAsk, ToolAsk, WeatherAsk
from .classifying import Kind, classify, head_verb, lone_place, named_place
from .days import When
from .matching import DIRECTIONS_TOOL, WEATHER_TOOL, Match, Offers
from .places import Text, cut
from .reading import Reading, pieces, read

_MOST_THERE = 50  # places that one "there" can mean
_TOPICS = {
    Kind.WEATHER: (WEATHER_TOOL, "weather", "forecast"),
    Kind.ROUTE: (DIRECTIONS_TOOL, "direction", "route"),
}
"""The tool that usually answers, and what else a tool may be named for that does."""


@dataclass
class Understanding:
    """What was understood: ``asks`` in the order they were made, ``units`` for all of them ("" if none was said)."""

    asks: list[Ask] = field(default_factory=list[Ask])
    units: str = ""


def understand(request: str, offers: Offers, today: date | None) -> Understanding:
    """What ``request`` asks for. Never fails: what is not understood is an :class:`OtherAsk`.

    Statements ("I'm in Paris.") are background; if there is nothing else, they are taken as asking.
    """
    text = cut(request, today)
    heard = _Listener(text, offers, listening=True).listen()
    return heard if heard.asks else _Listener(text, offers, listening=False).listen()


class _Listener:
    """Holds what was said so far.

    ``places`` and ``days`` are what "there" and an ask without a place refer to, ``ends`` what "both" does; ``located``
    is where the person said to be. ``lead`` are days said at the beginning of a sentence, with its number, ``leading``
    the first piece that asked nothing. ``last`` is the ask that fragments go on with, ``open_sentence`` the sentence
    they may do so in, ``greeted`` the last one with a greeting, ``last_mark`` what ended the sentence before.
    """

    def __init__(self, text: Text, offers: Offers, *, listening: bool) -> None:
        self.text = text
        self.offers = offers
        self.listening = listening
        self.heard = Understanding()
        self.places: list[str] = []
        self.days: list[When] = []
        self.ends: list[str] = []
        self.located = ""
        self.lead: tuple[int, list[When]] = (-1, [])
        self.leading: Reading | None = None
        self.last: Ask | None = None
        self.open_sentence = -1
        self.greeted = -1
        self.last_mark = ""

    def listen(self) -> Understanding:
        readings = [read(self.text, piece) for piece in pieces(self.text)]
        for index, reading in enumerate(readings):
            if index and readings[index - 1].piece.sentence != reading.piece.sentence:
                self.last_mark = readings[index - 1].piece.mark
            self._hear(reading, readings[index + 1] if index + 1 < len(readings) else None)
        for ask in self.heard.asks:
            if isinstance(ask, PlaceAsk) and not ask.entries and not ask.fallback:
                ask.fallback = self.places[:_MOST_THERE]
        if not self.heard.asks and self.leading is not None and not self.listening:
            self._other(self.leading)
        return self.heard

    def _hear(self, reading: Reading, following: Reading | None) -> None:
        self.heard.units = reading.units or self.heard.units
        head = head_verb(self.text, reading)
        kind, match = self._kind(reading, head)
        if kind in (Kind.OTHER, Kind.STATEMENT, Kind.FRAGMENT) and self._belongs_to_tool(reading):
            return
        if kind is Kind.OTHER and self._is_place_alone(reading):
            kind = Kind.FRAGMENT
        if reading.piece.after == ":" and kind in (Kind.OTHER, Kind.FRAGMENT) and head not in words.OTHER_VERBS:
            kind = Kind.STATEMENT  # "Travel advice for Paris: …" says what the rest is about
        match kind:
            case Kind.GREETING:
                self.greeted = reading.piece.sentence
            case Kind.OTHER if self._is_said_already(reading):
                pass
            case Kind.STATEMENT:
                self._state(reading)
            case Kind.WEATHER:
                self._weather(reading)
            case Kind.ROUTE:
                self._route(reading)
            case Kind.TOOL if match is not None:
                self._tool(reading, match, head)
            case Kind.FRAGMENT:
                self._go_on(reading, following)
            case _:
                self._other(reading)

    def _kind(self, reading: Reading, head: str) -> tuple[Kind, Match | None]:
        """What a piece is, and the tool it speaks of: also one that does what a missing shipped tool would."""
        match = self.offers.match(self.text, reading.piece, head)
        after_route = isinstance(self.last, RouteAsk)
        kind = classify(self.text, reading, match, head, after_route=after_route, listening=self.listening)
        usual, *topics = _TOPICS.get(kind, ("",))
        if not usual or usual in self.offers.by_name:
            return kind, match
        other = self.offers.about(*topics)
        instead = match or (Match(other, 0, 0, 1.0, by_name=True) if other is not None else None)
        return (Kind.TOOL, instead) if instead is not None else (kind, None)

    def _is_place_alone(self, reading: Reading) -> bool:
        """Whether a piece is nothing but a place: one more of a list, or the one a request begins with."""
        if self._goes_on(reading):
            return True
        return self.last is None and lone_place(self.text, reading, small=False) is not None

    def _belongs_to_tool(self, reading: Reading) -> bool:
        """Whether a piece is what a colon promised to a tool: "check this: the moon is made of cheese"."""
        ask = self.last
        if not isinstance(ask, ToolAsk) or not ask.open or ask.sentence != reading.piece.sentence:
            return False
        ask.end = self._span(reading)[1]
        self._fill(ask, reading)
        return True

    def _is_said_already(self, reading: Reading) -> bool:
        """A name in a greeting ("Thanks, Bob"), or what any answer about a way tells ("…, how long does it take?")."""
        if self.greeted == reading.piece.sentence and len(reading.rest) <= 2:
            return reading.piece.before == ","
        lows = {self.text.tokens[index].low for index in reading.rest[:12]}
        same = isinstance(self.last, RouteAsk) and self.last.sentence == reading.piece.sentence
        return same and "how" in lows and bool(lows & {"long", "far"}) and not lows - words.STOP - words.MOVEMENT

    def _goes_on(self, reading: Reading) -> bool:
        """Whether a piece is nothing but a place that continues a list: "Lyon", "New York tomorrow"."""
        if isinstance(self.last, OtherAsk) or (self.last is None and self.leading is None):
            return False
        starts = reading.piece.first
        if not starts and self.open_sentence != reading.piece.sentence:
            return False  # "Thanks, Bob" goes on with nothing
        led = reading.piece.before != "." or reading.piece.mark == "?"
        if starts and not led and self.last_mark not in ("\n", ";"):
            return False  # a new sentence that is only a name: a signature, for one
        return lone_place(self.text, reading, small=not starts) is not None

    # What was said besides asking

    def _state(self, reading: Reading) -> None:
        goal = reading.place("to", "and")
        where = reading.place("in", "bare")
        origin = reading.place("from")
        if origin is not None and goal is not None:
            self.ends = [origin.name, goal.name]
        if goal is not None:
            self.places, self.days = [goal.name], reading.days
        elif where is not None:
            more = self.leading is not None and self.leading.piece.sentence == reading.piece.sentence
            named = [found.place.name for found in reading.places]
            self.places, self.days = [*self.places, *named] if more else named, reading.days
            self.located = where.name
        self._lead(reading)

    def _lead(self, reading: Reading) -> None:
        if reading.days:
            self.lead = (reading.piece.sentence, reading.days)
        self.leading = self.leading or reading

    # Asks

    def _span(self, reading: Reading) -> tuple[int, int]:
        tokens, piece = self.text.tokens, reading.piece
        return tokens[piece.start].start, tokens[piece.stop - 1].end

    def _begin(self, ask: Ask) -> None:
        self.heard.asks.append(ask)
        self.last = ask
        self.open_sentence = ask.sentence

    def _weather(self, reading: Reading) -> None:
        ask = WeatherAsk(*self._span(reading), reading.piece.sentence)
        if isinstance(self.last, WeatherAsk) and self.last.sentence == ask.sentence and reading.days:
            self.last.settle_on(reading.days)  # "Paris weather and Lyon weather for tomorrow"
        self._begin(ask)
        self._fill(ask, reading)

    def _tool(self, reading: Reading, match: Match, head: str) -> None:
        token = self.text.tokens[match.at]
        ask = ToolAsk(
            *self._span(reading),
            reading.piece.sentence,
            offer=match.offer,
            head=head,
            noun="" if match.by_name else token.low,
            after=self.text.tokens[match.last].end,
            open=reading.piece.after == ":",
            mode=reading.mode,
        )
        if not reading.places and (place := named_place(self.text, reading, match.at)) is not None:
            ask.add([place.name], reading.days, trailing=False)
        origin, goal = reading.place("from", "between"), reading.place("to", "and")
        ask.origin = origin.name if origin is not None else ""
        ask.destination = goal.name if goal is not None else ""
        self._begin(ask)
        self._fill(ask, reading)

    def _fill(self, ask: PlaceAsk, reading: Reading) -> None:
        """Gives an ask about places what its piece says, and what it may fall back on."""
        days = reading.days or (self.lead[1] if self.lead[0] == reading.piece.sentence else [])
        places = [found.place.name for found in reading.places]
        if not places and reading.pronoun in ("there", "both"):
            places = self._meant_by(reading.pronoun)
            days = days or self.days
        if not ask.fallback and reading.pronoun != "here":
            ask.fallback, ask.fallback_days = self.places[:_MOST_THERE], self.days
        last_place = max((found.place.start for found in reading.places), default=-1)
        ask.add(places, days, trailing=bool(reading.days) and reading.day_at > last_place)
        ask.end = max(ask.end, self._span(reading)[1])
        self._refer(ask)

    def _refer(self, ask: PlaceAsk) -> None:
        if ask.entries:
            # Only the last few can be meant, so only those are looked at: an ask may hold thousands.
            self.places = list(dict.fromkeys(entry.place for entry in ask.entries[-_MOST_THERE:]))
            self.days = ask.days

    def _meant_by(self, pronoun: str) -> list[str]:
        meant = self.ends if pronoun == "both" and self.ends else self.places
        return meant[:_MOST_THERE]

    def _route(self, reading: Reading) -> None:
        last = self.last
        named = reading.places or reading.pronoun
        if isinstance(last, RouteAsk) and last.sentence == reading.piece.sentence and not named:
            return  # "between Paris and Lyon: the distance?" has said it all
        if isinstance(last, RouteAsk) and reading.route_at < 0 and not self._leads_with_mode(reading):
            ask = last
            ask.end = self._span(reading)[1]
        else:
            ask = RouteAsk(*self._span(reading), reading.piece.sentence, start_at=self.located)
            if reading.piece.before == "then" and isinstance(last, RouteAsk) and last.legs:
                ask.start_at = last.legs[-1].destination
            self._begin(ask)
        ask.other_transport = reading.other_transport if not reading.mode else ask.other_transport
        if reading.mode:
            ask.travel_by(reading.mode, trailing=not self._leads_with_mode(reading))
        self._walk(ask, reading)

    def _leads_with_mode(self, reading: Reading) -> bool:
        first = min((found.place.start for found in reading.places), default=reading.piece.stop)
        return 0 <= reading.mode_at < first

    def _walk(self, ask: RouteAsk, reading: Reading) -> None:
        """Goes through the ends of ways that a piece names, in the order it names them."""
        separator = reading.piece.before
        onwards = separator == "then" or any(self.text.tokens[i].low in ("on", "onwards") for i in reading.rest[:8])
        linked = any(found.link not in ("in", "bare") for found in reading.places)
        reached = False
        for link, place in reading.places:
            match link:
                case "from" | "between":
                    ask.depart(place.name, separator, reached=reached)
                case "to" | "and":
                    ask.reach(place.name, chained=reached or onwards)
                    reached = True
                case "via":
                    ask.pass_through(place.name)
                case _ if not linked:
                    ask.reach(place.name, chained=onwards)
                case _:
                    pass
        if reading.pronoun == "there" and self.places:
            if reading.pronoun_link == "from":
                ask.depart(self.places[-1], separator, reached=reached)
            elif not reached:
                ask.reach(self.places[-1])
        if ask.legs and ask.legs[-1].destination:
            leg = ask.legs[-1]
            self.places, self.days = [leg.destination], []
            self.ends = [end for end in (leg.origin, leg.destination) if end]

    def _go_on(self, reading: Reading, following: Reading | None) -> None:
        """A fragment: more places, days or means for what was asked before."""
        self.open_sentence = reading.piece.sentence
        match self.last:
            case PlaceAsk() as ask:
                self._fill(ask, reading)
            case RouteAsk() as ask:
                self._go_on_route(ask, reading, following)
            case OtherAsk() as ask:
                ask.end = self._span(reading)[1]
            case _ if reading.place("from") is not None:
                self._route(reading)  # "from 10 High Street, Oxford to Cambridge": the rest is still to come
            case _:
                self._state(reading)

    def _go_on_route(self, ask: RouteAsk, reading: Reading, following: Reading | None) -> None:
        if reading.mode:
            ask.travel_by(reading.mode, trailing=True)
        bare = reading.place("bare")
        ask.end = self._span(reading)[1]
        if bare is None:
            if any(found.link != "in" for found in reading.places) or reading.pronoun:
                self._walk(ask, reading)
            return
        if ask.waiting:
            ask.start(bare.name, reading.piece.before)
        elif reading.piece.before == "," and not self._lists(following, reading):
            if ask.legs:  # "to the Louvre, Montmartre" at the end of a sentence says where the Louvre is
                ask.legs[-1].destination = ", ".join(filter(None, (ask.legs[-1].destination, bare.name)))
        else:
            self._walk(ask, reading)

    def _lists(self, following: Reading | None, reading: Reading) -> bool:
        """Whether the next piece is one more name of the same list."""
        return (
            following is not None
            and following.piece.sentence == reading.piece.sentence
            and following.weather_at < 0
            and following.route_at < 0
            and len(following.rest) <= 4
        )

    def _other(self, reading: Reading) -> None:
        start, stop = self._span(reading)
        if isinstance(self.last, OtherAsk) and self.last.sentence == reading.piece.sentence:
            self.last.end = stop
        else:
            self._begin(OtherAsk(start, stop, reading.piece.sentence))
        if reading.places:
            self.places, self.days = [found.place.name for found in reading.places], reading.days
