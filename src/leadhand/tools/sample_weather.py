"""Makes up weather for trying the product out: plausible for latitude and season, the same whenever it is asked.

Nothing here is a forecast, a climate record or an average of one.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from datetime import date

_DRY = (0, 1, 2, 3, 45)
_WET = (51, 61, 61, 63, 80, 81, 95)
_FROZEN = (71, 71, 73, 85)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDay:
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
    """Four numbers from 0 to below 1 that depend on the seed alone (``hash`` differs from process to process)."""
    first, second = zlib.crc32(seed.encode()), zlib.crc32(seed[::-1].encode())
    return tuple(part / 65536 for half in (first, second) for part in (half >> 16, half & 65535))  # pyright: ignore[reportReturnType]


def _sun(latitude: float, year_day: int) -> tuple[float, float]:
    """Sunrise and sunset in hours of solar time, by the sunrise equation; 0 and 24 where the sun does not set."""
    declination = math.radians(-23.44 * math.cos(2 * math.pi * (year_day + 10) / 365))
    cosine = -math.tan(math.radians(max(-89.9, min(89.9, latitude)))) * math.tan(declination)
    half_day = math.degrees(math.acos(max(-1.0, min(1.0, cosine)))) / 15
    return 12 - half_day, 12 + half_day
