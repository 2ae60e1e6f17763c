"""What the weather codes of the World Meteorological Organization mean, in words."""

from __future__ import annotations

CONDITIONS: dict[int, str] = {
    0: "clear sky",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "fog with rime",
    51: "light drizzle",
    53: "drizzle",
    55: "dense drizzle",
    56: "light freezing drizzle",
    57: "freezing drizzle",
    61: "light rain",
    63: "rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "freezing rain",
    71: "light snowfall",
    73: "snowfall",
    75: "heavy snowfall",
    77: "snow grains",
    80: "light rain showers",
    81: "rain showers",
    82: "violent rain showers",
    85: "light snow showers",
    86: "heavy snow showers",
    95: "thunderstorm",
    96: "thunderstorm with light hail",
    99: "thunderstorm with heavy hail",
}
"""WMO code table 4677, the part of it that Open-Meteo gives (open-meteo.com/en/docs, "WMO Weather interpretation")."""


def condition(code: int | None) -> str | None:
    """The condition in words; ``weather code 42`` for an unknown code, None for None."""
    return None if code is None else CONDITIONS.get(code, f"weather code {code}")
