"""The weather tool tells what Open-Meteo says, for the place and the day that were meant, with units and sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden import check_golden, joined

from leadhand.core.errors import FailureClass, ToolError
from leadhand.ports import ToolContext
from leadhand.tools.travel.weather import weather_tool

PARIS = {
    "lat": "48.8535",
    "lon": "2.3484",
    "name": "Paris",
    "importance": 0.89,
    "address": {"city": "Paris", "state": "Île-de-France", "country": "France", "country_code": "fr"},
}
DAYS = [f"2026-11-{day}" for day in range(21, 31)] + [f"2026-12-0{day}" for day in range(1, 7)]
CURRENT = {
    "time": "2026-11-21T10:30",
    "temperature_2m": 8.4,
    "apparent_temperature": 5.9,
    "relative_humidity_2m": 81,
    "precipitation": 0.0,
    "weather_code": 3,
    "wind_speed_10m": 13.2,
}
DAILY = {
    "time": DAYS,
    "weather_code": [61, 3, *[2] * 14],
    "temperature_2m_max": [11.3, 9.0, *[8.0] * 14],
    "temperature_2m_min": [6.1, 4.2, *[3.0] * 14],
    "precipitation_sum": [2.4, 0.0, *[0.0] * 14],
    "precipitation_probability_max": [70, 12, *[None] * 14],
    "wind_speed_10m_max": [21.6, 15.0, *[10.0] * 14],
    "sunrise": [f"{day}T08:14" for day in DAYS],
    "sunset": [f"{day}T17:01" for day in DAYS],
}
FORECAST: dict[str, Any] = {"latitude": 48.86, "timezone": "Europe/Paris", "current": CURRENT, "daily": DAILY}
"""A reply as api.open-meteo.com gives it: column arrays, coordinates snapped to its grid."""


@pytest.fixture
def paris(web: Any) -> Any:
    """Services that know Paris and its weather."""
    web.says("nominatim", [PARIS])
    web.says("open-meteo", FORECAST)
    return web


async def test_the_golden_file_keeps_what_the_summaries_say(
    paris: Any, context: ToolContext, sample: ToolContext
) -> None:
    paris.says("open-meteo", FORECAST)
    asked = ("", {}), ("now", {}), ("weekend", {}), ("monday", {"days": 3})
    told = [(day or "today", (await weather_tool("Paris", day=day, **more, context=context))) for day, more in asked]
    paris.script["open-meteo"] = []
    paris.says("open-meteo", {"daily": {"time": [DAYS[0]], "weather_code": [42]}})
    told.append(("unknown values", await weather_tool("Paris", context=context)))
    assert not any(found.sample for _, found in told)
    told.append(("sample data", await weather_tool("Lyon, France", day="tomorrow", context=sample)))
    texts = [(name, "\n".join([found.summary or "", *(each.title for each in found.sources)])) for name, found in told]
    check_golden(Path(__file__).parent / "golden" / "weather.txt", joined(texts))


async def test_the_raw_data_names_the_unit_of_every_number(paris: Any, context: ToolContext) -> None:
    raw = (await weather_tool("Paris, France", context=context)).raw
    assert raw["location"] == {
        "name": "Paris",
        "admin1": "Île-de-France",
        "country": "France",
        "latitude": 48.8535,
        "longitude": 2.3484,
        "timezone": "Europe/Paris",
    }
    assert raw["days"] == [
        {
            "date": "2026-11-21",
            "condition": "light rain",
            "temperature_max": 11.3,
            "temperature_min": 6.1,
            "precipitation": 2.4,
            "precipitation_probability": 70,
            "wind_speed_max": 21.6,
            "sunrise": "2026-11-21T08:14",
            "sunset": "2026-11-21T17:01",
        }
    ]
    assert raw["current"]["condition"] == "overcast"
    numbers = {name for part in (*raw["days"], raw["current"], raw["location"]) for name, value in part.items()
               if isinstance(value, int | float)}  # fmt: skip
    assert numbers <= raw["units"].keys()
    assert raw["units"]["wind_speed_max"] == "km/h"


async def test_every_day_of_a_place_is_answered_by_the_same_request(paris: Any, context: ToolContext) -> None:
    """... so that a kept reply answers all of them."""
    for day in ("now", "tomorrow", "2026-12-06"):
        await weather_tool("Paris", day=day, units="imperial", context=context)
    (url, params), *others = [(url, params) for service, url, params in paris.asked if service == "open-meteo"]
    assert others == [(url, params)] * 2
    assert url == "https://api.open-meteo.com/v1/forecast"
    assert (params["latitude"], params["longitude"], params["timezone"]) == (48.8535, 2.3484, "auto")
    assert {*params["daily"].split(","), "time"} == DAILY.keys()
    assert {*params["current"].split(","), "time"} == CURRENT.keys()


@pytest.mark.parametrize(("day", "days", "first", "last"), [("weekend", 1, 21, 22), ("monday", 3, 23, 25)])
async def test_a_stretch_of_days_starts_at_the_day(
    paris: Any, context: ToolContext, day: str, days: int, first: int, last: int
) -> None:
    found = await weather_tool("Paris", day=day, days=days, context=context)
    assert ("current" in found.raw) is (first == 21)
    assert [day["date"] for day in found.raw["days"]] == [f"2026-11-{day}" for day in range(first, last + 1)]


async def test_today_is_the_places_own_date(web: Any, context: ToolContext) -> None:
    """It is 09:30 UTC on the 21st; where the forecast starts on the 22nd, that is today."""
    web.says("nominatim", [{**PARIS, "name": "Kiritimati"}])
    web.says("open-meteo", {"daily": {"time": ["2026-11-22", "2026-11-23"]}})
    found = await weather_tool("Kiritimati", context=context)
    assert (found.raw["days"][0]["date"], found.raw["days"][0]["temperature_max"]) == ("2026-11-22", None)
    assert found.raw["units"]["temperature_max"] == "°C"


async def test_imperial_units_are_the_same_weather_in_other_numbers(paris: Any, context: ToolContext) -> None:
    found = await weather_tool("Paris", units="imperial", context=context)
    numbers = {"temperature_max": 52.3, "precipitation": 0.09, "wind_speed_max": 13.4, "precipitation_probability": 70}
    assert found.raw["days"][0] == found.raw["days"][0] | numbers
    named = {"temperature": "°F", "precipitation": "inch", "wind_speed": "mph"}
    assert found.raw["units"] == found.raw["units"] | named
    assert "52.3 °F" in (found.summary or "")


async def test_coordinates_need_no_geocoder(web: Any, context: ToolContext) -> None:
    web.says("open-meteo", FORECAST)
    found = await weather_tool("48.8606, 2.3376", context=context)
    assert web.services_asked() == ["open-meteo"]
    assert (found.raw["location"]["latitude"], found.raw["location"]["timezone"]) == (48.8606, "Europe/Paris")


@pytest.mark.parametrize(("day", "days"), [("2026-11-20", 1), ("2026-12-07", 1), ("tomorrow", 16)])
async def test_a_day_outside_the_forecast_says_how_far_it_reaches(
    paris: Any, context: ToolContext, day: str, days: int
) -> None:
    with pytest.raises(ToolError, match=r"2026-11-21 .*2026-12-06") as caught:
        await weather_tool("Paris", day=day, days=days, context=context)
    assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.INVALID, "day_out_of_range")


@pytest.mark.parametrize(
    ("asked", "type"),
    [*(({"days": days}, "bad_arguments") for days in (0, 17, -1)), ({"day": "someday"}, "bad_day")],
)
async def test_days_that_no_forecast_has_cost_no_request(
    web: Any, context: ToolContext, asked: dict[str, Any], type: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await weather_tool("Paris", **asked, context=context)
    assert (caught.value.failure.type, web.asked) == (type, [])


@pytest.mark.parametrize(
    ("status", "body", "class_", "type"),
    [
        (400, {"error": True, "reason": "Latitude out of range"}, FailureClass.INVALID, "http_400"),
        (403, None, FailureClass.UNAVAILABLE, "http_403"),
        (429, {"error": True, "reason": "limit"}, FailureClass.RATE_LIMITED, "http_429"),
        (500, None, FailureClass.TRANSIENT, "http_500"),
        (200, None, FailureClass.TRANSIENT, "bad_body"),
        *(
            (200, {"daily": daily}, FailureClass.TRANSIENT, "bad_body")
            for daily in ({"time": "today"}, {"time": []}, {"time": ["today"]}, [], {"weather_code": [3]})
        ),
    ],
)
async def test_each_failure_of_open_meteo_has_its_class(
    web: Any, context: ToolContext, status: int, body: Any, class_: FailureClass, type: str
) -> None:
    web.says("open-meteo", body, status=status)
    with pytest.raises(ToolError) as caught:
        await weather_tool("48.8606,2.3376", context=context)
    assert (caught.value.failure.class_, caught.value.failure.type) == (class_, type)
    assert (body or {}).get("reason", "") in caught.value.failure.message
