"""Plans a request by rules: subtasks for the tools there are, and the rest named as out of reach."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from datetime import date
from typing import Any

from leadhand.models.json_values import object_of, objects_of

from . import vocabulary as words
from .arguments import Facts, fill, role_of
from .asks import MOST_LOOKUPS, Ask, Entry, RouteAsk, ToolAsk, WeatherAsk
from .days import When
from .items import items_of
from .matching import DIRECTIONS_TOOL, WEATHER_TOOL, Offer, Offers
from .tokens import tokenize
from .understanding import understand

_MOST_GAPS = 8
_NOTHING = "(an empty request)"
_HOW = (
    "the built-in offline model only understands English questions about weather and directions, and tools named in "
    "the request; set a model with --model for anything else"
)


def plan(brief: Mapping[str, Any], refused: str = "") -> dict[str, Any]:
    """The plan for a brief (``request``, ``today``, ``tools``), as JSON that fits ``Plan``.

    ``refused`` is what was said against an earlier plan: the subtasks it names are not planned again.
    """
    request = str(brief.get("request") or "")
    offers = Offers(objects_of(brief.get("tools")))
    understanding = understand(request, offers, _date(brief.get("today")))
    planner = _Planner(request, offers, understanding.units)
    for ask in understanding.asks:
        planner.take(ask)
    if not planner.subtasks and not planner.gaps:
        planner.gap(request, f"there is no question in it that a registered tool covers; {_HOW}")
    return _page({"goal": _short(request, 200) or _NOTHING, **planner.result(refused)}, object_of(brief.get("page")))


def _page(whole: dict[str, Any], page: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a plan that one page holds; what cannot be done is told on the first."""
    first, most = page.get("first_index", 0), page.get("most")
    if not isinstance(first, int) or not isinstance(most, int):
        return whole
    subtasks = whole["subtasks"]
    shown = {**whole, "subtasks": subtasks[first : first + most], "more": len(subtasks) > first + most}
    return {**shown, "cannot": []} if first else shown


class _Planner:
    """Turns asks into subtasks, each once, and remembers what cannot be done."""

    def __init__(self, request: str, offers: Offers, units: str) -> None:
        self.request = request
        self.offers = offers
        self.units = units
        self.subtasks: dict[str, dict[str, Any]] = {}
        self.gaps: dict[str, str] = {}
        self.hidden_gaps = 0
        self.too_many = False

    def take(self, ask: Ask) -> None:
        match ask:
            case WeatherAsk():
                self._weather(ask)
            case RouteAsk():
                self._routes(ask)
            case ToolAsk():
                self._tool(ask)
            case _:
                self.gap(self._words(ask), f"no registered tool covers it; {_HOW}")

    def gap(self, what: str, reason: str) -> None:
        what = _short(what, 300) or _NOTHING
        if what in self.gaps:
            return
        if len(self.gaps) >= _MOST_GAPS:
            self.hidden_gaps += 1
            return
        self.gaps[what] = _short(reason, 900)

    def _words(self, ask: Ask) -> str:
        return self.request[ask.begin : ask.end]

    def _weather(self, ask: WeatherAsk) -> None:
        offer = self.offers.by_name.get(WEATHER_TOOL)
        if offer is None:
            self.gap(self._words(ask), f"no registered tool tells the weather: this run has no {WEATHER_TOOL}")
            return
        entries = ask.settled()
        if not entries:
            self.gap(self._words(ask), "no place was named; say where, for example “weather in Paris tomorrow”")
            return
        said, places = self._said(ask), tuple(ask.places)
        if _takes_all_places(offer):
            entries = entries[:1]
        for entry in entries:
            when = entry.when or When("today")
            facts = said._replace(place=entry.place, places=places, day=when.day, days=when.days)
            label = _slug(entry.place) + (f"_{_slug(str(when))}" if entry.when else "")
            args = self._add(offer, facts, ("location", "day"), "check_weather", (_slug(entry.place), label), ask)
            if args is not None:
                self._check_when(ask, when, args)

    def _check_when(self, ask: WeatherAsk, when: When, args: dict[str, Any]) -> None:
        """Names what of a day or a stretch of days the tool could not be told."""
        if when.day not in ("now", "today") and when.day not in args.values():
            self.gap(f"{self._words(ask)} (for {when})", f"{WEATHER_TOOL} cannot be asked about a day")
        elif when.days > 1 and when.days not in args.values():
            self.gap(
                f"{self._words(ask)} (beyond the first day)",
                f"{WEATHER_TOOL} is asked about one day at a time; name the days, for example “on Friday and Saturday”",
            )

    def _said(self, ask: Ask) -> Facts:
        """What the words of an ask say for every call that comes of it."""
        words_said = self._words(ask).split()
        return Facts(
            text=" ".join(words_said),
            words=frozenset(word.strip(",.;:?!()\"'").casefold() for word in words_said),
            units=self.units,
        )

    def _routes(self, ask: RouteAsk) -> None:
        offer = self.offers.by_name.get(DIRECTIONS_TOOL)
        if offer is None:
            self.gap(self._words(ask), f"no registered tool gives directions: this run has no {DIRECTIONS_TOOL}")
            return
        if ask.waiting or not ask.legs:
            missing = "destination" if ask.waiting else "two places"
            self.gap(self._words(ask), f"no {missing} named; say “from … to …”")
        said = self._said(ask)
        for leg in ask.legs:
            origin = leg.origin or ask.start_at
            if not origin:
                self.gap(self._words(ask), "no starting point was named; say “from … to …”")
                continue
            mode = leg.mode or ("transit" if ask.other_transport else "drive")
            facts = said._replace(origin=origin, destination=leg.destination, mode=mode)
            if ask.other_transport and not leg.mode and not self._goes_by(offer, ask, facts):
                continue
            ends = f"{_slug(origin)}_{_slug(leg.destination)}"
            label = f"{ends}_{leg.mode}" if leg.mode else ends
            self._add(offer, facts, ("origin", "destination", "mode"), "get_directions", (ends, label), ask)

    def _goes_by(self, offer: Offer, ask: RouteAsk, facts: Facts) -> bool:
        """Whether the directions tool knows the means that was asked for; names the gap if not."""
        args, _ = fill(offer.parameters, facts, ())
        named = args.get("mode")
        # A tool that lists its modes knows what it takes; one that does not may take anything, which proves nothing.
        if named is not None and "enum" in json.dumps(object_of(offer.parameters.get("properties")).get("mode")):
            return True
        self.gap(
            self._words(ask),
            f"{DIRECTIONS_TOOL} knows ways by car, by bicycle and on foot, none by {ask.other_transport}",
        )
        return False

    def _tool(self, ask: ToolAsk) -> None:
        offer = ask.offer
        assert offer is not None, "an ask for a tool names it"
        said = self._words(ask)
        behind = self.request[ask.after : ask.end]
        behind = (behind.partition(":")[2] if ask.open else behind).strip(" \t\n:,.-–—\"'“”")
        # What is not only looked up is never guessed: a message to be sent has to be quoted.
        guess = ask.head not in words.OTHER_VERBS
        verb = ask.head if ask.head in words.LOOKUP_VERBS and ask.noun and ask.head != ask.noun else ""
        base = _slug(f"{verb} {ask.noun}") if verb else _slug(ask.noun or offer.name.removesuffix("_tool"))
        places = tuple(ask.places)
        entries = ask.settled()
        if _takes_all_places(offer) or not any(role_of(name) == "place" for name in _parameters(offer)):
            entries = entries[:1]
        known = self._said(ask)._replace(
            places=places,
            mode=ask.mode,
            origin=ask.origin,
            destination=ask.destination,
            quoted=_quoted(said),
            rest=_without_filler(behind) if guess else "",
            free=guess,
            numbers=_numbers(said),
        )
        items = items_of(said, behind, offer.parameters) if guess and not ask.open else []
        if isinstance(items, str):
            self.gap(said, items)
            return
        placed = any(role_of(name) in ("place", "places", "day") for name in _parameters(offer))
        for item in items:
            if item.left and not placed:
                self.gap(f"{item.text} {item.left}", f"{offer.name} has no parameter that “{item.left}” could go into")
        for entry in entries or [Entry("")]:
            when = entry.when or next(iter(ask.days), When(""))
            facts = known._replace(place=entry.place, day=when.day, days=when.days)
            for item in items or [None]:
                told = facts
                if item is not None:
                    told = facts._replace(quoted=item.text, named=item.named)
                label = _slug(f"{item.text if item is not None else ''} {'' if item and not placed else entry.place}")
                self._add(offer, told, (), base, (label, f"{label}_{_slug(str(when))}"), ask)

    def _add(
        self, offer: Offer, facts: Facts, defaults: tuple[str, ...], base: str, labels: tuple[str, str], ask: Ask
    ) -> dict[str, Any] | None:
        """Adds a subtask, and returns its arguments, if those that are required can be filled.

        ``labels`` tell it from others of its kind.
        """
        args, missing = fill(offer.parameters, facts, defaults)
        if missing:
            what = (
                "no place was named"
                if all(role_of(name) == "place" for name in missing)
                else "the request does not say it"
            )
            self.gap(
                self._words(ask), f"{offer.name} needs {', '.join(missing)}, and {what} in words known here; {_HOW}"
            )
            return None
        key = json.dumps([offer.name, args], sort_keys=True, ensure_ascii=False).casefold()
        if key in self.subtasks:
            return args
        if len(self.subtasks) >= MOST_LOOKUPS:
            self.too_many = True
            return args
        self.subtasks[key] = {"name": base, "tool": offer.name, "args": args, "labels": labels}
        return args

    def result(self, refused: str) -> dict[str, Any]:
        """``subtasks`` and ``cannot``; subtasks that ``refused`` names are moved to what cannot be done."""
        subtasks: list[dict[str, Any]] = []
        blamed = {token.low for token in tokenize(refused)}
        for subtask in _named(list(self.subtasks.values())):
            if subtask["name"] in blamed:
                self.gap(
                    f"{subtask['tool']} {json.dumps(subtask['args'], ensure_ascii=False)}", f"it was refused: {refused}"
                )
            else:
                subtasks.append(subtask)
        cannot = [{"what": what, "reason": reason} for what, reason in self.gaps.items()]
        if self.hidden_gaps:
            cannot.append(
                {
                    "what": f"{self.hidden_gaps} more parts of the request",
                    "reason": f"no registered tool covers them; {_HOW}",
                }
            )
        if self.too_many:
            cannot.append(
                {
                    "what": f"{self.too_many} more look-ups",
                    "reason": f"one request is planned up to {MOST_LOOKUPS} look-ups",
                }
            )
        return {"subtasks": subtasks, "cannot": cannot}


def _named(subtasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The subtasks with names of their own: plain for the only one of a kind, told apart by place, then by day."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for subtask in subtasks:
        kinds.setdefault(subtask["name"], []).append(subtask)
    for name, alike in kinds.items():
        if len(alike) == 1:
            continue
        by_place = len({subtask["labels"][0] for subtask in alike}) == len(alike)
        for subtask in alike:
            label = subtask["labels"][0 if by_place else 1].strip("_")
            subtask["name"] = f"{name}_{label}" if label else name
    taken: dict[str, int] = {}
    named: list[dict[str, Any]] = []
    for subtask in subtasks:
        name = subtask["name"]
        taken[name] = taken.get(name, 0) + 1
        own = name if taken[name] == 1 else f"{name}_{taken[name]}"
        named.append({"name": own, "tool": subtask["tool"], "args": subtask["args"]})
    return named


def _parameters(offer: Offer) -> list[str]:
    return list(object_of(offer.parameters.get("properties")))


def _takes_all_places(offer: Offer) -> bool:
    """Whether one call takes a list of places, and none takes a single one."""
    roles = {role_of(name) for name in _parameters(offer)}
    return "places" in roles and "place" not in roles


def _slug(name: str) -> str:
    """A name as part of an identifier: lower case, accents dropped, other letters kept; at most 60 characters."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "_".join("".join(c if c.isalnum() else " " for c in plain.casefold()).split())[:60].strip("_")


def _short(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters."""
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _quoted(text: str) -> str:
    """What stands between the first pair of quotation marks, or ""."""
    for opening, closing in (('"', '"'), ("“", "”"), ("`", "`")):
        start = text.find(opening)
        end = text.find(closing, start + 1) if start >= 0 else -1
        if end > start + 1:
            return text[start + 1 : end].strip()
    return ""


def _without_filler(text: str) -> str:
    """``text`` without the small words that lead to what it is about: "for AAPL" is "AAPL"."""
    parts = text.split()
    while parts and parts[0].casefold() in words.LEADS_TO_TOPIC:
        parts.pop(0)
    return " ".join(parts)


def _numbers(text: str) -> tuple[str, ...]:
    found = (part.strip(",.;:?!()").lstrip("+") for part in text.split())
    return tuple(part for part in found if part.isascii() and part.replace(".", "", 1).isdigit())


def _date(value: object) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
