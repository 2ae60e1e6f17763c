"""Names are compared by what they sound like on paper; distances follow the globe."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.errors import FailureClass, ToolError
from leadhand.tools.geography import (
    EARTH_RADIUS_KM,
    Place,
    bearing,
    compass_point,
    distance_km,
    fold,
    parse_coordinates,
    place_at,
    without_article,
)

places = st.builds(
    Place,
    name=st.just("somewhere"),
    latitude=st.floats(-90, 90, allow_nan=False),
    longitude=st.floats(-180, 180, allow_nan=False),
)


def spot(latitude: float, longitude: float) -> Place:
    return Place(name="spot", latitude=latitude, longitude=longitude)


@given(st.text())
def test_folding_a_second_time_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text) == " ".join(fold(text).lower().split())


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Île-de-France", "ile de france"),
        ("MÜNCHEN", "munchen"),
        ("Straße", "strasse"),
        ("D.C.", "dc"),
        ("Xi’an", "xian"),
        ("  St.  Louis ", "st louis"),
        ("Łódź", "lodz"),
        ("İzmir", "izmir"),
        ("東京", "東京"),
        ("?!", ""),
    ],
)
def test_case_accents_and_punctuation_do_not_count(written: str, folded: str) -> None:
    assert fold(written) == folded


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("the Louvre", "Louvre"),
        ("The Louvre, Paris", "Louvre, Paris"),
        ("The Hague", "The Hague"),
        ("the hague, Netherlands", "the hague, Netherlands"),
        ("Theale", "Theale"),
        ("the", "the"),
        ("Le Mans", "Le Mans"),
    ],
)
def test_a_leading_the_is_dropped_unless_it_belongs_to_the_name(said: str, meant: str) -> None:
    assert without_article(said) == meant


@given(places, places)
def test_a_distance_is_the_same_both_ways(a: Place, b: Place) -> None:
    assert math.isclose(distance_km(a, b), distance_km(b, a), abs_tol=1e-6)
    assert 0 <= distance_km(a, b) <= math.pi * EARTH_RADIUS_KM + 1e-6


@given(places, places)
def test_a_bearing_lies_between_0_and_360_degrees(a: Place, b: Place) -> None:
    assert 0 <= bearing(a, b) < 360


def test_paris_to_lyon_is_392_km() -> None:
    assert distance_km(spot(48.8566, 2.3522), spot(45.7640, 4.8357)) == pytest.approx(391.5, abs=1)


@pytest.mark.parametrize(
    ("latitude", "longitude", "point"), [(1, 0, "north"), (0, 1, "east"), (-1, 0, "south"), (0, -1, "west")]
)
def test_bearings_name_the_points_of_the_compass(latitude: float, longitude: float, point: str) -> None:
    assert compass_point(bearing(spot(0, 0), spot(latitude, longitude))) == point
    assert compass_point(359.9) == "north"


@given(st.floats(-90, 90).map(lambda x: round(x, 4)), st.floats(-180, 180).map(lambda x: round(x, 4)))
def test_coordinates_are_read_back_as_they_were_written(latitude: float, longitude: float) -> None:
    for written in (f"{latitude:.4f},{longitude:.4f}", f"Here ({latitude:.4f}, {longitude:.4f})"):
        assert parse_coordinates(written) == (latitude, longitude)


@pytest.mark.parametrize("text", ["Paris", "Paris, France", "12", "1,2,3", "48.8N, 2.3E", "\u0661,\u0662", "nan,inf"])
def test_a_name_is_not_taken_for_coordinates(text: str) -> None:
    assert parse_coordinates(text) is None


@pytest.mark.parametrize("text", ["91,0", "0,181", "-90.5,10"])
def test_coordinates_off_the_globe_are_refused(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_coordinates(text)
    assert caught.value.failure.class_ is FailureClass.INVALID


def test_a_label_names_each_part_once() -> None:
    berlin = Place(name="Berlin", latitude=52.5, longitude=13.4, city="Berlin", region="Berlin", country="Germany")
    assert berlin.label == "Berlin, Germany"


def test_a_place_given_by_its_exact_label_is_found_at_the_same_spot() -> None:
    place = Place(name="San José", latitude=9.9339, longitude=-84.0849, country="Costa Rica")
    again = place_at(place.exact_label)
    assert again is not None
    assert again.name.startswith("San José")
    assert (again.latitude, again.longitude) == (9.9339, -84.0849)
