"""Find a route with Valhalla (valhalla.github.io/valhalla/api/turn-by-turn/api-reference)."""

from leadhand.core.errors import ToolError
from leadhand.core.value import Json, object_of
from leadhand.ports import ToolContext
from leadhand.tools.replies import Lenient, answered, text_of, typed
from leadhand.tools.services import base_url

from .places import Mode, Place

_COSTING: dict[Mode, str] = {"drive": "auto", "walk": "pedestrian", "bicycle": "bicycle"}

_TOO_FAR = 154
_NO_ROUTE = (170, 171, 441, 442)


class Maneuver(Lenient):
    """One instruction; ``length`` is in kilometres, ``time`` in seconds."""

    instruction: str
    length: float = 0.0
    time: float = 0.0
    street_names: tuple[str, ...] = ()


class Leg(Lenient):
    """A part of a route. One between two places has one."""

    maneuvers: tuple[Maneuver, ...]


class Summary(Lenient):
    """The whole route: kilometres, and seconds without current traffic."""

    length: float
    time: float
    has_toll: bool = False
    has_ferry: bool = False


class Trip(Lenient):
    """A route."""

    summary: Summary
    legs: tuple[Leg, ...]


class _Reply(Lenient):
    trip: Trip


async def ask(context: ToolContext, origin: Place, destination: Place, mode: Mode) -> Trip:
    """Return the route. Raises ``ToolError``: ``no_route``, ``too_far``, and others, classified by cause."""
    body: Json = {
        "locations": [{"lat": end.latitude, "lon": end.longitude} for end in (origin, destination)],
        "costing": _COSTING[mode],
        "units": "kilometers",
        "language": "en-US",
        "directions_type": "instructions",
    }
    reply = await context.web.post("valhalla", f"{base_url('valhalla')}/route", body)
    code, reason = object_of(reply.body).get("error_code"), text_of(reply.body, "error")
    doing = "cycle" if mode == "bicycle" else mode
    if code == _TOO_FAR:
        how = "choose places closer to each other, or another mode"
        raise ToolError(f"the distance is too long to {doing}: {reason}", type="too_far", next_action=how)
    if code in _NO_ROUTE:
        how = "choose another mode, or check that both places are correct"
        what = f"no route found to {doing} from one place to the other: {reason}"
        raise ToolError(what, type="no_route", next_action=how)
    return typed(_Reply.model_validate, "valhalla", answered("valhalla", reply, context.now(), "error")).trip
