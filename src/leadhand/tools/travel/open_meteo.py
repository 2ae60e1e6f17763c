"""The weather at a place from Open-Meteo (open-meteo.com/en/docs), in metric units."""

import datetime
from itertools import zip_longest
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from leadhand.core.value import is_object, list_of
from leadhand.ports import ToolContext
from leadhand.tools.services import answered, base_url

from .places import Place

FORECAST_DAYS = 16
"""Days of a forecast: the most that Open-Meteo supports, and always requested, since one response is then cached."""

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
"""The part of WMO code table 4677 that Open-Meteo uses (open-meteo.com/en/docs, "WMO Weather interpretation")."""


def _in_words(code: object) -> object:
    return CONDITIONS.get(code, f"weather code {code}") if isinstance(code, int) else code


Condition = Annotated[str | None, BeforeValidator(_in_words), Field(validation_alias="weather_code")]


class _Weather(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True, validate_by_name=True)


class Now(_Weather):
    """The weather now: °C, mm, km/h and %, None where no model has data. ``time`` is local, ``2026-11-21T14:15``."""

    time: str
    condition: Condition = None
    temperature: float | None = Field(None, validation_alias="temperature_2m")
    apparent_temperature: float | None = None
    relative_humidity: float | None = Field(None, validation_alias="relative_humidity_2m")
    precipitation: float | None = None
    wind_speed: float | None = Field(None, validation_alias="wind_speed_10m")


class Day(_Weather):
    """The weather of a day, in the same units. Sunrise and sunset are local times."""

    date: datetime.date = Field(validation_alias="time")
    condition: Condition = None
    temperature_max: float | None = Field(None, validation_alias="temperature_2m_max")
    temperature_min: float | None = Field(None, validation_alias="temperature_2m_min")
    precipitation: float | None = Field(None, validation_alias="precipitation_sum")
    precipitation_probability: float | None = Field(None, validation_alias="precipitation_probability_max")
    wind_speed_max: float | None = Field(None, validation_alias="wind_speed_10m_max")
    sunrise: str | None = None
    sunset: str | None = None


def _rows(table: object) -> object:
    """Return the rows of a table that is given by columns: ``{"time": […], "weather_code": […]}``."""
    if not is_object(table):
        return table
    return [dict(zip(table, row, strict=True)) for row in zip_longest(*map(list_of, table.values()))]


class Forecast(_Weather):
    """The weather at a place: its time zone, now, and by days, of which the first is today there."""

    timezone: str = ""
    now: Now | None = Field(None, validation_alias="current")
    days: Annotated[tuple[Day, ...], BeforeValidator(_rows), Field(validation_alias="daily", min_length=1)]


async def ask(context: ToolContext, place: Place) -> Forecast:
    """Return the weather now and for :data:`FORECAST_DAYS` days. Raises ``ToolError``, classified by cause."""
    params: dict[str, str | int | float] = {
        "latitude": place.latitude,
        "longitude": place.longitude,
        "current": _variables(Now),
        "daily": _variables(Day),
        "timezone": "auto",
        "forecast_days": FORECAST_DAYS,
    }
    reply = await context.web.get("open-meteo", f"{base_url('open-meteo')}/v1/forecast", params)
    return answered("open-meteo", reply, Forecast.model_validate, "reason")


def _variables(shape: type[Now | Day]) -> str:
    names = [str(field.validation_alias or name) for name, field in shape.model_fields.items()]
    return ",".join(name for name in names if name != "time")
