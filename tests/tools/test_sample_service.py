"""The sample service has the paths and shapes of the real ones, and hides nothing of what it is."""

from __future__ import annotations

import gzip
import zoneinfo
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leadhand.tools
from leadhand.core.errors import ToolError
from leadhand.ports import ToolContext
from leadhand.tools.gazetteer import sights_named, towns_beginning, towns_named
from leadhand.tools.places import resolve_town
from leadhand.tools.replies import is_sample
from leadhand.tools.sample_service import SampleWeb, sample_day
from leadhand.tools.services import ServiceUrls
from leadhand.tools.weather import CONDITIONS

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
URLS = ServiceUrls()
DATA = Path(leadhand.tools.__path__[0]) / "data"
WEB = SampleWeb(lambda: NOW)


async def geocode(name: str, **params: Any) -> Any:
    reply = await WEB.get("open-meteo-geocoding", f"{URLS.open_meteo_geocoding}/v1/search", {"name": name, **params})
    return reply.body


async def search(query: str) -> Any:
    return (await WEB.get("nominatim", f"{URLS.nominatim}/search", {"q": query, "limit": 5})).body


async def forecast(**params: Any) -> Any:
    at = {"latitude": 48.8534, "longitude": 2.3488, "timezone": "auto", "forecast_days": 16}
    return (await WEB.get("open-meteo", f"{URLS.open_meteo}/v1/forecast", at | params)).body


async def test_every_reply_bears_the_mark_of_the_sample_service() -> None:
    replies = [
        await WEB.get("open-meteo-geocoding", "https://x/v1/search", {"name": "Paris"}),
        await WEB.get("open-meteo", "https://x/v1/forecast", {"latitude": 1, "longitude": 2}),
        await WEB.get("nominatim", "https://x/search", {"q": "Nowhere"}),
        await WEB.get("osrm", "https://x/route/v1/driving/0,0;1,1", {}),
        await WEB.post("valhalla", "https://x/status", {}),
    ]
    assert all(is_sample(reply) for reply in replies)
    assert [reply.status for reply in replies] == [200, 200, 200, 404, 404]


async def test_geocoding_has_the_fields_and_the_order_of_the_real_one() -> None:
    first, second = (await geocode("paris"))["results"]
    assert (first["name"], first["country_code"], first["admin1"]) == ("Paris", "FR", "Île-de-France")
    assert (second["country"], second["admin1"], second["timezone"]) == ("United States", "Texas", "America/Chicago")
    assert first["population"] > second["population"]


async def test_no_hit_leaves_results_out_as_the_real_one_does() -> None:
    assert "results" not in await geocode("Qwertzuiop")
    assert "results" not in await geocode("")


async def test_a_beginning_is_enough_from_three_letters_on() -> None:
    assert (await geocode("Reykj"))["results"][0]["name"] == "Reykjavík"
    assert len((await geocode("Springfield", count=3))["results"]) == 3
    assert "results" not in await geocode("Rq")


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("München", "Munich"),
        ("Roma", "Rome"),
        ("cologne", "Köln"),
        ("NYC", "New York City"),
        ("Den Haag", "The Hague"),
        ("Moskau", "Moscow"),
        ("Lisboa", "Lisbon"),
        ("Praha", "Prague"),
        ("Bombay", "Mumbai"),
        ("Bruges", "Brugge"),
    ],
)
async def test_well_known_towns_are_found_by_their_other_names(spelling: str, name: str) -> None:
    assert (await geocode(spelling))["results"][0]["name"] == name


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ("Louvre", "Louvre Museum, Paris, Île-de-France, France"),
        ("Louvre, Paris", "Louvre Museum, Paris, Île-de-France, France"),
        ("louvre museum Paris", "Louvre Museum, Paris, Île-de-France, France"),
        ("Gare du Nord station", "Gare du Nord, Paris, Île-de-France, France"),
        ("JFK airport, New York", "John F. Kennedy International Airport, New York City, New York, United States"),
        ("Paris, Texas", "Paris, Texas, United States"),
        ("Lyon France", "Lyon, Auvergne-Rhône-Alpes, France"),
    ],
)
async def test_sights_and_towns_are_found_in_free_form(query: str, label: str) -> None:
    (hit,) = await search(query)
    assert hit["display_name"] == label
    assert isinstance(hit["lat"], str)


@pytest.mark.parametrize("query", ["10 Downing Street, London", "Louvre, Berlin", ""])
async def test_what_is_not_in_the_data_is_not_found(query: str) -> None:
    assert await search(query) == []


async def test_importance_follows_the_number_of_people() -> None:
    paris, texan = await search("Paris")
    assert paris["importance"] == pytest.approx(0.9, abs=0.02)
    assert texan["importance"] < paris["importance"] - 0.1


async def test_the_forecast_starts_today_in_the_places_own_time_zone() -> None:
    paris = await forecast()
    assert (paris["timezone"], paris["utc_offset_seconds"]) == ("Europe/Paris", 3600)
    assert len(paris["daily"]["time"]) == 16
    late = SampleWeb(lambda: datetime(2026, 11, 21, 23, 30, tzinfo=UTC))
    reply = await late.get("open-meteo", "https://x/v1/forecast", {"latitude": 48.8534, "longitude": 2.3488})
    assert reply.body["daily"]["time"][0] == "2026-11-22"


async def test_at_sea_the_sun_sets_the_clock() -> None:
    ocean = await forecast(latitude=0.0, longitude=-150.0)
    assert (ocean["timezone"], ocean["utc_offset_seconds"]) == ("Etc/GMT+10", -36000)


async def test_imperial_units_are_the_same_weather_in_other_numbers() -> None:
    metric = await forecast()
    imperial = await forecast(temperature_unit="fahrenheit", wind_speed_unit="mph", precipitation_unit="inch")
    celsius, fahrenheit = (body["daily"]["temperature_2m_max"][0] for body in (metric, imperial))
    assert fahrenheit == pytest.approx(celsius * 9 / 5 + 32, abs=0.06)
    assert imperial["daily_units"]["wind_speed_10m_max"] == "mp/h"


async def test_the_sample_forecast_refuses_what_the_real_one_refuses() -> None:
    reply = await WEB.get("open-meteo", "https://x/v1/forecast", {"latitude": 95, "longitude": 0})
    assert (reply.status, reply.body["error"]) == (400, True)


spots = (st.floats(-90, 90), st.floats(-180, 180), st.dates(date(2000, 1, 1), date(2100, 1, 1)))


@given(*spots)
def test_made_up_weather_is_plausible_anywhere_on_any_day(latitude: float, longitude: float, day: date) -> None:
    made_up = sample_day(latitude, longitude, day)
    assert -60 < made_up.temperature_min < made_up.temperature_max < 50
    assert made_up.weather_code in CONDITIONS
    assert 0 <= made_up.precipitation_probability <= 100
    assert (made_up.precipitation > 0) == (made_up.weather_code > 50)
    assert 0 <= made_up.sunrise <= made_up.sunset <= 24
    assert made_up.temperature_min <= made_up.temperature_at(12) <= made_up.temperature_max


def test_summer_is_warmer_than_winter_on_both_halves_of_the_globe() -> None:
    def month(latitude: float, first: date) -> float:
        return sum(sample_day(latitude, 0, first + timedelta(n)).temperature_max for n in range(30)) / 30

    assert month(50, date(2026, 7, 1)) > month(50, date(2026, 1, 1)) + 5
    assert month(-35, date(2026, 1, 1)) > month(-35, date(2026, 7, 1)) + 5


def test_the_packed_towns_stay_small_and_name_their_licence() -> None:
    packed = DATA / "places.tsv.gz"
    assert packed.stat().st_size < 900_000
    with gzip.open(packed, "rt", encoding="utf-8") as lines:
        first = next(lines)
        towns = sum(line.startswith("|") for line in lines)
    assert "GeoNames" in first
    assert "CC BY 4.0" in first
    assert towns > 33_000
    assert "creativecommons.org/licenses/by/4.0" in (DATA / "ATTRIBUTION.md").read_text()


def test_towns_come_with_the_most_people_first() -> None:
    for found in (towns_named("Springfield"), towns_beginning("San")):
        populations = [town.population or 0 for town in found]
        assert populations == sorted(populations, reverse=True)


@pytest.mark.parametrize("name", ["", "|", "\t", "\n", "=?"])
def test_no_name_finds_nothing(name: str) -> None:
    assert towns_named(name) == towns_beginning(name) == sights_named(name) == []


@pytest.mark.parametrize("name", ["Paris", "Cape Town", "São Paulo", "Xi'an", "St. Louis", "Kraków", "Reykjavik"])
async def test_a_label_given_back_is_the_same_place(sample: ToolContext, name: str) -> None:
    first = (await resolve_town(sample, URLS, name)).place
    again = (await resolve_town(sample, URLS, first.label)).place
    assert again == first


async def test_candidates_offered_offline_can_all_be_given_back(sample: ToolContext) -> None:
    with pytest.raises(ToolError) as caught:
        await resolve_town(sample, URLS, "San José, Atlantis")
    candidates = caught.value.failure.next_action.partition(": ")[2].split("; ")
    spots = [(await resolve_town(sample, URLS, candidate)).place for candidate in candidates]
    assert len({(spot.latitude, spot.longitude) for spot in spots}) == len(candidates) == 5


async def test_a_machine_without_time_zone_data_keeps_the_hour_of_the_sun(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> None:
        raise zoneinfo.ZoneInfoNotFoundError(name)

    monkeypatch.setattr(zoneinfo, "ZoneInfo", unknown)
    paris = await forecast()
    assert (paris["timezone"], paris["utc_offset_seconds"]) == ("Etc/GMT", 0)
