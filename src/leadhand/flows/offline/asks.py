"""What a request can ask for: the weather at places, routes, calls of tools, and anything that no rule understands."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice, product, takewhile

from leadhand.domain.days import When

from .arguments import Match
from .clauses import Clause

MOST_LOOKUPS = 2_000
"""Maximum look-ups that are planned for one request; the plan names the rest as a gap."""
_MOST_DAYS = 31


@dataclass
class Group:
    """Places, and the days for each of them."""

    places: list[str]
    days: list[When]


@dataclass
class Way:
    """Routes from each start to each goal. Names separated only by commas are one name: "10 High St, Oxford"."""

    starts: list[str] = field(default_factory=list[str])
    goals: list[str] = field(default_factory=list[str])
    mode: str = ""
    listed: set[str] = field(default_factory=set[str])  # "starts" or "goals": an "and" lists them

    def ends(self, side: str) -> list[str]:
        """Return the starts or the goals."""
        names = self.starts if side == "starts" else self.goals
        return names if side in self.listed or len(names) < 2 else [", ".join(names)]


@dataclass
class Ask:
    """One thing that ``clauses`` ask for.

    ``kind`` is ``weather``, ``route``, ``tool`` or, for anything that no rule understands, ``other``, with the
    ``reason`` if it is known. ``fallback`` are the places and days mentioned before, for an ask without a place.
    """

    kind: str
    clauses: list[Clause]
    match: Match | None = None
    reason: str = ""
    groups: list[Group] = field(default_factory=list[Group])
    fallback: Group = field(default_factory=lambda: Group([], []))
    ways: list[Way] = field(default_factory=list[Way])
    start_at: str = ""
    transport: str = ""

    def visit(self, places: list[str], days: list[When], *, trailing: bool) -> None:
        """Add the phrases of a clause. ``trailing``: the day follows the place, so it applies to earlier places too."""
        group = self.groups[-1] if self.groups else None
        if group is None or (places and days and group.places and (group.days or not trailing)):
            self.groups.append(Group(places, days))
        else:
            group.places += places
            group.days += [day for day in days if day not in group.days][: _MOST_DAYS - len(group.days)]

    def entries(self) -> list[tuple[str, When | None]]:
        """Return the pairs of places and days, without duplicates."""
        before, groups = self.fallback, self.groups or [self.fallback]
        if not groups[0].places:
            groups = [Group(before.places, groups[0].days or before.days)]
        pairs = (pair for group in groups for pair in product(group.places, group.days or [None]))
        return list(dict.fromkeys(islice(pairs, 4 * MOST_LOOKUPS)))[: MOST_LOOKUPS + 1]

    def travel_by(self, mode: str) -> None:
        """Set the means of transport for the latest routes that have none."""
        for way in takewhile(lambda way: not way.mode, reversed(self.ways)):
            way.mode = mode

    def walk(self, places: list[tuple[str, str]], *, separator: str, onwards: bool, mode: str) -> None:
        """Add the ends of routes that a clause names, in order, each with the word before it."""
        reached = False
        for link, name in places:
            if not self.ways or (link == "from" and self.ways[-1].goals and (self.ways[-1].starts or not reached)):
                self.ways.append(Way(mode=mode))
            elif link == "to" and self.ways[-1].goals and (reached or onwards):
                self.ways.append(Way([self.ways[-1].goals[-1]], mode=mode))
            way = self.ways[-1]
            starts = link == "from" or (not link and bool(way.starts) and not way.goals)
            (way.starts if starts else way.goals).append(name)
            if separator == "and":
                way.listed.add("starts" if starts else "goals")
            reached = reached or not starts
