"""The directions tool: routes between two places, from OpenStreetMap's router, which is Valhalla
(valhalla.github.io/valhalla/api/turn-by-turn/api-reference)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from leadhand.core.errors import ToolError
from leadhand.core.tool import Source, ToolReturn
from leadhand.core.value import Json, object_of, text_of
from leadhand.ports import ToolContext
from leadhand.tools.services import OPEN_STREET_MAP, SERVICES, answered, base_url

from .finding import find_place
from .places import Mode, Place, Route, RouteStep, distance_km

MAX_STEPS = 60
"""The most steps of a route in an answer."""

SAME_PLACE_KM = 0.02

SAMPLE = Source(
    title="Leadhand sample data: great-circle distance, not a road route; places: GeoNames (CC BY 4.0)",
    url="https://www.geonames.org/",
)
FIX_THE_MAP = Source(title="Report an error in the map", url="https://www.openstreetmap.org/fixthemap")
"""Required by FOSSGIS, which runs the public router."""

_COSTING: dict[Mode, str] = {"drive": "auto", "walk": "pedestrian", "bicycle": "bicycle"}
_TOO_FAR, _NO_ROUTE = 154, (170, 171, 441, 442)
"""Codes of Valhalla's errors."""
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
    start, note = await find_place(context, origin)
    end, other_note = await find_place(context, destination)
    if distance_km(start, end) < SAME_PLACE_KM:
        raise ToolError(
            f"origin and destination are the same place: {start.label}",
            type="same_place",
            next_action="name two different places",
        )
    if context.offline:
        from .sample import route

        found = route(start, end, mode)
    else:
        found = await _route(context, start, end, mode)
    steps = found.steps
    if len(steps) > MAX_STEPS:
        steps = [*steps[: MAX_STEPS - 1], steps[-1]]  # always with the arrival
    raw: dict[str, Json] = {
        "origin": start.to_json(),
        "destination": end.to_json(),
        "mode": mode,
        "distance_km": _km(found.km),
        "duration_min": round(found.seconds / 60, 1),
        "steps": [
            {
                "instruction": step.instruction.rstrip("."),
                "distance_km": _km(step.km),
                "duration_min": round(step.seconds / 60, 1),
            }
            for step in steps
        ],
        "steps_left_out": len(found.steps) - len(steps),
        "toll": found.toll,
        "ferry": found.ferry,
        "units": _UNITS,
    }
    said = "Sample data, a straight line and not a road route: " if context.offline else ""
    said += f"{_VERB[mode]} from {start.label} to {end.label}: {_km(found.km):g} km, about {_clock(found.seconds)}"
    said += " without traffic" if mode == "drive" and not context.offline else ""
    roads = _main_roads(found.steps, found.km)
    said += f", mainly along {' and '.join(roads)}." if roads else "."
    said += " It includes toll roads." if found.toll else ""
    said += " It includes a ferry." if found.ferry else ""
    summary = " ".join(filter(None, [said, note, other_note]))
    return ToolReturn(raw=raw, summary=summary, sources=_sources(context), sample=context.offline)


async def _route(context: ToolContext, origin: Place, destination: Place, mode: Mode) -> Route:
    """Ask Valhalla. Raises ``ToolError``: ``no_route``, ``too_far``, and others, classified by cause."""
    body: Json = {
        "locations": [{"lat": end.latitude, "lon": end.longitude} for end in (origin, destination)],
        "costing": _COSTING[mode],
        "units": "kilometers",
        "language": "en-US",
        "directions_type": "instructions",
    }
    reply = await context.web.post("valhalla", f"{base_url('valhalla')}/route", body)
    error = object_of(reply.body)
    code, reason = error.get("error_code"), text_of(error.get("error"))[:300]
    doing = "cycle" if mode == "bicycle" else mode
    if code == _TOO_FAR:
        how = "choose places closer to each other, or another mode"
        raise ToolError(f"the distance is too long to {doing}: {reason}", type="too_far", next_action=how)
    if code in _NO_ROUTE:
        how = "choose another mode, or check that both places are correct"
        what = f"no route found to {doing} from one place to the other: {reason}"
        raise ToolError(what, type="no_route", next_action=how)
    return answered("valhalla", reply, _read_route, "error")


def _read_route(body: Any) -> Route:
    trip = body["trip"]
    maneuvers = [each for leg in trip["legs"] for each in leg["maneuvers"]]
    steps = [
        RouteStep(
            str(each["instruction"]),
            float(each.get("length", 0)),
            float(each.get("time", 0)),
            next(iter(each.get("street_names") or ()), ""),
        )
        for each in maneuvers
    ]
    whole = trip["summary"]
    toll, ferry = (whole.get(name) is True for name in ("has_toll", "has_ferry"))
    return Route(float(whole["length"]), float(whole["time"]), steps, toll, ferry)


def _sources(context: ToolContext) -> tuple[Source, ...]:
    if context.offline:
        return (SAMPLE,)
    url = base_url("valhalla")
    by = "FOSSGIS" if url == SERVICES["valhalla"].url else url.partition("://")[2]
    return OPEN_STREET_MAP, Source(title=f"Route by Valhalla, computed by {by}", url=url), FIX_THE_MAP


def _km(distance: float) -> float:
    return round(distance, 3 if distance < 1 else 1)


def _main_roads(steps: Sequence[RouteStep], km: float) -> list[str]:
    """Return the roads with at least a fifth of the distance each, in the order of the route."""
    lengths: dict[str, float] = {}
    for step in steps:
        lengths[step.road] = lengths.get(step.road, 0.0) + step.km
    return [road for road in lengths if road and lengths[road] >= km / 5]


def _clock(seconds: float) -> str:
    """``35 min``, ``4 h 5 min``."""
    hours, rest = divmod(max(1, round(seconds / 60)), 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"
