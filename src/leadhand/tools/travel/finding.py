"""How a text becomes one place: by Nominatim (nominatim.org/release-docs/latest/api/Search), or offline by our data."""

from typing import Any

from leadhand.core.errors import ToolError
from leadhand.core.value import object_of, text_of
from leadhand.ports import ToolContext
from leadhand.tools.services import answered, base_url

from .places import Place, distance_km, place_at

SIMILAR_IMPORTANCE = 0.1
"""Places whose importance differs by less may both be meant."""

FAR_APART_KM = 50.0
"""Results within this distance are treated as one place: a city and its centre, an airport and its station."""

LIMIT = 5
"""The number of results to request from Nominatim: enough to see that a name is ambiguous."""

LARGE_DEGREES = 3.0
"""From this extent on (330 km), a country has no single weather; Luxembourg and Singapore are smaller."""


async def find_place(context: ToolContext, text: str) -> tuple[Place, str]:
    """Return the place that a text names, and a sentence on how it was chosen ("" if there was no choice).

    A text is a name, an address, a label, or coordinates: ``48.8606,2.3376`` or ``Louvre (48.8606,2.3376)``. Of several
    places with a name, the best known is chosen. Raises ``ToolError``: ``unknown_place``, ``place_too_large``,
    ``bad_coordinates``, and what the geocoder raises.
    """
    if (place := place_at(text)) is not None:
        return place, ""
    if context.offline:
        from .gazetteer import search

        found = search(text)
    else:
        params = {"q": text, "format": "jsonv2", "limit": LIMIT, "addressdetails": 1, "accept-language": "en"}
        reply = await context.web.get("nominatim", f"{base_url('nominatim')}/search", params)
        found = answered("nominatim", reply, lambda hits: [_place(object_of(hit)) for hit in hits], "error")
    ranked = sorted(found, key=lambda place: -place.importance)
    if not ranked:
        known = "offline, only towns above 15,000 people and well-known sights are known; " if context.offline else ""
        raise ToolError(
            f"no place named {text!r} was found",
            type="unknown_place",
            next_action=known
            + 'check the spelling, add the country ("Lyon, France"), or use coordinates ("45.7640,4.8357")',
        )
    best = ranked[0]
    if best.name == best.country and best.extent > LARGE_DEGREES:
        raise ToolError(
            f"{text!r} is a whole country", type="place_too_large", next_action=f"name a town in {best.name}"
        )
    for other in ranked[1:]:
        if other.importance > best.importance - SIMILAR_IMPORTANCE and distance_km(best, other) > FAR_APART_KM:
            spot = f" ({other.latitude:.4f},{other.longitude:.4f})" if other.label == best.label else ""
            return best, f"“{text}” was taken as the best-known place of that name (next: {other.label}{spot})."
    return best, ""


def _place(hit: dict[str, Any]) -> Place:
    """Return a result of Nominatim as a place. Raises LookupError, TypeError or ValueError if it has none."""
    address = {kind: text_of(name) for kind, name in object_of(hit.get("address")).items()}
    cities = (address.get(kind) for kind in ("city", "town", "village", "hamlet", "municipality"))
    street = f"{address.get('house_number', '')} {address.get('road', '')}".strip()
    south, north, *_ = hit.get("boundingbox") or (0, 0)
    return Place(
        name=text_of(hit.get("name")) or street or text_of(hit.get("display_name")).partition(",")[0],
        latitude=float(hit["lat"]),
        longitude=float(hit["lon"]),
        city=next(filter(None, cities), ""),
        region=address.get("state", ""),
        country=address.get("country", ""),
        importance=float(hit.get("importance") or 0),
        extent=float(north) - float(south),
    )
