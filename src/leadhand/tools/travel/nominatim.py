"""Look up names and addresses with Nominatim (nominatim.org/release-docs/latest/api/Search)."""

from pydantic import AliasChoices, ConfigDict, Field, TypeAdapter

from leadhand.ports import ToolContext
from leadhand.tools.replies import Lenient, answered, typed
from leadhand.tools.services import base_url

from .places import Place

LIMIT = 5
"""The number of results to request: enough to see that a name is ambiguous."""


class _Address(Lenient):
    house_number: str = ""
    road: str = ""
    city: str = Field(default="", validation_alias=AliasChoices("city", "town", "village", "hamlet", "municipality"))
    state: str = ""
    country: str = ""


class _Hit(Lenient):
    lat: float  # a string on the wire
    lon: float
    name: str | None = None
    display_name: str = ""
    importance: float | None = None
    boundingbox: tuple[float, float, float, float] = (0, 0, 0, 0)  # south, north, west, east
    address: _Address = _Address()


_HITS = TypeAdapter(list[_Hit], config=ConfigDict(defer_build=True))


async def ask(context: ToolContext, text: str) -> list[Place]:
    """Return places for a name or an address in free form, best first. Raises ``ToolError``, classified by cause."""
    params = {"q": text, "format": "jsonv2", "limit": LIMIT, "addressdetails": 1, "accept-language": "en"}
    reply = await context.web.get("nominatim", f"{base_url('nominatim')}/search", params)
    hits = typed(_HITS.validate_python, "nominatim", answered("nominatim", reply, context.now(), "error"))
    return [
        Place(
            name=hit.name
            or f"{hit.address.house_number} {hit.address.road}".strip()
            or hit.display_name.partition(",")[0],
            latitude=hit.lat,
            longitude=hit.lon,
            city=hit.address.city,
            region=hit.address.state,
            country=hit.address.country,
            importance=hit.importance or 0.0,
            extent=hit.boundingbox[1] - hit.boundingbox[0],
        )
        for hit in hits
    ]
