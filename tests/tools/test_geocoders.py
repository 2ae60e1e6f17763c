"""Nominatim is asked first and Photon when it is out of order; both answers become places."""

from __future__ import annotations

from typing import Any

import pytest

from leadhand.core.errors import FailureClass, ToolError
from leadhand.ports import ToolContext
from leadhand.tools.geocoders import ask_nominatim, ask_photon
from leadhand.tools.places import resolve_ends
from leadhand.tools.services import ServiceUrls

URLS = ServiceUrls()

DOWNING_STREET = {
    "osm_type": "way",
    "lat": "51.5034878",
    "lon": "-0.1276965",
    "category": "building",
    "importance": 0.55,
    "name": "",
    "display_name": "10, Downing Street, Westminster, London, Greater London, England, SW1A 2AA, United Kingdom",
    "address": {
        "house_number": "10",
        "road": "Downing Street",
        "city": "London",
        "state": "England",
        "country": "United Kingdom",
        "country_code": "gb",
    },
}


def photon(name: str, at: tuple[float, float], osm_value: str = "city", **properties: str) -> dict[str, Any]:
    """One feature as photon.komoot.io gives it: GeoJSON, longitude first."""
    said = {"osm_type": "R", "osm_id": 7444, "osm_key": "place", "osm_value": osm_value, "type": "city", "name": name}
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [at[1], at[0]]},
        "properties": {**said, "country": "France", "countrycode": "FR", **properties},
    }


def features(*found: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(found)}


async def test_an_address_is_named_by_its_street(web: Any, context: ToolContext) -> None:
    web.says("nominatim", [DOWNING_STREET])
    (place,) = await ask_nominatim(context, URLS, "10 Downing Street, London")
    assert place.label.split(", ") == ["10 Downing Street", "London", "England", "United Kingdom"]
    assert (place.latitude, place.longitude, place.country_code) == (51.5034878, -0.1276965, "GB")


async def test_nominatim_is_asked_in_its_own_words(web: Any, context: ToolContext) -> None:
    web.says("nominatim", [])
    assert await ask_nominatim(context, URLS, "Orly") == []
    expected = {"q": "Orly", "format": "jsonv2", "limit": 5, "addressdetails": 1, "accept-language": "en"}
    assert web.asked == [("nominatim", "https://nominatim.openstreetmap.org/search", expected)]


async def test_photon_gives_longitude_first(web: Any, context: ToolContext) -> None:
    web.says("photon", features(photon("Lyon", (45.76, 4.83), state="Auvergne-Rhône-Alpes")))
    (place,) = await ask_photon(context, URLS, "Lyon")
    assert (place.name, place.latitude) == ("Lyon", 45.76)
    assert web.asked[0][1] == "https://photon.komoot.io/api/"


async def test_a_house_without_a_name_is_named_by_its_street_by_photon_too(web: Any, context: ToolContext) -> None:
    house = photon("", (48.8, 2.3), "house", housenumber="5", street="Rue de Rivoli", city="Paris")
    del house["properties"]["name"]
    web.says("photon", features(house))
    (place,) = await ask_photon(context, URLS, "5 rue de Rivoli")
    assert place.label.startswith("5 Rue de Rivoli, ")


@pytest.mark.parametrize("status", [403, 429, 500, 503])
async def test_photon_is_asked_when_nominatim_is_out_of_order(web: Any, context: ToolContext, status: int) -> None:
    web.says("nominatim", status=status)
    web.says("photon", features(photon("Paris", (48.86, 2.35))))
    web.says("photon", features(photon("Lyon", (45.76, 4.83))))
    start, end = await resolve_ends(context, URLS, "Paris", "Lyon")
    assert (start.place.name, end.place.name) == ("Paris", "Lyon")
    assert web.services_asked() == ["nominatim", "photon", "nominatim", "photon"]


async def test_photon_is_not_asked_when_nominatim_knows_no_such_place(web: Any, context: ToolContext) -> None:
    web.says("nominatim", [])
    with pytest.raises(ToolError, match="Qwertz"):
        await resolve_ends(context, URLS, "Qwertz", "0,0")
    assert web.services_asked() == ["nominatim"]


async def test_of_photons_namesakes_the_first_is_taken_and_the_next_named(web: Any, context: ToolContext) -> None:
    web.says("nominatim", status=503)
    found = [
        photon("Springfield", (37.2, -93.3), state="Missouri"),
        photon("Springfield", (39.8, -89.6), state="Illinois"),
    ]
    web.says("photon", features(*found))
    start, _ = await resolve_ends(context, URLS, "Springfield", "10,10")
    assert start.place.region == "Missouri"
    assert "Illinois" in start.note


@pytest.mark.parametrize(
    ("body", "text"),
    [(None, "<html>"), ({"error": "odd"}, ""), ([{"lat": "north"}], ""), ([{"lon": "2.3"}], "")],
)
async def test_a_body_that_is_no_list_of_places_is_transient(
    web: Any, context: ToolContext, body: Any, text: str
) -> None:
    web.says("nominatim", body, text=text)
    with pytest.raises(ToolError) as caught:
        await ask_nominatim(context, URLS, "Paris")
    assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.TRANSIENT, "bad_body")


async def test_both_out_of_order_is_told_by_the_failure_likelier_to_pass(web: Any, context: ToolContext) -> None:
    web.says("nominatim", status=403)
    web.says("photon", status=502)
    with pytest.raises(ToolError) as caught:
        await resolve_ends(context, URLS, "Paris", "0,0")
    assert caught.value.failure.type == "http_502"
