"""The weather tool: the current weather or the forecast at a place, from Open-Meteo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field

from leadhand.core.errors import ToolError
from leadhand.core.tool import Source, ToolReturn
from leadhand.core.value import Json
from leadhand.ports import ToolContext
from leadhand.tools.services import OPEN_STREET_MAP

from .finding import find_place
from .open_meteo import FORECAST_DAYS, Day, ask
from .places import Place

OPEN_METEO = Source(title="Weather data by Open-Meteo.com (CC BY 4.0)", url="https://open-meteo.com/")
SAMPLE = Source(
    title="Leadhand sample data (not a forecast); places: GeoNames (CC BY 4.0)", url="https://www.geonames.org/"
)

_UNITS = {
    **dict.fromkeys(("temperature", "apparent_temperature", "temperature_max", "temperature_min"), "°C"),
    **dict.fromkeys(("wind_speed", "wind_speed_max"), "km/h"),
    **dict.fromkeys(("relative_humidity", "precipitation_probability"), "%"),
    **dict.fromkeys(("latitude", "longitude"), "°"),
    **dict.fromkeys(("sunrise", "sunset"), "local time"),
    "precipitation": "mm",
}
_IMPERIAL = {"°C": ("°F", 9 / 5, 32, 1), "km/h": ("mph", 1 / 1.609344, 0, 1), "mm": ("inch", 1 / 25.4, 0, 2)}
"""By metric unit: the imperial one, the factor and the summand to convert a value, and its decimals."""

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
AskedDay = Annotated[
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
    day: AskedDay = "today",
    units: Annotated[
        Literal["metric", "imperial"], Field(description='"metric" (°C, mm, km/h) or "imperial" (°F, inch, mph).')
    ] = "metric",
    days: Days = 1,
    *,
    context: ToolContext,
) -> ToolReturn:
    """Current weather or the forecast for a place, up to 15 days ahead."""
    if not 1 <= days <= FORECAST_DAYS:
        raise ToolError(f"days is {days}: a forecast covers 1 to {FORECAST_DAYS} days", type="bad_arguments")
    read_day(day, context.now().date())  # an invalid day costs no request
    place, note = await find_place(context, location)
    if context.offline:
        from .sample import forecast

        report = forecast(place, context.now())
    else:
        report = await ask(context, place)
    names = {
        name: _IMPERIAL[unit][0] if units == "imperial" and unit in _IMPERIAL else unit for name, unit in _UNITS.items()
    }
    rows = [_in_units(each.model_dump(mode="json"), names) for each in _wanted(day, days, report.days, place)]
    raw: dict[str, Json] = {"location": place.to_json() | {"timezone": report.timezone}, "days": rows, "units": names}
    said = _say_days(rows, names)
    if report.now is not None and rows[0]["date"] == str(report.days[0].date):
        raw["current"] = now = _in_units(report.now.model_dump(mode="json"), names)
        said = _say_now(now, names) if day.strip().casefold() == "now" else said
    start = "Sample data, not a forecast: " if context.offline else ""
    summary = f"{start}{place.label}, {said}." + (f" {note}" if note else "")
    sources = (SAMPLE,) if context.offline else (OPEN_METEO, OPEN_STREET_MAP)
    return ToolReturn(raw=raw, summary=summary, sources=sources, sample=context.offline)


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


def _wanted(day: str, days: int, forecast: Sequence[Day], place: Place) -> list[Day]:
    """Return the requested days of the forecast. Raises ``ToolError`` (``invalid``) if it does not cover them all."""
    first, covered = read_day(day, forecast[0].date)
    count = days if days > 1 else covered
    found = [each for each in forecast if first <= each.date < first + timedelta(days=count)]
    if len(found) < count:
        raise ToolError(
            f"the forecast for {place.label} covers the days from {forecast[0].date} to {forecast[-1].date}; "
            f"{count} of the days from {day!r} on are outside",
            type="day_out_of_range",
            next_action="choose days within that range",
        )
    return found


def _in_units(values: dict[str, Json], units: Mapping[str, str]) -> dict[str, Json]:
    """Return metric values in these units."""
    for name, value in values.items():
        unit, factor, summand, decimals = _IMPERIAL.get(_UNITS.get(name, ""), ("", 1, 0, 0))
        if value is not None and units.get(name) == unit:
            values[name] = round(value * factor + summand, decimals)
    return values


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
