"""Places as geocoders return them, ways to travel, names folded for comparison, coordinates and distances."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from leadhand.core.errors import ToolError
from leadhand.core.value import Json

Mode = Literal["drive", "walk", "bicycle"]
"""How people get from one place to another."""

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth (IUGG, R1), in kilometres."""

_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i", "ħ": "h", "ß": "ss"}
)
"""Letters that Unicode does not decompose into a base letter and an accent."""

_SILENT = re.compile("[.'`´’‘ʻʼʹ]")  # noqa: RUF001  (the look-alikes are the point)
_NOT_A_WORD = re.compile(r"[\W_]+")
_COORDINATES = re.compile(
    r"(?:(?P<name>[^()]*)\()?\s*(?P<lat>[+-]?\d+(?:\.\d+)?)\s*,\s*(?P<lon>[+-]?\d+(?:\.\d+)?)\s*\)?", re.ASCII
)
_POINTS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")

_ARTICLE_BELONGS = frozenset({"bahamas", "bronx", "dalles", "gambia", "hague", "valley", "villages", "woodlands"})
"""Names that keep their "The"."""

_STATES = {
    "US": "al alabama,ak alaska,az arizona,ar arkansas,ca california,co colorado,ct connecticut,de delaware,"
    "dc district of columbia,fl florida,ga georgia,hi hawaii,id idaho,il illinois,in indiana,ia iowa,ks kansas,"
    "ky kentucky,la louisiana,me maine,md maryland,ma massachusetts,mi michigan,mn minnesota,ms mississippi,"
    "mo missouri,mt montana,ne nebraska,nv nevada,nh new hampshire,nj new jersey,nm new mexico,ny new york,"
    "nc north carolina,nd north dakota,oh ohio,ok oklahoma,or oregon,pa pennsylvania,pr puerto rico,ri rhode island,"
    "sc south carolina,sd south dakota,tn tennessee,tx texas,ut utah,vt vermont,va virginia,wa washington,"
    "wv west virginia,wi wisconsin,wy wyoming",
    "CA": "ab alberta,bc british columbia,mb manitoba,nb new brunswick,nl newfoundland and labrador,ns nova scotia,"
    "nt northwest territories,nu nunavut,on ontario,pe prince edward island,qc quebec,sk saskatchewan,yt yukon",
    "AU": "act australian capital territory,nsw new south wales,nt northern territory,qld queensland,"
    "sa south australia,tas tasmania,vic victoria,wa western australia",
}
"""Postal abbreviations of states and provinces, as people write them after a comma."""

_COUNTRIES = {
    "america": "US",
    "usa": "US",
    "united states of america": "US",
    "britain": "GB",
    "great britain": "GB",
    "uk": "GB",
    "czech republic": "CZ",
    "holland": "NL",
    "the netherlands": "NL",
    "korea": "KR",
    "turkey": "TR",
    "uae": "AE",
}
"""Country names that geocoders spell otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place as a geocoder knows it.

    ``latitude`` and ``longitude`` are degrees (WGS 84). ``region`` is the first-level division (state, province),
    ``areas`` the divisions below it. ``population`` counts inhabitants; ``importance`` is Nominatim's, 0 to 1; None is
    unknown. ``kind`` is the geocoder's own word for what it is (``PPLC``, ``aerodrome``). With ``from_openstreetmap``,
    its contributors must be credited; ``sample`` is true for a place of the sample service.
    """

    name: str
    latitude: float
    longitude: float
    city: str = ""
    region: str = ""
    areas: tuple[str, ...] = ()
    country: str = ""
    country_code: str = ""
    timezone: str = ""
    population: int | None = None
    importance: float | None = None
    kind: str = ""
    from_openstreetmap: bool = False
    sample: bool = False

    @property
    def label(self) -> str:
        """The name with its region and country: ``Springfield, Illinois, United States``; it can be looked up again."""
        parts: list[str] = []
        known: set[str] = set()
        for part in (self.name, self.city, self.region, self.country):
            folded = fold(part)
            if folded and folded not in known:
                known.add(folded)
                parts.append(part)
        return ", ".join(parts)

    @property
    def exact_label(self) -> str:
        """The label with the coordinates, for places that share a label; it can be looked up again."""
        return f"{self.label} ({self.latitude:.4f},{self.longitude:.4f})"

    def to_json(self) -> dict[str, Json]:
        """``{name, admin1, country, latitude, longitude, timezone?}``; coordinates in degrees."""
        described: dict[str, Json] = {"name": self.name}
        if self.city and self.city != self.name:
            described["city"] = self.city
        described |= {"admin1": self.region or None, "country": self.country or None}
        described |= {"latitude": self.latitude, "longitude": self.longitude}
        if self.timezone:
            described["timezone"] = self.timezone
        return described


def fold(text: str) -> str:
    """``text`` without case, accents and punctuation, words one space apart: ``Île-de-France`` is ``ile de france``.

    Dots and apostrophes are removed (``D.C.`` is ``dc``); other punctuation separates words. Folding is idempotent.
    """
    if not text.isascii():
        # Casefolding can undo a decomposition and vice versa, so each is applied again.
        text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
        text = "".join(letter for letter in text if not unicodedata.combining(letter)).translate(_LETTERS)
    return " ".join(_NOT_A_WORD.sub(" ", _SILENT.sub("", text).lower()).split())


def without_article(name: str) -> str:
    """``the Louvre`` is ``Louvre``, but ``The Hague`` stays what it is."""
    first, _, rest = name.strip().partition(" ")
    if first.lower() != "the" or not rest.strip():
        return name.strip()
    words = fold(rest).split()
    return name.strip() if words and words[0] in _ARTICLE_BELONGS else rest.strip()


def is_said_of(qualifier: str, place: Place) -> bool:
    """Whether the place lies in what ``qualifier`` names: a country, state, county or city, or an abbreviation of one.

    Case, accents and punctuation are ignored. ``CA`` matches both California and Canada.
    """
    word = fold(qualifier)
    code = place.country_code.upper()
    if word in (code.lower(), fold(place.country)) or _COUNTRIES.get(word) == code != "":
        return True
    region = fold(place.region)
    return word in (region, fold(place.city), *map(fold, place.areas)) or f"{word} {region}" in _STATES.get(
        code, ""
    ).split(",")


def parse_coordinates(text: str) -> tuple[float, float] | None:
    """Latitude and longitude in degrees from ``48.8606,2.3376`` or ``Louvre (48.8606,2.3376)``; None if it is neither.

    Raises ``ToolError`` (``invalid``) if they are out of range.
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
    return latitude, longitude


def place_at(text: str) -> Place | None:
    """Return the place at some coordinates, named by them or by the name before them; None if ``text`` has none."""
    coordinates = parse_coordinates(text)
    if coordinates is None:
        return None
    latitude, longitude = coordinates
    name = text.partition("(")[0].strip() if "(" in text else ""
    return Place(name=name or f"{latitude:g}, {longitude:g}", latitude=latitude, longitude=longitude)


def distance_km(a: Place, b: Place) -> float:
    """Great-circle distance in kilometres, by the haversine formula (error up to 0.5 %: the Earth is not a sphere)."""
    lat_a, lat_b = math.radians(a.latitude), math.radians(b.latitude)
    half_lat, half_lon = (lat_b - lat_a) / 2, math.radians(b.longitude - a.longitude) / 2
    chord = math.sin(half_lat) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin(half_lon) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, chord)))


def bearing(a: Place, b: Place) -> float:
    """Initial bearing of the great circle from ``a`` to ``b``: degrees clockwise from true north, 0 to below 360."""
    lat_a, lat_b = math.radians(a.latitude), math.radians(b.latitude)
    turn = math.radians(b.longitude - a.longitude)
    east = math.sin(turn) * math.cos(lat_b)
    north = math.cos(lat_a) * math.sin(lat_b) - math.sin(lat_a) * math.cos(lat_b) * math.cos(turn)
    degrees = math.degrees(math.atan2(east, north)) % 360
    return 0.0 if degrees >= 360 else degrees  # a tiny negative angle rounds up to 360 itself


def compass_point(degrees: float) -> str:
    """The nearest of the eight points of the compass, in words: 176 is ``south``."""
    return _POINTS[round(degrees / 45) % 8]
