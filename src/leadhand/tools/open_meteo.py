"""Query Open-Meteo for towns by name and the weather at a point (open-meteo.com/en/docs, /en/docs/geocoding-api)."""

from datetime import date
from typing import Literal

from leadhand.core.errors import FailureClass, ToolError
from leadhand.ports import ToolContext, WebReply

from .geography import Place
from .replies import Lenient, failure, is_sample, text_of, typed
from .services import ServiceUrls

Units = Literal["metric", "imperial"]

FORECAST_DAYS = 16
"""Days of a forecast: the most that Open-Meteo supports, and always requested, since one response is then cached."""

_IMPERIAL = {"temperature_unit": "fahrenheit", "wind_speed_unit": "mph", "precipitation_unit": "inch"}


class _Town(Lenient):
    name: str
    latitude: float
    longitude: float
    country: str = ""
    country_code: str = ""
    admin1: str = ""
    admin2: str = ""
    admin3: str = ""
    admin4: str = ""
    timezone: str = ""
    population: int | None = None
    feature_code: str = ""


class _Towns(Lenient):
    results: tuple[_Town, ...] = ()  # missing if nothing is found


class Current(Lenient):
    """The weather now; ``time`` is local, ``2026-11-21T14:15``. Units: :attr:`Forecast.current_units`."""

    time: str
    temperature_2m: float | None = None
    apparent_temperature: float | None = None
    relative_humidity_2m: float | None = None
    precipitation: float | None = None
    weather_code: int | None = None
    wind_speed_10m: float | None = None


class Daily(Lenient):
    """One column per variable, one row per day; None where no model has data. Units: :attr:`Forecast.daily_units`."""

    time: tuple[date, ...]
    weather_code: tuple[int | None, ...] = ()
    temperature_2m_max: tuple[float | None, ...] = ()
    temperature_2m_min: tuple[float | None, ...] = ()
    precipitation_sum: tuple[float | None, ...] = ()
    precipitation_probability_max: tuple[float | None, ...] = ()
    wind_speed_10m_max: tuple[float | None, ...] = ()
    sunrise: tuple[str | None, ...] = ()
    sunset: tuple[str | None, ...] = ()


class Forecast(Lenient):
    """The weather at a point: ``daily.time`` holds local dates, the first of them today's."""

    timezone: str = ""
    current: Current | None = None
    current_units: dict[str, str] = {}
    daily: Daily
    daily_units: dict[str, str] = {}
    sample: bool = False


async def find_towns(context: ToolContext, urls: ServiceUrls, name: str, *, count: int = 10) -> list[Place]:
    """Towns and other named features called ``name``, best first, at most ``count`` (1 to 100); none: an empty list.

    Raises ``ToolError``: ``invalid`` if Open-Meteo rejects the name, else classified by cause.
    """
    params = {"name": name, "count": count, "language": "en", "format": "json"}
    reply = await context.web.get("open-meteo-geocoding", f"{urls.open_meteo_geocoding}/v1/search", params)
    _raise_for_error(context, "open-meteo-geocoding", reply)
    found = typed(_Towns.model_validate, "open-meteo-geocoding", reply)
    return [
        Place(
            name=town.name,
            latitude=town.latitude,
            longitude=town.longitude,
            region=town.admin1,
            areas=tuple(area for area in (town.admin2, town.admin3, town.admin4) if area),
            country=town.country,
            country_code=town.country_code.upper(),
            timezone=town.timezone,
            population=town.population,
            kind=town.feature_code,
            sample=is_sample(reply),
        )
        for town in found.results
    ]


async def forecast(context: ToolContext, urls: ServiceUrls, place: Place, units: Units) -> Forecast:
    """Return the current weather and :data:`FORECAST_DAYS` days at ``place``, in the requested units.

    Raises ``ToolError``: ``invalid`` with Open-Meteo's reason, else classified by cause.
    """
    params: dict[str, str | int | float] = {
        "latitude": place.latitude,
        "longitude": place.longitude,
        "current": _variables(Current),
        "daily": _variables(Daily),
        "timezone": "auto",
        "forecast_days": FORECAST_DAYS,
    }
    if units == "imperial":
        params |= _IMPERIAL
    reply = await context.web.get("open-meteo", f"{urls.open_meteo}/v1/forecast", params)
    _raise_for_error(context, "open-meteo", reply)
    found = typed(Forecast.model_validate, "open-meteo", reply)
    return found.model_copy(update={"sample": is_sample(reply)})


def _variables(shape: type[Current | Daily]) -> str:
    return ",".join(name for name in shape.model_fields if name != "time")


def _raise_for_error(context: ToolContext, service: str, reply: WebReply) -> None:
    reason = text_of(reply.body, "reason")
    if reply.status == 429 and reason.startswith("Daily"):
        # A run can wait for the limits per minute and per hour, but not for the limit per day.
        raise ToolError(
            f"Open-Meteo answered 429: {reason}",
            type="quota",
            class_=FailureClass.UNAVAILABLE,
            next_action="try again tomorrow, or set LEADHAND_OPEN_METEO_URL to your own server",
        )
    if not 200 <= reply.status < 300:
        raise failure(service, reply, context.now(), reason)
