"""Find a route with Valhalla, which writes instructions, or with OSRM if Valhalla is unavailable.

Protocols: valhalla.github.io/valhalla/api/turn-by-turn/api-reference and project-osrm.org/docs/v5.24.0/api.
"""

from __future__ import annotations

from dataclasses import dataclass

from leadhand.core.errors import ToolError
from leadhand.core.tool import Source
from leadhand.core.value import Json, object_of
from leadhand.ports import ToolContext, WebReply

from .geography import Mode, Place
from .replies import Lenient, bad_body, failure, first_answer, is_sample, text_of, typed
from .services import ServiceUrls

_COSTING: dict[Mode, str] = {"drive": "auto", "walk": "pedestrian", "bicycle": "bicycle"}

_REFUSED: dict[Json, str] = {
    154: "too_far",
    "TooBig": "too_far",
    **dict.fromkeys((170, 171, 441, 442, "NoRoute", "NoSegment"), "no_route"),
}
"""The codes of Valhalla and OSRM for a question without an answer, by the type of our error."""

_PHRASES = {
    "depart": "Start{on}",
    "arrive": "Arrive at the destination{at_side}",
    "new name": "Continue{onto}",
    "notification": "Continue{onto}",
    "use lane": "Continue{onto}",
    "merge": "Merge{side}{onto}",
    "on ramp": "Take the ramp{on_side}{onto}",
    "ramp": "Take the ramp{on_side}{onto}",
    "off ramp": "Take the exit{on_side}{onto}",
    "fork": "Keep {fork} at the fork{onto}",
    "roundabout": "At the roundabout take {exit}{onto}",
    "rotary": "At the roundabout take {exit}{onto}",
    "exit roundabout": "Leave the roundabout{onto}",
    "exit rotary": "Leave the roundabout{onto}",
    "roundabout turn": "At the roundabout {turn}{onto}",
    "end of road": "At the end of the road {turn}{onto}",
}
"""OSRM's maneuver types ("StepManeuver object" in its docs/http.md); others are turns, as its protocol requires."""

_TURNS = {"": "Go straight on", "straight": "Go straight on", "uturn": "Make a U-turn"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction, its length in kilometres and minutes, and the name of its road (may be empty)."""

    instruction: str
    distance_km: float
    duration_min: float
    road: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route; the duration is typical and does not consider current traffic."""

    distance_km: float
    duration_min: float
    steps: tuple[Step, ...]
    toll: bool = False
    ferry: bool = False
    router: Source
    sample: bool = False


class _Maneuver(Lenient):
    instruction: str
    length: float = 0.0
    time: float = 0.0
    street_names: tuple[str, ...] = ()


class _Leg(Lenient):
    maneuvers: tuple[_Maneuver, ...]


class _Summary(Lenient):
    length: float
    time: float
    has_toll: bool = False
    has_ferry: bool = False


class _Trip(Lenient):
    summary: _Summary
    legs: tuple[_Leg, ...]


class _ValhallaReply(Lenient):
    trip: _Trip


class _OsrmManeuver(Lenient):
    type: str = "turn"
    modifier: str = ""
    exit: int | None = None


class _OsrmStep(Lenient):
    distance: float
    duration: float
    name: str = ""
    ref: str = ""
    mode: str = ""
    maneuver: _OsrmManeuver


class _OsrmLeg(Lenient):
    steps: tuple[_OsrmStep, ...]


class _OsrmRoute(Lenient):
    distance: float
    duration: float
    legs: tuple[_OsrmLeg, ...]


class _OsrmReply(Lenient):
    code: str
    routes: tuple[_OsrmRoute, ...] = ()


async def find_route(context: ToolContext, urls: ServiceUrls, origin: Place, destination: Place, mode: Mode) -> Route:
    """Return the route of the first router that works. Raises ``ToolError`` (``no_route``, ``too_far``, …)."""
    return await first_answer(
        lambda: ask_valhalla(context, urls, origin, destination, mode),
        lambda: ask_osrm(context, urls, origin, destination, mode),
    )


async def ask_valhalla(context: ToolContext, urls: ServiceUrls, origin: Place, destination: Place, mode: Mode) -> Route:
    """The route by Valhalla. Raises as :func:`find_route` does."""
    body: Json = {
        "locations": [{"lat": end.latitude, "lon": end.longitude} for end in (origin, destination)],
        "costing": _COSTING[mode],
        "units": "kilometers",
        "language": "en-US",
        "directions_type": "instructions",
    }
    reply = await context.web.post("valhalla", f"{urls.valhalla}/route", body)
    if not 200 <= reply.status < 300:
        code, reason = object_of(reply.body).get("error_code"), text_of(reply.body, "error")
        raise _error("valhalla", context, reply, mode, code, reason)
    trip = typed(_ValhallaReply.model_validate, "valhalla", reply).trip
    return Route(
        distance_km=trip.summary.length,
        duration_min=trip.summary.time / 60,
        steps=tuple(
            Step(
                instruction=maneuver.instruction.rstrip("."),
                distance_km=maneuver.length,
                duration_min=maneuver.time / 60,
                road=maneuver.street_names[0] if maneuver.street_names else "",
            )
            for leg in trip.legs
            for maneuver in leg.maneuvers
        ),
        toll=trip.summary.has_toll,
        ferry=trip.summary.has_ferry,
        router=_credit("Valhalla", urls.valhalla, public="https://valhalla1.openstreetmap.de"),
        sample=is_sample(reply),
    )


async def ask_osrm(context: ToolContext, urls: ServiceUrls, origin: Place, destination: Place, mode: Mode) -> Route:
    """The route by OSRM. Raises as :func:`find_route` does."""
    base = {"drive": urls.osrm, "walk": urls.osrm_foot, "bicycle": urls.osrm_bicycle}[mode]
    ends = ";".join(f"{end.longitude:.6f},{end.latitude:.6f}" for end in (origin, destination))
    # Each server has one profile and ignores the one in the path.
    params = {"overview": "false", "steps": "true", "alternatives": "false"}
    reply = await context.web.get("osrm", f"{base}/route/v1/driving/{ends}", params)
    code = text_of(reply.body, "code")
    if not 200 <= reply.status < 300 or code not in ("Ok", ""):
        raise _error("osrm", context, reply, mode, code, text_of(reply.body, "message") or code)
    found = typed(_OsrmReply.model_validate, "osrm", reply)
    if not found.routes:
        raise bad_body("osrm", reply)
    route = found.routes[0]
    return Route(
        distance_km=route.distance / 1000,
        duration_min=route.duration / 60,
        steps=tuple(_osrm_step(step) for leg in route.legs for step in leg.steps),
        ferry=any(step.mode == "ferry" for leg in route.legs for step in leg.steps),
        router=_credit("OSRM", base, public="https://routing.openstreetmap.de"),
        sample=is_sample(reply),
    )


def _osrm_step(step: _OsrmStep) -> Step:
    road = " / ".join(part for part in (step.name, step.ref) if part)
    return Step(
        instruction=phrase(step.maneuver.type, step.maneuver.modifier, road=road, leave_by=step.maneuver.exit),
        distance_km=step.distance / 1000,
        duration_min=step.duration / 60,
        road=step.name or step.ref,
    )


def phrase(kind: str, modifier: str = "", *, road: str = "", leave_by: int | None = None) -> str:
    """Return one maneuver as an instruction, without a full stop: ``Turn slightly left onto Rue de Rivoli``.

    ``kind`` and ``modifier`` are OSRM's codes, ``road`` is the next road, ``leave_by`` a roundabout's exit, from 1.
    """
    side = modifier.rpartition(" ")[2] if modifier.endswith(("left", "right")) else ""
    turn = _TURNS.get(modifier) or f"Turn {modifier.replace('slight ', 'slightly ').replace('sharp ', 'sharply ')}"
    number = _ORDINALS[leave_by - 1] if leave_by is not None and 1 <= leave_by <= len(_ORDINALS) else ""
    return _PHRASES.get(kind, "{first}{onto}").format(
        first=turn,
        on=f" on {road}" if road else "",
        onto=f" onto {road}" if road else "",
        side=f" {side}" if side else "",
        at_side=f", on the {side}" if side else "",
        on_side=f" on the {side}" if side else "",
        fork=side or "straight on",
        turn=turn.lower(),
        exit="the exit" if leave_by is None else f"the {number} exit" if number else f"exit {leave_by}",
    )


def _error(service: str, context: ToolContext, reply: WebReply, mode: Mode, code: Json, reason: str) -> ToolError:
    kind = _REFUSED.get(code) if isinstance(code, int | str) else None
    doing = "cycle" if mode == "bicycle" else mode
    if kind is None:
        return failure(service, reply, context.now(), reason)
    if kind == "too_far":
        said, action = "the distance is too long to {}", "choose places closer to each other, or another mode"
    else:
        said = "no route found to {} from one place to the other"
        action = "choose another mode, or check that both places are correct"
    return ToolError(f"{said.format(doing)}: {reason}", type=kind, next_action=action)


def _credit(router: str, base: str, *, public: str) -> Source:
    """The source of the route, which names the server that computed it."""
    host = base.partition("://")[2].partition("/")[0]
    by = " by FOSSGIS" if base.startswith(public) else f" at {host}"
    return Source(title=f"Route by {router}{by}", url=base)
