"""A text becomes the one place that is meant, or an error from which the right question can be asked."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.errors import FailureClass, ToolError
from leadhand.ports import ToolContext
from leadhand.tools.travel.finding import find_place
from leadhand.tools.travel.gazetteer import fold
from leadhand.tools.travel.places import EARTH_RADIUS_KM, Place, distance_km, place_at

DOWNING_STREET = {
    "lat": "51.5034878",
    "lon": "-0.1276965",
    "importance": 0.55,
    "name": "",
    "display_name": "10, Downing Street, Westminster, London, Greater London, England, SW1A 2AA, United Kingdom",
    "boundingbox": ["51.5032573", "51.5036483", "-0.1278356", "-0.1273038"],
    "address": {"house_number": "10", "road": "Downing Street", "town": "London", "state": "England"},
}

spots = st.builds(Place, name=st.just("spot"), latitude=st.floats(-90, 90), longitude=st.floats(-180, 180))


def hit(name: str, at: tuple[float, float], importance: float = 0.5, extent: float = 0, **address: str) -> Any:
    """One result as nominatim.openstreetmap.org gives it with format=jsonv2 and addressdetails=1."""
    box = [str(at[0]), str(at[0] + extent), "0", "0"]
    place = {"lat": str(at[0]), "lon": str(at[1]), "importance": importance, "name": name, "boundingbox": box}
    return place | {"address": {"country": "France", **address}}


async def refused(context: ToolContext, text: str) -> Any:
    with pytest.raises(ToolError) as caught:
        await find_place(context, text)
    assert caught.value.failure.class_ is FailureClass.INVALID
    return caught.value.failure


async def test_nominatim_is_asked_in_its_own_words(web: Any, context: ToolContext) -> None:
    web.says("nominatim", [DOWNING_STREET])
    place, note = await find_place(context, "10 Downing Street, London")
    assert (place.label, note) == ("10 Downing Street, London, England", "")
    assert (place.latitude, place.longitude) == (51.5034878, -0.1276965)
    params = {"q": "10 Downing Street, London", "format": "jsonv2", "limit": 5, "addressdetails": 1}
    assert web.asked == [
        ("nominatim", "https://nominatim.openstreetmap.org/search", {**params, "accept-language": "en"})
    ]


LENS, LOUVRE = hit("Louvre-Lens", (50.43, 2.80), 0.45), hit("Louvre Museum", (48.86, 2.34), 0.66)
SAINT_DENIS, ON_AN_ISLAND = hit("Saint-Denis", (48.94, 2.36), 0.55), hit("Saint-Denis", (-20.88, 55.45), 0.6)
TWINS = [hit("San José", (19.0, -99.0), country="Mexico"), hit("San José", (25.0, -103.0), country="Mexico")]


@pytest.mark.parametrize(
    ("hits", "name", "latitude", "noted"),
    [
        ([LENS, LOUVRE], "Louvre Museum", 48.86, ""),
        ([SAINT_DENIS, ON_AN_ISLAND], "Saint-Denis", -20.88, "next: Saint-Denis, France (48.9400,2.3600)"),
        ([hit("Orly", (48.74, 2.40)), hit("Orly Airport", (48.73, 2.37))], "Orly", 48.74, ""),
        (TWINS, "San José", 19.0, "next: San José, Mexico (25.0000,-103.0000)"),
        ([hit("Luxembourg", (49.8, 6.1), 0.8, 0.7, country="Luxembourg")], "Luxembourg", 49.8, ""),
    ],
    ids=["more important", "far apart", "close together", "same label", "small country"],
)
async def test_the_best_known_place_is_taken_and_one_that_may_be_meant_is_named(
    web: Any, context: ToolContext, hits: list[Any], name: str, latitude: float, noted: str
) -> None:
    web.says("nominatim", hits)
    place, note = await find_place(context, "somewhere")
    assert (place.name, place.latitude) == (name, latitude)
    assert noted in note
    assert bool(note) is bool(noted)


async def test_coordinates_ask_nobody(web: Any, context: ToolContext) -> None:
    at, _ = await find_place(context, "48.8606, 2.3376")
    home, _ = await find_place(context, "Home (48.9,2.4)")
    assert (at.latitude, at.longitude, home.name, home.latitude) == (48.8606, 2.3376, "Home", 48.9)
    assert web.asked == []


async def test_an_unknown_place_and_a_whole_country_say_what_to_do(
    web: Any, context: ToolContext, sample: ToolContext
) -> None:
    web.says("nominatim", [])
    web.says("nominatim", [hit("France", (42.0, 2.0), 0.9, 9.0)])
    unknown, country = await refused(context, "Qwertzuiop"), await refused(context, "France")
    assert (unknown.type, "Qwertzuiop" in unknown.message) == ("unknown_place", True)
    assert (country.type, "France" in country.next_action) == ("place_too_large", True)
    offline = await refused(sample, "Downing Street")
    assert (offline.type, "offline" in offline.next_action) == ("unknown_place", True)


@pytest.mark.parametrize("text", ["91,0", "0,181", "-90.5,10"])
async def test_coordinates_off_the_globe_are_refused(context: ToolContext, text: str) -> None:
    assert (await refused(context, text)).type == "bad_coordinates"


@pytest.mark.parametrize("body", [None, {"error": "odd"}, [{"lat": "north"}], [{"lon": "2.3"}]])
async def test_a_body_that_is_no_list_of_places_is_transient(web: Any, context: ToolContext, body: Any) -> None:
    web.says("nominatim", body, text="<html>")
    with pytest.raises(ToolError) as caught:
        await find_place(context, "Paris")
    assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.TRANSIENT, "bad_body")


SIGHTS = "Louvre Museum, Paris, Île-de-France, France"


@pytest.mark.parametrize(
    ("asked", "label"),
    [
        ("München", "Munich, Bavaria, Germany"),
        ("NYC", "New York City, New York, United States"),
        ("Paris", "Paris, Île-de-France, France"),
        ("paris, tx, usa", "Paris, Texas, United States"),
        ("Lyon France", "Lyon, Auvergne-Rhône-Alpes, France"),
        ("London, UK", "London, England, United Kingdom"),
        *((asked, SIGHTS) for asked in ("Louvre", "louvre, paris", "Louvre Museum Paris", SIGHTS)),
        ("JFK airport, New York", "John F. Kennedy International Airport, New York City, New York, United States"),
    ],
)
async def test_offline_towns_and_sights_are_found_in_free_form(sample: ToolContext, asked: str, label: str) -> None:
    assert (await find_place(sample, asked))[0].label == label


@pytest.mark.parametrize(
    "asked", ["Cape Town", "São Paulo", "Xi'an", "St. Louis", "Kraków", "Reykjavik", "Orly airport"]
)
async def test_a_label_given_back_is_the_same_place(sample: ToolContext, asked: str) -> None:
    place, _ = await find_place(sample, asked)
    assert await find_place(sample, place.label) == (place, "")


async def test_offline_the_largest_of_several_towns_is_taken_and_another_named(sample: ToolContext) -> None:
    place, note = await find_place(sample, "Springfield")
    assert place.region == "Missouri"
    assert "Springfield, Massachusetts, United States" in note


@pytest.mark.parametrize(
    "asked", ["10 Downing Street, London", "Louvre, Berlin", "Paris, Spain", "", "|", "\t", ",", "=?"]
)
async def test_offline_what_is_not_in_the_data_is_not_found(sample: ToolContext, asked: str) -> None:
    assert (await refused(sample, asked)).type == "unknown_place"


@given(st.text())
def test_folding_a_second_time_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text) == " ".join(fold(text).lower().split())


FOLDED = "Île-de-France=ile de france MÜNCHEN=munchen Straße=strasse D.C.=dc Xi’an=xian Łódź=lodz İzmir=izmir ?!="


@pytest.mark.parametrize("pair", FOLDED.replace("=ile de france", "=ile_de_france").split())
def test_case_accents_and_punctuation_do_not_count(pair: str) -> None:
    written, folded = pair.split("=")
    assert fold(written) == folded.replace("_", " ")


@given(spots, spots)
def test_a_distance_is_the_same_both_ways(a: Place, b: Place) -> None:
    assert math.isclose(distance_km(a, b), distance_km(b, a), abs_tol=1e-6)
    assert 0 <= distance_km(a, b) <= math.pi * EARTH_RADIUS_KM + 1e-6


def test_paris_to_lyon_is_392_km() -> None:
    paris, lyon = (Place(name="", latitude=x, longitude=y) for x, y in ((48.8566, 2.3522), (45.7640, 4.8357)))
    assert distance_km(paris, lyon) == pytest.approx(391.5, abs=1)


@given(st.floats(-90, 90).map(lambda x: round(x, 4)), st.floats(-180, 180).map(lambda x: round(x, 4)))
def test_coordinates_are_read_back_as_they_were_written(latitude: float, longitude: float) -> None:
    for written in (f"{latitude:.4f},{longitude:.4f}", f"Here ({latitude:.4f}, {longitude:.4f})"):
        place = place_at(written)
        assert place is not None
        assert (place.latitude, place.longitude) == (latitude, longitude)


@pytest.mark.parametrize("text", ["Paris", "Paris, France", "12", "1,2,3", "48.8N, 2.3E", "\u0661,\u0662", "nan,inf"])
def test_a_name_is_not_taken_for_coordinates(text: str) -> None:
    assert place_at(text) is None
