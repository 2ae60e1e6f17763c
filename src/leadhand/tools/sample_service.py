"""A substitute for the public services, in this process: the same paths and shapes, with labelled sample data.

Towns and sights are real (GeoNames and our own list); the weather is computed by a formula, a route is a straight line.
Every reply has the header :data:`~leadhand.tools.replies.SAMPLE_HEADER`, so that the tools label the data.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import NamedTuple
from urllib.parse import urlsplit

from leadhand.core.value import Json
from leadhand.ports import WebReply

from .gazetteer import known_at, sights_named, towns_beginning, towns_named
from .geography import Place, bearing, compass_point, distance_km, is_said_of
from .replies import SAMPLE_HEADER

_SPEEDS = {"auto": ("driving", 50), "bicycle": ("cycling", 15), "pedestrian": ("walking", 5)}
"""km/h assumed along the straight line, by Valhalla's costing."""

_KINDS = {
    "airport": "aerodrome",
    "museum": "museum",
    "railway station": "station",
    "station": "station",
    "train station": "station",
}
"""Words that people add to the name of a sight, and the kind that they stand for."""

_ISLANDS = (
    "AG AI AS AU AW AX BB BL BM BQ BS CC CK CU CV CW CX CY DM FJ FK FM FO GD GG GL GP GU ID IM IS JE JM JP KI KM KN KY "
    "LC LK MF MG MH MP MQ MS MT MU MV NC NF NR NU NZ PF PG PH PM PR PW RE SB SC SH SJ ST SX TC TL TO TT TV TW VC VG VI "
    "VU WF WS YT"
)
_ISLAND_REGIONS: dict[str, str | None] = {
    **dict.fromkeys(
        ("ES Balearic Islands", "ES Canary Islands", "FR Corsica", "IT Sardinia", "IT Sicily", "US Hawaii")
    ),
    **dict.fromkeys(("AU Tasmania", "PT Azores", "PT Madeira", "SE Gotland", "KR Jeju", "CN Hainan", "JP Okinawa")),
    **dict.fromkeys(("IE", "GB Northern Ireland"), "Ireland"),
    **dict.fromkeys(("HT", "DO"), "Hispaniola"),
    **dict.fromkeys(
        (f"NZ {name}" for name in ("Canterbury", "Otago", "Southland", "Marlborough", "Nelson")), "South Island"
    ),
    **dict.fromkeys(("AR", "BO", "BR", "CL", "CO", "EC", "GF", "GY", "PE", "PY", "SR", "UY", "VE"), "South America"),
}
"""Countries and regions without a land connection to the rest of their continent, by the land that they are part of.
Great Britain is not among them (the Channel Tunnel carries cars); no road leads from Panama to Colombia."""

_DRY = (0, 1, 2, 3, 45)
_WET = (51, 61, 61, 63, 80, 81, 95)
_FROZEN = (71, 71, 73, 85)

Params = Mapping[str, str | int | float]


class SampleWeb:
    """:class:`~leadhand.ports.Web` without a network. The same question has the same answer on the day of ``now``."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        """``now`` tells the time in UTC, with a zone; weather and its dates start there."""
        self._now = now

    async def get(self, service: str, url: str, params: Params) -> WebReply:
        """Answers Open-Meteo's geocoding and forecast and Nominatim's search; anything else with 404."""
        path = urlsplit(url).path
        match service, path.rsplit("/", 2)[1:]:
            case "open-meteo-geocoding", ["v1", "search"]:
                return _reply(_geocoding(str(params["name"]), int(params.get("count", 10))))
            case "open-meteo", ["v1", "forecast"]:
                return self._forecast(params)
            case "nominatim", [*_, "search"]:
                return _reply(_nominatim(str(params["q"]), int(params.get("limit", 10))))
            case _:
                return _reply({"error": f"the sample service does not support {path}"}, status=404)

    async def post(self, service: str, url: str, body: Json) -> WebReply:
        """Answers Valhalla's route; anything else with 404."""
        path = urlsplit(url).path
        if service == "valhalla" and path.endswith("/route"):
            return _valhalla(body)
        return _reply({"error": f"the sample service does not support {path}"}, status=404)

    def _forecast(self, params: Params) -> WebReply:
        latitude, longitude = float(params["latitude"]), float(params["longitude"])
        count = int(params.get("forecast_days", 7))
        if abs(latitude) > 90 or abs(longitude) > 180 or not 0 < count <= 16:
            return _reply({"error": True, "reason": "latitude, longitude or forecast_days is out of range"}, status=400)
        zone_name, zone = _zone(latitude, longitude)
        local = self._now().astimezone(zone)
        days = [local.date() + timedelta(days=ahead) for ahead in range(count)]
        weather = [sample_day(latitude, longitude, day) for day in days]
        degrees, speed, depth = _scales(params)
        # The difference between solar time and clock time.
        lag = ((local.utcoffset() or timedelta()).total_seconds() / 3600) - longitude / 15

        def clock(day_number: int, hour: float) -> str:
            minutes = round(max(0.0, min(24 - 1 / 60, hour + lag)) * 60)
            return f"{days[day_number].isoformat()}T{minutes // 60:02}:{minutes % 60:02}"

        now, wind = weather[0].temperature_at(local.hour + local.minute / 60), weather[0].wind_speed_max * 0.6
        current: dict[str, tuple[str, Json]] = {
            "time": ("iso8601", local.replace(minute=local.minute // 15 * 15).strftime("%Y-%m-%dT%H:%M")),
            "interval": ("seconds", 900),
            "temperature_2m": (degrees.unit, degrees.of(now)),
            "apparent_temperature": (degrees.unit, degrees.of(now - wind / 10)),
            "relative_humidity_2m": ("%", 45 + weather[0].precipitation_probability // 2),
            "precipitation": (depth.unit, depth.of(round(weather[0].precipitation / 12, 1))),
            "weather_code": ("wmo code", weather[0].weather_code),
            "wind_speed_10m": (speed.unit, speed.of(wind)),
        }
        daily: dict[str, tuple[str, Json]] = {
            "time": ("iso8601", [day.isoformat() for day in days]),
            "weather_code": ("wmo code", [day.weather_code for day in weather]),
            "temperature_2m_max": (degrees.unit, [degrees.of(day.temperature_max) for day in weather]),
            "temperature_2m_min": (degrees.unit, [degrees.of(day.temperature_min) for day in weather]),
            "precipitation_sum": (depth.unit, [depth.of(day.precipitation) for day in weather]),
            "precipitation_probability_max": ("%", [day.precipitation_probability for day in weather]),
            "wind_speed_10m_max": (speed.unit, [speed.of(day.wind_speed_max) for day in weather]),
            "sunrise": ("iso8601", [clock(number, day.sunrise) for number, day in enumerate(weather)]),
            "sunset": ("iso8601", [clock(number, day.sunset) for number, day in enumerate(weather)]),
        }
        return _reply(
            {
                "latitude": latitude,
                "longitude": longitude,
                "generationtime_ms": 0.0,
                "utc_offset_seconds": int((local.utcoffset() or timedelta()).total_seconds()),
                "timezone": zone_name,
                "timezone_abbreviation": local.tzname() or zone_name,
                "elevation": 0.0,
                "current_units": {name: unit for name, (unit, _) in current.items()},
                "current": {name: value for name, (_, value) in current.items()},
                "daily_units": {name: unit for name, (unit, _) in daily.items()},
                "daily": {name: values for name, (_, values) in daily.items()},
            }
        )


def _reply(body: Json, status: int = 200) -> WebReply:
    return WebReply(status=status, body=body, headers={SAMPLE_HEADER: "true"})


def _geocoding(name: str, count: int) -> Json:
    towns = towns_named(name)
    if not towns and len(name) >= 3:  # as in the service, two letters must match exactly, three may be a prefix
        towns = towns_beginning(name)
    results = [
        {
            "id": number,
            "name": town.name,
            "latitude": town.latitude,
            "longitude": town.longitude,
            "elevation": 0.0,
            "feature_code": town.kind,
            "country_code": town.country_code,
            "timezone": town.timezone,
            "population": town.population,
            "country": town.country,
            **({"admin1": town.region} if town.region else {}),
        }
        for number, town in enumerate(towns[:count], 1)
    ]
    return {"results": results, "generationtime_ms": 0.0} if results else {"generationtime_ms": 0.0}


def _nominatim(query: str, limit: int) -> Json:
    hits = sorted(_free_form(query), key=lambda place: -_importance(place))[:limit]
    return [
        {
            "place_id": number,
            "licence": "Leadhand sample data; towns: GeoNames (CC BY 4.0)",
            "lat": f"{place.latitude:.4f}",
            "lon": f"{place.longitude:.4f}",
            "category": "place" if place.kind == "PPL" else "tourism",
            "type": "city" if place.kind == "PPL" else place.kind,
            "importance": _importance(place),
            "name": place.name,
            "display_name": place.label,
            "address": {
                "city": place.city or place.name,
                **({"state": place.region} if place.region else {}),
                "country": place.country,
                "country_code": place.country_code.lower(),
            },
        }
        for number, place in enumerate(hits, 1)
    ]


def _importance(place: Place) -> float:
    """Nominatim's scale, set so that five times the people make a tenth of a point: Paris 0.9, Paris in Texas 0.63."""
    if place.importance is not None:
        return place.importance
    return round(min(1.0, 0.1 / math.log10(5) * math.log10(max(1, place.population or 0))), 4)


def _free_form(query: str) -> list[Place]:
    """Towns and sights for ``Louvre``, ``Louvre, Paris`` or ``Louvre Paris``."""
    name, *qualifiers = [part.strip() for part in query.split(",")]
    hits = _said(name, qualifiers)
    words = name.split()
    for split in range(len(words) - 1, 0, -1):
        if hits:
            break
        hits = _said(" ".join(words[:split]), [" ".join(words[split:]), *qualifiers])
    return hits


def _said(name: str, qualifiers: list[str]) -> list[Place]:
    return [
        place
        for place in (*towns_named(name), *sights_named(name))
        if all(is_said_of(word, place) or _KINDS.get(word.lower()) == place.kind for word in qualifiers)
    ]


def _valhalla(body: Json) -> WebReply:
    start, end = (Place(name="", latitude=at["lat"], longitude=at["lon"]) for at in body["locations"])
    if len({_land(known) for at in (start, end) if (known := known_at(at.latitude, at.longitude)) is not None}) > 1:
        return _reply(
            {"error_code": 442, "error": "no land connects them, and the sample service knows no ferries"}, 400
        )
    doing, speed = _SPEEDS[body["costing"]]
    distance, towards = distance_km(start, end), bearing(start, end)
    line = (
        f"Sample data: straight line of {distance:.1f} km towards the {compass_point(towards)} "
        f"(bearing {towards:.0f}°); this is not a road route, and its time assumes {doing} at {speed} km/h"
    )
    summary = {"length": round(distance, 3), "time": round(distance / speed * 3600, 1)}
    maneuver = {"type": 1, "instruction": line, **summary}
    trip: Json = {
        "trip": {
            "status": 0,
            "status_message": "Sample data, not a road route",
            "units": "kilometers",
            "language": "en-US",
            "summary": {**summary, "has_toll": False, "has_ferry": False},
            "legs": [{"summary": summary, "maneuvers": [maneuver]}],
        }
    }
    return _reply(trip)


def _land(place: Place) -> str:
    """Return the island or continent of a place; groups of islands count as one."""
    code = place.country_code
    for name in (f"{code} {place.region}", code):
        if name in _ISLAND_REGIONS or name in _ISLANDS.split():
            return _ISLAND_REGIONS.get(name) or name
    return "North America" if place.longitude < -30 else "Africa, Asia and Europe"


def _zone(latitude: float, longitude: float) -> tuple[str, tzinfo]:
    """Return the time zone of a known town; elsewhere, or without zone data, the nearest whole hour by longitude."""
    known = known_at(latitude, longitude)
    if known is not None and (name := known.timezone):
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            return name, ZoneInfo(name)
        except ZoneInfoNotFoundError:
            pass
    hours = round(longitude / 15)
    # Etc/GMT-1 is an hour *ahead* of Greenwich: POSIX counts westwards.
    return ("Etc/GMT" if not hours else f"Etc/GMT{-hours:+d}"), timezone(timedelta(hours=hours)) if hours else UTC


@dataclass(frozen=True, slots=True)
class _Scale:
    """A unit, and how a metric value is written in it."""

    unit: str
    of: Callable[[float], float]


def _scales(params: Params) -> tuple[_Scale, _Scale, _Scale]:
    """Return the conversion of °C, km/h and mm to the requested units."""
    degrees = _Scale("°C", lambda celsius: round(celsius, 1))
    speed = _Scale("km/h", lambda kmh: round(kmh, 1))
    depth = _Scale("mm", lambda mm: mm)
    if params.get("temperature_unit") == "fahrenheit":
        degrees = _Scale("°F", lambda celsius: round(celsius * 9 / 5 + 32, 1))
    if params.get("wind_speed_unit") == "mph":
        speed = _Scale("mp/h", lambda kmh: round(kmh / 1.609344, 1))
    if params.get("precipitation_unit") == "inch":
        depth = _Scale("inch", lambda mm: round(mm / 25.4, 3))
    return degrees, speed, depth


# --- weather -----------------------------------------------------------------------------------------------------


class SampleDay(NamedTuple):
    """One made-up day: WMO weather code, °C, mm, percent, km/h; sunrise and sunset in hours of solar time."""

    weather_code: int
    temperature_max: float
    temperature_min: float
    precipitation: float
    precipitation_probability: int
    wind_speed_max: float
    sunrise: float
    sunset: float

    def temperature_at(self, hour: float) -> float:
        """°C at an hour of the local day (0 to 24): lowest at 5, highest at 15."""
        warmth = (1 - math.cos(math.pi * _share_of_rise(hour))) / 2
        return self.temperature_min + warmth * (self.temperature_max - self.temperature_min)


def sample_day(latitude: float, longitude: float, day: date) -> SampleDay:
    """The made-up weather of a day at a point (degrees)."""
    luck = _luck(f"{latitude:.2f},{longitude:.2f},{day.isoformat()}")
    year_day = day.timetuple().tm_yday
    season = math.cos(2 * math.pi * (year_day - (201 if latitude >= 0 else 18)) / 365)
    mean = 40 * math.cos(math.radians(latitude)) - 12 + min(0.18 * abs(latitude), 15) * season
    mean += 6 * (luck[0] - 0.5)
    spread = 5 + 5 * luck[1]
    chance = round(100 * luck[2])
    wet = chance > 55
    codes = _DRY if not wet else _FROZEN if mean < 0 else _WET
    sunrise, sunset = _sun(latitude, year_day)
    return SampleDay(
        weather_code=codes[int(luck[3] * len(codes))],
        temperature_max=round(mean + spread / 2, 1),
        temperature_min=round(mean - spread / 2, 1),
        precipitation=round(0.1 + 8 * luck[3], 1) if wet else 0.0,
        precipitation_probability=chance,
        wind_speed_max=round(8 + 24 * luck[1] * luck[2], 1),
        sunrise=sunrise,
        sunset=sunset,
    )


def _share_of_rise(hour: float) -> float:
    """0 at five in the morning, 1 at three in the afternoon, back to 0 at five the next morning."""
    since = (hour - 5) % 24
    return since / 10 if since <= 10 else (24 - since) / 14


def _luck(seed: str) -> tuple[float, float, float, float]:
    """Return four numbers from 0 to below 1 that depend only on the seed (``hash`` differs between processes)."""
    first, second = zlib.crc32(seed.encode()), zlib.crc32(seed[::-1].encode())
    return tuple(part / 65536 for half in (first, second) for part in (half >> 16, half & 65535))  # pyright: ignore[reportReturnType]


def _sun(latitude: float, year_day: int) -> tuple[float, float]:
    """Sunrise and sunset in hours of solar time, by the sunrise equation; 0 and 24 where the sun does not set."""
    declination = math.radians(-23.44 * math.cos(2 * math.pi * (year_day + 10) / 365))
    cosine = -math.tan(math.radians(max(-89.9, min(89.9, latitude)))) * math.tan(declination)
    half_day = math.degrees(math.acos(max(-1.0, min(1.0, cosine)))) / 15
    return 12 - half_day, 12 + half_day
