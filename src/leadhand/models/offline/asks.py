"""What a request asks for, as asks that gather their places, days and ends of ways piece by piece."""

from __future__ import annotations

from dataclasses import dataclass, field

from .days import When
from .matching import Offer

MOST_LOOKUPS = 2_000
"""More look-ups than this in one request are not planned, and the plan says so."""


@dataclass
class Ask:
    """One thing asked for; its words are ``source[begin:end]``, in characters."""

    begin: int
    end: int
    sentence: int


@dataclass
class Entry:
    """A place, and when, if that was said."""

    place: str
    when: When | None = None


@dataclass
class PlaceAsk(Ask):
    """Something about places, on days: the weather, or a tool that wants a place.

    ``fallback`` are the places spoken of before, for an ask that names none itself.
    """

    entries: list[Entry] = field(default_factory=list[Entry])
    days: list[When] = field(default_factory=list[When])
    fallback: list[str] = field(default_factory=list[str])
    fallback_days: list[When] = field(default_factory=list[When])
    _dated: int = 0  # the first so many entries all have a day: nothing to fill there
    _known: set[tuple[str, When | None]] = field(default_factory=set[tuple[str, When | None]])
    _places: dict[str, None] = field(default_factory=dict[str, None])  # those of the entries, each once
    _reached: dict[When, int] = field(
        default_factory=dict[When, int]
    )  # by day, how many of them were asked about on it

    def add(self, places: list[str], days: list[When], *, trailing: bool) -> None:
        """Takes what one more piece says. ``trailing``: the day comes behind the place, so earlier ones get it too."""
        if places:
            said = days or self.days
            if days and self.days and not self.entries:
                said = [*self.days, *(day for day in days if day not in self.days)]
            if days and trailing:
                self._fill(days)
            for place in places:
                self._append(place, said)
        elif days and self.entries:
            if any(entry.when is None for entry in self.entries[self._dated :]):
                self._fill(days)
            else:
                self._ask_everywhere(days)
        elif days:
            days = [*self.days, *(day for day in days if day not in self.days)]
        self.days = days or self.days

    def settle_on(self, days: list[When]) -> None:
        """``days`` are for this ask too, if it was told none."""
        if self.entries and not self.days:
            self._fill(days)
            self.days = days

    def _fill(self, days: list[When]) -> None:
        """Gives the entries without a day the first of ``days``, and asks about them on the others too."""
        for entry in self.entries[self._dated :]:
            if entry.when is None:
                entry.when = days[0]
                self._known.add((entry.place, entry.when))
                if days[1:]:
                    self._append(entry.place, days[1:])
        self._dated = len(self.entries)

    def _ask_everywhere(self, days: list[When]) -> None:
        """Asks about every place so far on ``days`` too; those that were already are not gone through again."""
        for day in days:
            reached = self._reached.get(day, 0)
            if reached < len(self._places) and len(self.entries) <= MOST_LOOKUPS:
                for place in list(self._places)[reached:]:
                    self._append(place, [day])
                self._reached[day] = len(self._places)

    def _append(self, place: str, days: list[When]) -> None:
        if len(self.entries) > MOST_LOOKUPS:
            return
        self._places[place] = None
        for day in days or [None]:
            if (place, day) not in self._known:
                self._known.add((place, day))
                self.entries.append(Entry(place, day))

    def settled(self) -> list[Entry]:
        """The entries, from the places spoken of before if the ask named none."""
        if self.entries:
            return self.entries
        days = self.days or self.fallback_days or [None]
        return [Entry(place, day) for place in self.fallback for day in days]

    @property
    def places(self) -> list[str]:
        """The places asked about, each once."""
        return list(self._places) or list(dict.fromkeys(self.fallback))


class WeatherAsk(PlaceAsk):
    """The weather at places."""


@dataclass
class ToolAsk(PlaceAsk):
    """A question for one of the run's own tools.

    ``noun`` is the word that named it, ``after`` the character behind, ``head`` the verb of the question. ``open``
    while a colon promises that the rest of the sentence belongs to it.
    """

    offer: Offer | None = None
    head: str = ""
    noun: str = ""
    after: int = 0
    open: bool = False
    origin: str = ""
    destination: str = ""
    units: str = ""
    mode: str = ""


@dataclass
class Leg:
    """A way from one place to another; "" is an end that was not named."""

    origin: str
    destination: str
    mode: str = ""


@dataclass
class RouteAsk(Ask):
    """Ways. ``waiting`` are starting points whose destination has not come yet, each with the separator before it.

    ``start_at`` is where the person said to be, for ways that name no starting point. ``other_transport`` is a means
    that was asked for and that no directions are known by. ``stops`` are places on a way whose ends have not come yet.
    """

    legs: list[Leg] = field(default_factory=list[Leg])
    waiting: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    stops: list[str] = field(default_factory=list[str])
    mode: str = ""
    start_at: str = ""
    other_transport: str = ""
    _moded: int = 0  # the first so many legs all have a mode

    def start(self, origin: str, separator: str) -> None:
        self.waiting.append((separator, origin))

    def reach(self, destination: str, *, chained: bool = False) -> None:
        """A destination: of the waiting starting points, else onwards (``chained``) or again from the last one."""
        stops, self.stops = self.stops, []
        if self.waiting and stops:
            self.reach(stops[0])
            for stop in [*stops[1:], destination]:
                self.reach(stop, chained=True)
        elif self.waiting:
            listed = any(separator == "and" for separator, _ in self.waiting)
            names = [name for _, name in self.waiting]
            # "from 10 High Street, Oxford to Cambridge" starts at one place, "from Paris and Lyon to Nice" at two.
            for origin in names if listed else [", ".join(names)]:
                self._append(origin, destination)
            self.waiting.clear()
        elif self.legs and (chained or not self.legs[-1].destination):
            self._append(self.legs[-1].destination, destination)
        elif self.legs:
            self._append(self.legs[-1].origin, destination)
        else:
            self._append("", destination)

    def depart(self, origin: str, separator: str, *, reached: bool) -> None:
        """A starting point; ``reached``: its destination was said just before ("to Lyon from Paris")."""
        if reached and self.legs and not self.legs[-1].origin:
            self.legs[-1].origin = origin
        else:
            self.start(origin, separator)

    def pass_through(self, stop: str) -> None:
        """A place on the way: two ways instead of one."""
        if self.legs and not self.waiting:
            last = self.legs.pop()
            self._append(last.origin, stop)
            self._append(stop, last.destination)
        elif self.waiting:
            self.reach(stop)
            self.start(stop, "")
        else:
            self.stops.append(stop)

    def travel_by(self, mode: str, *, trailing: bool) -> None:
        """``trailing``: said behind the ways, so it is for those before that name none."""
        if trailing:
            for leg in self.legs[self._moded :]:
                leg.mode = leg.mode or mode
            self._moded = len(self.legs)
        self.mode = mode

    def _append(self, origin: str, destination: str) -> None:
        if len(self.legs) <= MOST_LOOKUPS:
            self.legs.append(Leg(origin, destination, self.mode))


class OtherAsk(Ask):
    """Something that nothing here understands."""
