"""The weather tool: the current weather or the forecast at a place, from Open-Meteo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Annotated, TypeVar

from pydantic import Field

from leadhand.core.errors import ToolError
from leadhand.core.tool import Source, ToolReturn
from leadhand.core.value import Json
from leadhand.ports import ToolContext

from .geography import Place
from .open_meteo import FORECAST_DAYS, Daily, Forecast, Units, forecast
from .places import resolve_town
from .services import OPEN_STREET_MAP, ServiceUrls

T = TypeVar("T")

OPEN_METEO = Source(title="Weather data by Open-Meteo.com (CC BY 4.0)", url="https://open-meteo.com/")
SAMPLE = Source(
    title="Leadhand sample data (not a forecast); places: GeoNames (CC BY 4.0)", url="https://www.geonames.org/"
)

_DEGREES, _DEPTH, _SPEED, _PERCENT = ("°C", "°F"), ("mm", "inch"), ("km/h", "mph"), ("%", "%")
_CURRENT = {
    "temperature": ("temperature_2m", _DEGREES),
    "apparent_temperature": ("apparent_temperature", _DEGREES),
    "relative_humidity": ("relative_humidity_2m", _PERCENT),
    "precipitation": ("precipitation", _DEPTH),
    "wind_speed": ("wind_speed_10m", _SPEED),
}
_DAILY = {
    "temperature_max": ("temperature_2m_max", _DEGREES),
    "temperature_min": ("temperature_2m_min", _DEGREES),
    "precipitation": ("precipitation_sum", _DEPTH),
    "precipitation_probability": ("precipitation_probability_max", _PERCENT),
    "wind_speed_max": ("wind_speed_10m_max", _SPEED),
}
"""Our names of the values, Open-Meteo's names, and the metric and imperial units in case the reply names none."""

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


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


# Arguments are described beside them, not in the docstring: every run has this tool, and docstring_parser takes 13 ms.
Location = Annotated[
    str,
    Field(
        description="A town, sight or address, or coordinates; name the country or state when you know it.\n"
        'Examples: "Paris, France", "Springfield, IL", "48.8606,2.3376".'
    ),
]
Day = Annotated[
    str,
    Field(
        description='First day, by the place\'s own calendar: "now", "today", "tomorrow", a weekday such as '
        '"saturday",\n"weekend", or a date such as "2026-11-24".'
    ),
]
Days = Annotated[
    int,
    Field(description='How many days from that day on, 1 to 16. Example: day "monday" with days 7 for a week.'),
]


async def weather_tool(
    location: Location,
    day: Day = "today",
    units: Annotated[Units, Field(description='"metric" (°C, mm, km/h) or "imperial" (°F, inch, mph).')] = "metric",
    days: Days = 1,
    *,
    context: ToolContext,
) -> ToolReturn:
    """Current weather or the forecast for a place, up to 15 days ahead."""
    if not 1 <= days <= FORECAST_DAYS:
        raise ToolError(f"days is {days}: a forecast covers 1 to {FORECAST_DAYS} days", type="bad_arguments")
    read_day(day, context.now().date())  # an invalid day costs no request
    urls = ServiceUrls.from_environment()
    found = await resolve_town(context, urls, location)
    report = await forecast(context, urls, found.place, units)
    wanted = _wanted(day, days, report.daily.time, found.place)
    rows = _rows(report.daily, wanted)
    named = _units(report, units)
    now: dict[str, Json] | None = None
    if (current := report.current) and wanted.start == 0:
        numbers = {ours: getattr(current, theirs) for ours, (theirs, _) in _CURRENT.items()}
        now = {"time": current.time, "condition": condition(current.weather_code), **numbers}
    place = found.place.to_json() | {"timezone": report.timezone or found.place.timezone}
    raw: dict[str, Json] = {"location": place, "days": rows, "units": named}
    if now is not None:
        raw["current"] = now
    said = _say_now(now, named) if now and day.strip().lower() == "now" else _say_days(rows, named)
    sample = report.sample or found.place.sample
    start = "Sample data, not a forecast: " if sample else ""
    summary = f"{start}{found.place.label}, {said}." + (f" {found.note}" if found.note else "")
    sources = (OPEN_METEO, OPEN_STREET_MAP) if found.place.from_openstreetmap else (OPEN_METEO,)
    return ToolReturn(raw=raw, summary=summary, sources=(SAMPLE,) if sample else sources, sample=sample)


def read_day(text: str, today: date) -> tuple[date, int]:
    """Return the first date that ``text`` names and how many days it covers (2 for "weekend", on a Sunday 1; else 1).

    ``monday`` may be today. Raises ``ToolError`` (``bad_day``) for any other text.
    """
    said, sunday = text.strip().casefold() or "today", 6
    if said in ("now", "today", "tomorrow"):
        return today + timedelta(days=said == "tomorrow"), 1
    if said == "weekend":
        return (today, 1) if today.weekday() == sunday else (today + timedelta(days=sunday - 1 - today.weekday()), 2)
    if said.title() in WEEKDAYS:
        return today + timedelta(days=(WEEKDAYS.index(said.title()) - today.weekday()) % 7), 1
    try:
        return date.fromisoformat(said), 1
    except ValueError:
        how = 'say "now", "today", "tomorrow", a weekday, "weekend" or a date such as 2026-11-24'
        raise ToolError(f"cannot read the day {text!r}", type="bad_day", next_action=how) from None


def in_words(day: date) -> str:
    """``Saturday 21 November 2026``, whatever the locale."""
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"


def condition(code: int | None) -> str | None:
    """The condition in words; ``weather code 42`` for an unknown code, None for None."""
    return None if code is None else CONDITIONS.get(code, f"weather code {code}")


def _wanted(day: str, days: int, dates: Sequence[date], place: Place) -> range:
    """Return the requested rows of the forecast. Raises ``ToolError`` (``invalid``) if they are out of range."""
    first, covered = read_day(day, dates[0]) if dates else (None, 0)
    count = days if days > 1 else covered
    if first is None or first < dates[0] or (first - dates[0]).days + count > len(dates):
        reach = f"from {dates[0]} to {dates[-1]}" if dates else "no days"
        raise ToolError(
            f"the forecast for {place.label} covers the days {reach}; {count} of the days from {day!r} on are outside",
            type="day_out_of_range",
            next_action="choose days within that range",
        )
    start = (first - dates[0]).days
    return range(start, start + count)


def _rows(daily: Daily, wanted: range) -> list[dict[str, Json]]:
    columns: dict[str, Sequence[Json]] = {ours: getattr(daily, theirs) for ours, (theirs, _) in _DAILY.items()}
    return [
        {
            "date": daily.time[row].isoformat(),
            "condition": condition(_at(daily.weather_code, row)),
            **{name: _at(column, row) for name, column in columns.items()},
            "sunrise": _at(daily.sunrise, row),
            "sunset": _at(daily.sunset, row),
        }
        for row in wanted
    ]


def _at(column: Sequence[T | None], row: int) -> T | None:
    return column[row] if row < len(column) else None


def _units(report: Forecast, units: Units) -> dict[str, str]:
    named: dict[str, str] = {}
    for numbers, said in ((_DAILY, report.daily_units), (_CURRENT, report.current_units)):
        for ours, (theirs, usual) in numbers.items():
            unit = said.get(theirs, "").replace("mp/h", "mph")
            named[ours] = unit or named.get(ours) or usual[units == "imperial"]
    return named | {"latitude": "°", "longitude": "°", "sunrise": "local time", "sunset": "local time"}


def _say_now(now: Mapping[str, Json], units: Mapping[str, str]) -> str:
    clock = str(now["time"]).partition("T")[2]
    parts = [
        now["condition"],
        _amount(now["temperature"], units["temperature"]),
        _amount(now["apparent_temperature"], units["apparent_temperature"], "feels like {}"),
        _amount(now["precipitation"], units["precipitation"], "{} of precipitation"),
        _amount(now["wind_speed"], units["wind_speed"], "wind {}"),
        _amount(now["relative_humidity"], units["relative_humidity"], "humidity {}"),
    ]
    return f"now ({clock} local time): " + _joined(parts)


def _say_days(rows: Sequence[Mapping[str, Json]], units: Mapping[str, str]) -> str:
    first = date.fromisoformat(rows[0]["date"])
    if len(rows) == 1:
        return f"{in_words(first)}: {_say_day(rows[0], units)}"
    dated = [(date.fromisoformat(row["date"]), _say_day(row, units)) for row in rows]
    lines = [f"{WEEKDAYS[day.weekday()][:3]} {day.day}: {said}" for day, said in dated]
    return f"{len(rows)} days from {in_words(first)}. " + "; ".join(lines)


def _say_day(row: Mapping[str, Json], units: Mapping[str, str]) -> str:
    low, high = row["temperature_min"], row["temperature_max"]
    unit = units["temperature_max"]
    span = f"{low:g} to {high:g} {unit}" if low is not None and high is not None else _amount(high, unit, "up to {}")
    rain = _amount(row["precipitation"], units["precipitation"], "{} of precipitation")
    chance = _amount(row["precipitation_probability"], units["precipitation_probability"], "(chance {})")
    wet = " ".join(part for part in (rain, chance) if part)
    wind = _amount(row["wind_speed_max"], units["wind_speed_max"], "wind up to {}")
    return _joined([row["condition"], span, wet, wind])


def _amount(value: float | None, unit: str, phrase: str = "{}") -> str:
    return "" if value is None else phrase.format(f"{value:g} {unit}")


def _joined(parts: Sequence[str | None]) -> str:
    return ", ".join(part for part in parts if part) or "nothing is known"
