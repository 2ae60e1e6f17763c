"""The directions tool: routes between two places, from OpenStreetMap's router."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from leadhand.core.errors import ToolError
from leadhand.core.tool import Source, ToolReturn
from leadhand.core.value import Json
from leadhand.ports import ToolContext
from leadhand.tools.services import OPEN_STREET_MAP, SERVICES, base_url

from .finding import find_place
from .places import Mode, distance_km

if TYPE_CHECKING:
    from .valhalla import Maneuver

MAX_STEPS = 60
"""The most steps of a route in an answer."""

SAME_PLACE_KM = 0.02

SAMPLE = Source(
    title="Leadhand sample data: great-circle distance, not a road route; places: GeoNames (CC BY 4.0)",
    url="https://www.geonames.org/",
)
FIX_THE_MAP = Source(title="Report an error in the map", url="https://www.openstreetmap.org/fixthemap")
"""Required by FOSSGIS, which runs the public router."""

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

        trip = route(start, end, mode)
    else:
        from .valhalla import ask  # every run knows this tool, and few call it

        trip = await ask(context, start, end, mode)
    all_steps = [step for leg in trip.legs for step in leg.maneuvers]
    steps = all_steps
    if len(steps) > MAX_STEPS:
        steps = [*steps[: MAX_STEPS - 1], steps[-1]]  # always with the arrival
    whole = trip.summary
    raw: dict[str, Json] = {
        "origin": start.to_json(),
        "destination": end.to_json(),
        "mode": mode,
        "distance_km": _km(whole.length),
        "duration_min": round(whole.time / 60, 1),
        "steps": [
            {
                "instruction": step.instruction.rstrip("."),
                "distance_km": _km(step.length),
                "duration_min": round(step.time / 60, 1),
            }
            for step in steps
        ],
        "steps_left_out": len(all_steps) - len(steps),
        "toll": whole.has_toll,
        "ferry": whole.has_ferry,
        "units": _UNITS,
    }
    said = "Sample data, a straight line and not a road route: " if context.offline else ""
    said += f"{_VERB[mode]} from {start.label} to {end.label}: {_km(whole.length):g} km, about {_clock(whole.time)}"
    said += " without traffic" if mode == "drive" and not context.offline else ""
    roads = _main_roads(all_steps, whole.length)
    said += f", mainly along {' and '.join(roads)}." if roads else "."
    said += " It includes toll roads." if whole.has_toll else ""
    said += " It includes a ferry." if whole.has_ferry else ""
    summary = " ".join(filter(None, [said, note, other_note]))
    return ToolReturn(raw=raw, summary=summary, sources=_sources(context), sample=context.offline)


def _sources(context: ToolContext) -> tuple[Source, ...]:
    if context.offline:
        return (SAMPLE,)
    url = base_url("valhalla")
    by = "FOSSGIS" if url == SERVICES["valhalla"].url else url.partition("://")[2]
    return OPEN_STREET_MAP, Source(title=f"Route by Valhalla, computed by {by}", url=url), FIX_THE_MAP


def _km(distance: float) -> float:
    return round(distance, 3 if distance < 1 else 1)


def _main_roads(steps: Sequence[Maneuver], length: float) -> list[str]:
    """Return the roads with at least a fifth of the distance each, in the order of the route."""
    lengths: dict[str, float] = {}
    for step in steps:
        for road in step.street_names[:1]:
            lengths[road] = lengths.get(road, 0.0) + step.length
    return [road for road in lengths if lengths[road] >= length / 5]


def _clock(seconds: float) -> str:
    """``35 min``, ``4 h 5 min``."""
    hours, rest = divmod(max(1, round(seconds / 60)), 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"
