"""Sample data for runs without a network: the weather is computed by a formula, a route is a straight line."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from random import Random

from .open_meteo import CONDITIONS, FORECAST_DAYS, Day, Forecast, Now
from .places import Mode, Place, Route, RouteStep, distance_km

_KM_H: dict[Mode, float] = {"drive": 50, "bicycle": 15, "walk": 5}
"""The speed assumed along the straight line."""

_DRY = (0, 1, 2, 3, 45)
_WET = (51, 61, 61, 63, 80, 81, 95)
_FROZEN = (71, 71, 73, 85)
"""WMO codes of the weather, by how often they are chosen."""


def forecast(place: Place, now: datetime) -> Forecast:
    """Return made-up weather at a place, the same all day; its clock is that of the sun, in whole hours.

    ``now`` is the time in UTC, with a zone.
    """
    hours = round(place.longitude / 15)
    local = now.astimezone(timezone(timedelta(hours=hours)))
    days = tuple(day_at(place, local.date() + timedelta(days=ahead)) for ahead in range(FORECAST_DAYS))
    today = days[0]
    low, high, wind = (value or 0.0 for value in (today.temperature_min, today.temperature_max, today.wind_speed_max))
    warmest_at = 15
    warmth = (1 + math.cos(2 * math.pi * (local.hour - warmest_at) / 24)) / 2
    current = Now(
        time=f"{local:%Y-%m-%dT%H:%M}",
        condition=today.condition,
        temperature=round(low + warmth * (high - low), 1),
        relative_humidity=45 + (today.precipitation_probability or 0) // 2,
        precipitation=round((today.precipitation or 0) / 12, 1),
        wind_speed=round(wind * 0.6, 1),
    )
    return Forecast(timezone=f"UTC{hours:+d}", now=current, days=days)


def day_at(place: Place, day: date) -> Day:
    """Return the made-up weather of a day: warmer near the equator and in summer, and never the same for long."""
    luck = Random(f"{place.latitude:.2f},{place.longitude:.2f},{day}")
    warmest_day = 201 if place.latitude >= 0 else 18
    season = math.cos(2 * math.pi * (day.timetuple().tm_yday - warmest_day) / 365)
    mean = 40 * math.cos(math.radians(place.latitude)) - 12 + min(0.18 * abs(place.latitude), 15) * season
    mean += luck.uniform(-3, 3)
    spread = luck.uniform(2.5, 5)
    chance = luck.randint(0, 100)
    wet = chance > 55
    return Day(
        date=day,
        condition=CONDITIONS[luck.choice(_DRY if not wet else _FROZEN if mean < 0 else _WET)],
        temperature_max=round(mean + spread, 1),
        temperature_min=round(mean - spread, 1),
        precipitation=round(luck.uniform(0.1, 8), 1) if wet else 0.0,
        precipitation_probability=chance,
        wind_speed_max=round(luck.uniform(8, 30), 1),
    )


def route(origin: Place, destination: Place, mode: Mode) -> Route:
    """Return the straight line between two places as a route."""
    km = distance_km(origin, destination)
    seconds = km / _KM_H[mode] * 3600
    return Route(km, seconds, [RouteStep("Straight line (sample data, not a road)", km, seconds)])
