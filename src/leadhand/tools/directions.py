"""The directions tool: routes between two places, from OpenStreetMap's routers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from leadhand.core.errors import ToolError
from leadhand.core.tool import Source, ToolReturn
from leadhand.core.value import Json
from leadhand.ports import ToolContext

from .geography import Mode, distance_km, fold
from .places import Found, resolve_ends
from .services import OPEN_STREET_MAP, ServiceUrls

if TYPE_CHECKING:
    from .routers import Route

MAX_STEPS = 60
"""The most steps of a route in an answer."""

SAME_PLACE_KM = 0.02

SAMPLE = Source(
    title="Leadhand sample data: great-circle distance, not a road route; places: GeoNames (CC BY 4.0)",
    url="https://www.geonames.org/",
)
FIX_THE_MAP = Source(title="Report an error in the map", url="https://www.openstreetmap.org/fixthemap")
"""Required by FOSSGIS, which runs the public routers."""

_UNITS = {"distance_km": "km", "duration_min": "min", "latitude": "°", "longitude": "°"}
_VERB: dict[Mode, str] = {"drive": "Drive", "walk": "Walk", "bicycle": "Cycle"}


Origin = Annotated[
    str,
    Field(
        description="Where from: a sight, station, address or town, or coordinates; add the city when you know it.\n"
        'Examples: "Gare du Nord, Paris", "10 Downing Street, London", "48.8606,2.3376".'
    ),
]
Destination = Annotated[str, Field(description='Where to, in the same ways. Example: "Louvre, Paris".')]


async def directions_tool(
    origin: Origin,
    destination: Destination,
    mode: Annotated[Mode, Field(description='"drive", "walk" or "bicycle".')] = "drive",
    *,
    context: ToolContext,
) -> ToolReturn:
    """Route between two places: distance, duration and steps."""
    from .routers import find_route  # every run knows this tool, and few call it

    if fold(origin) == fold(destination):
        raise _same_place(origin)
    urls = ServiceUrls.from_environment()
    start, end = await resolve_ends(context, urls, origin, destination)
    if distance_km(start.place, end.place) < SAME_PLACE_KM:
        raise _same_place(start.place.label)
    route = await find_route(context, urls, start.place, end.place, mode)
    sample = route.sample or start.place.sample or end.place.sample
    steps = route.steps
    if len(steps) > MAX_STEPS:
        steps = (*steps[: MAX_STEPS - 1], steps[-1])  # always with the arrival
    raw: dict[str, Json] = {
        "origin": start.place.to_json(),
        "destination": end.place.to_json(),
        "mode": mode,
        "distance_km": _km(route.distance_km),
        "duration_min": round(route.duration_min, 1),
        "steps": [
            {
                "instruction": step.instruction,
                "distance_km": _km(step.distance_km),
                "duration_min": round(step.duration_min, 1),
            }
            for step in steps
        ],
        "steps_left_out": len(route.steps) - len(steps),
        "toll": route.toll,
        "ferry": route.ferry,
        "units": _UNITS,
    }
    summary = _summary(start, end, mode, route, sample=sample)
    sources = OPEN_STREET_MAP, route.router, *((FIX_THE_MAP,) if "openstreetmap.de" in route.router.url else ())
    return ToolReturn(raw=raw, summary=summary, sources=(SAMPLE,) if sample else sources, sample=sample)


def _same_place(name: str) -> ToolError:
    return ToolError(
        f"origin and destination are the same place: {name}", type="same_place", next_action="name two different places"
    )


def _km(distance: float) -> float:
    return round(distance, 3 if distance < 1 else 1)


def _summary(start: Found, end: Found, mode: Mode, route: Route, *, sample: bool) -> str:
    notes = [note for note in (start.note, end.note) if note]
    if sample:
        # The only step of the sample service describes the line.
        steps = "; ".join(step.instruction for step in route.steps)
        estimate = f"about {_clock(route.duration_min)}, an estimate along that line"
        return " ".join([f"{steps}. From {start.place.label} to {end.place.label} it would be {estimate}.", *notes])
    facts = f"{_VERB[mode]} from {start.place.label} to {end.place.label}: {_km(route.distance_km):g} km"
    facts += f", about {_clock(route.duration_min)}" + (" without traffic" if mode == "drive" else "")
    roads = _main_roads(route)
    facts += f", mainly along {_listed(roads)}." if roads else "."
    extras = [word for word, there in (("toll roads", route.toll), ("a ferry", route.ferry)) if there]
    if extras:
        facts += f" It includes {_listed(extras)}."
    if len(route.steps) > 1:
        first, second = (step.instruction for step in route.steps[:2])
        facts += f" First: {first}, then {second[:1].lower()}{second[1:]}."
    return " ".join([facts, *notes])


def _main_roads(route: Route) -> list[str]:
    """Return at most three roads with at least a tenth of the distance each, in the order of the route."""
    lengths: dict[str, float] = {}
    for step in route.steps:
        if step.road:
            lengths[step.road] = lengths.get(step.road, 0.0) + step.distance_km
    longest = sorted(lengths, key=lambda road: -lengths[road])[:3]
    return [road for road in lengths if road in longest and lengths[road] >= route.distance_km / 10]


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _clock(minutes: float) -> str:
    """``35 min``, ``4 h 5 min``."""
    hours, rest = divmod(max(1, round(minutes)), 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"
