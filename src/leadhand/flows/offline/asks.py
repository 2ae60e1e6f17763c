"""What a request can ask for: the weather at places, ways, questions for tools, and what no rule understands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from leadhand.domain.days import When

from .arguments import Match
from .clauses import Clause

WEATHER_TOOL = "weather_tool"
DIRECTIONS_TOOL = "directions_tool"
MOST_LOOKUPS = 2_000
"""More look-ups than this in one request are not planned, and the plan says so."""


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
        new = [day for day in days if day not in self.days]
        if days and self._undated < len(self.entries) and (trailing or not places):
            undated = [place for place, _ in self.entries[self._undated :]]
            del self.entries[self._undated :]
            self._append(undated, days)
        elif days and not places and self._group:  # "Paris today, and tomorrow"
            self._append(self._group, new)
            self.days = [*self.days, *new][-9:]
            return
        if days and self.days and not self.entries:
            days = [*self.days, *new]
        elif days and self.days and places:
            self._group = []
        self.days = days or self.days
        self._group += places
        self._append(places, self.days or [None])

    def _append(self, places: Iterable[str], days: Iterable[When | None]) -> None:
        for entry in ((place, day) for place in places for day in days):
            if len(self.entries) <= MOST_LOOKUPS and entry not in self._known:
                self._known.add(entry)
                self.entries.append(entry)
                self._undated += entry[1] is not None


@dataclass
class Way:
    """Ways from each start to each goal. Names with only commas between them are one name: "10 High St, Oxford"."""

    starts: list[str] = field(default_factory=list[str])
    goals: list[str] = field(default_factory=list[str])
    mode: str = ""
    listed: set[str] = field(default_factory=set[str])  # "starts" or "goals": an "and" lists them

    def ends(self, side: str) -> list[str]:
        """The starts or the goals, each a place."""
        names = self.starts if side == "starts" else self.goals
        return names if side in self.listed or len(names) < 2 else [", ".join(names)]


@dataclass
class Ask:
    """One thing asked for, in ``source[begin:end]``.

    ``kind`` is ``weather``, ``route``, ``tool`` or ``other``: what no rule understands, for the ``reason`` if it is
    known. ``left`` are words that say more than the rules understand. ``fallback`` are the places spoken of before.
    """

    kind: str
    begin: int
    end: int
    sentence: int
    clauses: list[Clause]
    match: Match | None = None
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
        days = self.visits.days or self.fallback_days or [None]
        return self.visits.entries or [(place, day) for place in self.fallback for day in days]

    def travel_by(self, mode: str) -> None:
        """Set the means for the ways so far that name none."""
        for way in self.ways[self._moded :]:
            way.mode = way.mode or mode
        self._moded = len(self.ways)

    def walk(self, places: list[tuple[str, str]], *, separator: str, onwards: bool, mode: str) -> None:
        """Take the ends of ways that one clause names, in its order, each with the word before it."""
        reached = False
        for link, name in places:
            way = self.ways[-1] if self.ways else None
            match link:
                case "from" if way is not None and reached and not way.starts:
                    way.starts.append(name)  # "to Lyon from Paris"
                case "from" if way is None or way.goals:
                    self.ways.append(Way([name], mode=mode))
                case "to" if way is not None and way.goals and (reached or onwards):
                    self.ways.append(Way([way.goals[-1]], [name], mode=mode))
                    reached = True
                case _ if way is None:
                    self.ways.append(Way(goals=[name], mode=mode))
                    reached = link == "to"
                case _:
                    starts = link == "from" or (not link and bool(way.starts) and not way.goals)
                    (way.starts if starts else way.goals).append(name)
                    if separator == "and":
                        way.listed.add("starts" if starts else "goals")
                    reached = reached or not starts
