"""Geocode names and addresses with OpenStreetMap: Nominatim, or Photon if that is unavailable.

Protocols: nominatim.org/release-docs/latest/api/Search and github.com/komoot/photon/blob/master/docs/api-v1.md.
"""

from pydantic import ConfigDict, Field, TypeAdapter

from leadhand.ports import ToolContext

from .geography import Place
from .replies import Lenient, failure, is_sample, text_of, typed
from .services import ServiceUrls

LIMIT = 5
"""The number of results to request: enough to see that a name is ambiguous."""

_SETTLEMENTS = ("city", "town", "village", "hamlet", "municipality")


class _NominatimHit(Lenient):
    lat: float  # a string on the wire
    lon: float
    name: str | None = None
    display_name: str = ""
    type: str = ""
    importance: float | None = None
    address: dict[str, str] = {}


_NOMINATIM_HITS = TypeAdapter(list[_NominatimHit], config=ConfigDict(defer_build=True))


class _PhotonProperties(Lenient):
    name: str = ""
    housenumber: str = ""
    street: str = ""
    city: str = ""
    state: str = ""
    country: str = ""
    countrycode: str = ""
    osm_value: str = ""


class _PhotonGeometry(Lenient):
    coordinates: tuple[float, float]  # longitude first


class _PhotonFeature(Lenient):
    geometry: _PhotonGeometry
    properties: _PhotonProperties = Field(default_factory=_PhotonProperties)


class _PhotonFeatures(Lenient):
    features: tuple[_PhotonFeature, ...]


async def ask_nominatim(context: ToolContext, urls: ServiceUrls, query: str) -> list[Place]:
    """Places for a name or an address in free form, most important first. Raises ``ToolError``, classified by cause."""
    params = {"q": query, "format": "jsonv2", "limit": LIMIT, "addressdetails": 1, "accept-language": "en"}
    reply = await context.web.get("nominatim", f"{urls.nominatim}/search", params)
    if not 200 <= reply.status < 300:
        raise failure("nominatim", reply, context.now(), text_of(reply.body, "error"))
    hits = typed(_NOMINATIM_HITS.validate_python, "nominatim", reply)
    return [_from_nominatim(hit, sample=is_sample(reply)) for hit in hits]


async def ask_photon(context: ToolContext, urls: ServiceUrls, query: str) -> list[Place]:
    """Return the places from Photon, best first, without importance. Raises ``ToolError``, classified by cause."""
    params = {"q": query, "lang": "en", "limit": LIMIT}
    reply = await context.web.get("photon", f"{urls.photon}/api/", params)
    if not 200 <= reply.status < 300:
        raise failure("photon", reply, context.now(), text_of(reply.body, "message"))
    found = typed(_PhotonFeatures.model_validate, "photon", reply)
    return [_from_photon(feature) for feature in found.features]


def _from_nominatim(hit: _NominatimHit, *, sample: bool) -> Place:
    address = hit.address
    street = " ".join(part for part in (address.get("house_number"), address.get("road")) if part)
    first_line = hit.display_name.partition(",")[0]
    return Place(
        name=hit.name or street or first_line,
        latitude=hit.lat,
        longitude=hit.lon,
        city=next((address[kind] for kind in _SETTLEMENTS if kind in address), ""),
        region=address.get("state", ""),
        country=address.get("country", ""),
        country_code=address.get("country_code", "").upper(),
        importance=hit.importance,
        kind=hit.type,
        from_openstreetmap=True,
        sample=sample,
    )


def _from_photon(feature: _PhotonFeature) -> Place:
    said = feature.properties
    longitude, latitude = feature.geometry.coordinates
    return Place(
        name=said.name or " ".join(part for part in (said.housenumber, said.street) if part) or said.city,
        latitude=latitude,
        longitude=longitude,
        city=said.city,
        region=said.state,
        country=said.country,
        country_code=said.countrycode.upper(),
        kind=said.osm_value,
        from_openstreetmap=True,
    )
