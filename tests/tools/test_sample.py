"""Sample data is plausible, and is labelled as what it is."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leadhand.tools.travel
from leadhand.ports import ToolContext
from leadhand.tools.travel.directions import directions_tool
from leadhand.tools.travel.places import Place
from leadhand.tools.travel.sample import day_at, forecast
from leadhand.tools.travel.weather import weather_tool

DATA = Path(leadhand.tools.travel.__path__[0]) / "data"
spots = st.builds(Place, name=st.just("spot"), latitude=st.floats(-90, 90), longitude=st.floats(-180, 180))
times = st.integers(946_684_800, 4_102_444_800).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@given(spots, times)
def test_made_up_weather_is_plausible_anywhere_at_any_time(place: Place, now: datetime) -> None:
    found = forecast(place, now)
    assert found == forecast(place, now)
    assert [day.date - found.days[0].date for day in found.days] == [timedelta(n) for n in range(16)]
    assert abs(found.days[0].date - now.date()) <= timedelta(1)
    for day in found.days:
        numbers = day.model_dump()
        assert -60 < numbers["temperature_min"] < numbers["temperature_max"] < 50
        assert (numbers["precipitation"] > 0) == (numbers["precipitation_probability"] > 55)
    now_there, today = found.model_dump()["now"], found.days[0].model_dump()
    assert today["temperature_min"] <= now_there["temperature"] <= today["temperature_max"]


def test_summer_is_warmer_than_winter_on_both_halves_of_the_globe() -> None:
    def month(latitude: float, first: date) -> float:
        place = Place(name="", latitude=latitude, longitude=0)
        return sum(day_at(place, first + timedelta(n)).temperature_max or 0 for n in range(30)) / 30

    assert month(50, date(2026, 7, 1)) > month(50, date(2026, 1, 1)) + 5
    assert month(-35, date(2026, 1, 1)) > month(-35, date(2026, 7, 1)) + 5


@pytest.mark.parametrize(("mode", "minutes"), [("drive", 18.1), ("walk", 180.8), ("bicycle", 60.3)])
async def test_results_are_marked_as_samples(sample: ToolContext, mode: Any, minutes: float) -> None:
    way = await directions_tool("Louvre", "Orly airport", mode, context=sample)
    weather = await weather_tool("Auckland", context=sample)
    assert way.raw["duration_min"] == pytest.approx(minutes, abs=0.5)
    assert weather.raw["location"]["timezone"] == "UTC+12"
    for found in (way, weather):
        assert found.sample
        assert ["sample" in source.title for source in found.sources] == [True]


def test_the_packed_towns_stay_small_and_name_their_licence() -> None:
    packed = DATA / "places.tsv.gz"
    assert packed.stat().st_size < 800_000
    with gzip.open(packed, "rt", encoding="utf-8") as lines:
        first = next(lines)
        towns = sum(line.startswith("|") for line in lines)
    assert "GeoNames" in first
    assert "CC BY 4.0" in first
    assert towns > 33_000
    assert "creativecommons.org/licenses/by/4.0" in (DATA / "ATTRIBUTION.md").read_text()
