"""The weather in two towns, and how to get from one to the other."""

from __future__ import annotations

from datetime import date
from typing import Literal

from leadhand import Source, ToolReturn, tool

TODAY = date(2026, 11, 24)
WEATHER = {
    "paris": {
        "location": "Paris, Île-de-France, France",
        "temperature_max_c": 9.4,
        "temperature_min_c": 3.1,
        "precipitation_probability_pct": 70,
        "precipitation_mm": 4.2,
        "wind_kmh": 22,
        "conditions": "light rain",
        "sunrise": "08:17",
        "sunset": "17:01",
    },
    "lyon": {
        "location": "Lyon, Auvergne-Rhône-Alpes, France",
        "temperature_max_c": 12.8,
        "temperature_min_c": 4.6,
        "precipitation_probability_pct": 10,
        "precipitation_mm": 0.0,
        "wind_kmh": 8,
        "conditions": "mostly sunny",
        "sunrise": "07:54",
        "sunset": "17:01",
    },
}


@tool
def city_weather(location: str, day: date | None = None) -> dict:
    """Weather forecast of one day for a city.

    Args:
        location: City, such as "Paris, France".
        day: ISO date, such as 2026-11-25; default today.
    """
    for k, v in WEATHER.items():
        if k in location.lower():
            return {
                **v,
                "date": str(day or TODAY),
                "hourly": [
                    {
                        "hour": h,
                        "temp_c": round(
                            v["temperature_min_c"]
                            + (v["temperature_max_c"] - v["temperature_min_c"]) * max(0, 1 - abs(h - 14) / 12),
                            1,
                        ),
                    }
                    for h in range(0, 24, 3)
                ],
            }
    raise ValueError(f"no forecast for {location}")


@tool
def route(origin: str, destination: str, mode: Literal["car", "train", "foot"] = "car") -> ToolReturn:
    """Route between two places: distance, duration and steps.

    Args:
        origin: Where it starts, such as "Paris, France".
        destination: Where it ends.
        mode: How to travel.
    """
    raw = {
        "origin": origin,
        "destination": destination,
        "mode": mode,
        "distance_km": 465.3 if mode == "car" else 427.0,
        "duration_min": 281 if mode == "car" else 117,
        "toll_eur": 38.9 if mode == "car" else None,
        "steps": [
            {"road": "A6", "km": 441.0, "instruction": "Take the A6 towards Évry / Lyon"},
            {"road": "A46", "km": 9.8, "instruction": "Keep left onto the A46"},
            {"road": "M6", "km": 14.5, "instruction": "Exit at Limonest and follow the M6 into Lyon"},
        ]
        if mode == "car"
        else [
            {
                "train": "TGV INOUI 6607",
                "from": "Paris Gare de Lyon",
                "dep": "10:00",
                "to": "Lyon Part-Dieu",
                "arr": "11:57",
            }
        ],
    }
    return ToolReturn(raw=raw, sources=(Source(title="Example Routing", url="https://routing.example.org/r/1"),))
