"""Places: their coordinates, labels and distances, and routes between them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from leadhand.core.errors import ToolError
from leadhand.core.value import Json

Mode = Literal["drive", "walk", "bicycle"]
"""How people get from one place to another."""

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth (IUGG, R1), in kilometres."""

_COORDINATES = re.compile(
    r"(?:(?P<name>[^()]*)\()?\s*(?P<lat>[+-]?\d+(?:\.\d+)?)\s*,\s*(?P<lon>[+-]?\d+(?:\.\d+)?)\s*\)?", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place as a geocoder knows it.

    ``latitude`` and ``longitude`` are degrees (WGS 84), ``extent`` is how many degrees it measures from north to south.
    ``region`` is the state or province. ``importance`` is Nominatim's, from 0 to 1.
    """

    name: str
    latitude: float
    longitude: float
    city: str = ""
    region: str = ""
    country: str = ""
    importance: float = 0.0
    extent: float = 0.0

    @property
    def label(self) -> str:
        """The name with its region and country: ``Springfield, Illinois, United States``; it can be looked up again."""
        parts: dict[str, str] = {}
        for part in (self.name, self.city, self.region, self.country):
            parts.setdefault(part.casefold(), part)
        return ", ".join(filter(None, parts.values()))

    def to_json(self) -> dict[str, Json]:
        """``{name, city?, admin1, country, latitude, longitude}``; coordinates in degrees."""
        city: dict[str, Json] = {"city": self.city} if self.city and self.city != self.name else {}
        where: dict[str, Json] = {"admin1": self.region or None, "country": self.country or None}
        return {"name": self.name, **city, **where, "latitude": self.latitude, "longitude": self.longitude}


class RouteStep(NamedTuple):
    """One instruction of a route, and the ``road`` that it follows, if any."""

    instruction: str
    km: float
    seconds: float
    road: str = ""


class Route(NamedTuple):
    """A route between two places. ``seconds`` are those without current traffic."""

    km: float
    seconds: float
    steps: list[RouteStep]
    toll: bool = False
    ferry: bool = False


def place_at(text: str) -> Place | None:
    """Return the place at some coordinates, named by them or by the name before them; None if ``text`` has none.

    Raises ``ToolError`` (``bad_coordinates``) if they are out of range.
    """
    found = _COORDINATES.fullmatch(text.strip())
    if found is None:
        return None
    latitude, longitude = float(found["lat"]), float(found["lon"])
    if abs(latitude) > 90 or abs(longitude) > 180:
        raise ToolError(
            f"{text.strip()!r} is out of range: latitude must be from -90 to 90 and longitude from -180 to 180",
            type="bad_coordinates",
            next_action="enter the coordinates as latitude,longitude in degrees, e.g. 48.8606,2.3376",
        )
    name = (found["name"] or "").strip() or f"{latitude:g}, {longitude:g}"
    return Place(name=name, latitude=latitude, longitude=longitude)


def distance_km(a: Place, b: Place) -> float:
    """Great-circle distance in kilometres, by the haversine formula (error up to 0.5 %: the Earth is not a sphere)."""
    lat_a, lat_b = math.radians(a.latitude), math.radians(b.latitude)
    half_lat, half_lon = (lat_b - lat_a) / 2, math.radians(b.longitude - a.longitude) / 2
    chord = math.sin(half_lat) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin(half_lon) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, chord)))
