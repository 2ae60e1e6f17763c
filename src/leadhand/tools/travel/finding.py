"""How a text becomes one place."""

from leadhand.core.errors import ToolError
from leadhand.ports import ToolContext

from .places import Place, distance_km, place_at

SIMILAR_IMPORTANCE = 0.1
"""Places whose importance differs by less may both be meant."""

FAR_APART_KM = 50.0
"""Results within this distance are treated as one place: a city and its centre, an airport and its station."""

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
        from .nominatim import ask  # a run without a network does not need it

        found = await ask(context, text)
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
