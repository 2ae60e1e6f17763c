"""A name becomes the one place that is meant, or an error from which the right question can be asked."""

from __future__ import annotations

from typing import Any

import pytest

from leadhand.core.errors import FailureClass, ToolError
from leadhand.ports import ToolContext
from leadhand.tools.places import resolve_ends, resolve_town
from leadhand.tools.services import ServiceUrls

URLS = ServiceUrls()


def town(
    name: str, country_code: str, admin1: str, population: int | None, at: tuple[float, float], **more: Any
) -> Any:
    countries = {"FR": "France", "US": "United States", "GB": "United Kingdom", "MX": "Mexico", "IT": "Italy"}
    hit = {
        "id": 1,
        "name": name,
        "latitude": at[0],
        "longitude": at[1],
        "feature_code": "PPL",
        "country_code": country_code,
        "country": countries[country_code],
        "admin1": admin1,
        "timezone": "UTC",
        **more,
    }
    return hit if population is None else hit | {"population": population}


PARIS = town("Paris", "FR", "Île-de-France", 2138551, (48.85, 2.35), feature_code="PPLC", admin2="Paris")
PARIS_TEXAS = town("Paris", "US", "Texas", 24782, (33.66, -95.56))
ORLY = "Paris-Orly Airport"
IN_FRANCE, IN_TEXAS = "Paris, Île-de-France, France", "Paris, Texas, United States"
SPRINGFIELD = [
    town("Springfield", "US", "Missouri", 170188, (37.22, -93.30)),
    town("Springfield", "US", "Massachusetts", 154341, (42.10, -72.59)),
    town("Springfield", "US", "Illinois", 114394, (39.80, -89.64)),
]


def hit(name: str, at: tuple[float, float], importance: float | None = 0.5, **address: str) -> dict[str, Any]:
    """One result as nominatim.openstreetmap.org gives it with format=jsonv2 and addressdetails=1."""
    place = {"country": "France", "country_code": "fr", **address}
    return {"lat": str(at[0]), "lon": str(at[1]), "importance": importance, "name": name, "address": place}


def knows(web: Any, *towns: Any) -> None:
    web.says("open-meteo-geocoding", {"results": list(towns)} if towns else {"generationtime_ms": 0.2})


async def labelled(context: ToolContext, text: str) -> str:
    return (await resolve_town(context, URLS, text)).place.label


async def refused(context: ToolContext, text: str) -> Any:
    with pytest.raises(ToolError) as caught:
        await resolve_town(context, URLS, text)
    assert caught.value.failure.class_ is FailureClass.INVALID
    return caught.value.failure


async def test_a_name_means_its_town_when_that_is_by_far_the_largest(web: Any, context: ToolContext) -> None:
    knows(web, PARIS_TEXAS, PARIS)
    found = await resolve_town(context, URLS, "paris")
    assert found.place.label == IN_FRANCE
    assert "“paris”" in found.note
    assert IN_TEXAS in found.note


async def test_a_name_that_only_one_place_bears_needs_no_note(web: Any, context: ToolContext) -> None:
    knows(web, PARIS)
    assert (await resolve_town(context, URLS, "Paris")).note == ""


TEXAN = ("Paris, Texas", "Paris, TX", "paris, tx, usa", "Paris, United States", "Paris, US", IN_TEXAS)
FRENCH = ("Paris, France", "Paris, FR", "PARIS, ile-de-france", "Paris, Paris, France")


@pytest.mark.parametrize(
    ("asked", "label"), [*((asked, IN_TEXAS) for asked in TEXAN), *((asked, IN_FRANCE) for asked in FRENCH)]
)
async def test_what_follows_the_comma_decides(web: Any, context: ToolContext, asked: str, label: str) -> None:
    knows(web, PARIS, PARIS_TEXAS)
    assert await labelled(context, asked) == label
    assert web.asked[0][2]["name"].lower() == "paris"


async def test_without_a_comma_the_last_words_are_tried_as_what_qualifies(web: Any, context: ToolContext) -> None:
    knows(web)
    knows(web, PARIS, PARIS_TEXAS)
    assert await labelled(context, "Paris Texas") == IN_TEXAS
    assert [params["name"] for _, _, params in web.asked] == ["Paris Texas", "Paris"]


async def test_the_largest_of_several_towns_is_taken_and_named(web: Any, context: ToolContext) -> None:
    knows(web, *reversed(SPRINGFIELD))
    found = await resolve_town(context, URLS, "Springfield")
    assert found.place.label == "Springfield, Missouri, United States"
    assert "Springfield, Massachusetts, United States" in found.note
    for each in SPRINGFIELD:
        label = f"Springfield, {each['admin1']}, United States"
        assert await labelled(context, label) == label


async def test_candidates_that_share_a_label_are_told_apart_by_coordinates(web: Any, context: ToolContext) -> None:
    knows(web, town("San José", "MX", "", 30_000, (19.0, -99.0)), town("San José", "MX", "", 29_000, (25.0, -103.0)))
    assert "San José, Mexico (25.0000,-103.0000)" in (await resolve_town(context, URLS, "San José")).note
    again = await resolve_town(context, URLS, "San José, Mexico (25.0000,-103.0000)")
    assert (again.place.latitude, again.place.longitude) == (25.0, -103.0)


async def test_entries_of_one_town_are_one_candidate(web: Any, context: ToolContext) -> None:
    knows(web, PARIS, {**PARIS, "latitude": 48.86, "feature_code": "ADM2", "population": 2_100_000})
    assert (await resolve_town(context, URLS, "Paris")).note == ""


async def test_a_longer_name_is_not_meant_by_a_shorter_one(web: Any, context: ToolContext) -> None:
    knows(
        web,
        town("Newport News", "US", "Virginia", 186_247, (37.0, -76.4)),
        town("Newport", "GB", "Wales", 145_700, (51.6, -3.0)),
        town("Newport", "US", "Rhode Island", 24_672, (41.5, -71.3)),
    )
    assert "Wales" in await labelled(context, "Newport")


async def test_a_famous_town_is_found_by_its_other_name(web: Any, context: ToolContext) -> None:
    knows(web, town("Roma", "US", "Texas", 10_265, (26.4, -99.0)), town("Rome", "IT", "Lazio", 2_318_895, (41.9, 12.5)))
    found = await resolve_town(context, URLS, "Roma")
    assert found.place.label == "Rome, Lazio, Italy"
    assert "“Roma”" in found.note


async def test_a_whole_country_has_no_weather(web: Any, context: ToolContext) -> None:
    knows(web, town("France", "FR", "", 67_000_000, (46.0, 2.0), feature_code="PCLI"))
    failure = await refused(context, "France")
    assert failure.type == "place_too_large"
    assert "France" in failure.next_action


async def test_a_town_goes_before_the_state_of_its_name(web: Any, context: ToolContext) -> None:
    knows(
        web,
        town("New York", "US", "New York", 19_274_244, (43.0, -75.5), feature_code="ADM1"),
        town("New York", "US", "New York", 8_804_190, (40.7, -74.0)),
    )
    assert (await resolve_town(context, URLS, "New York")).place.latitude == 40.7


async def test_an_unknown_name_says_so_and_what_to_do(web: Any, context: ToolContext) -> None:
    knows(web)
    web.says("nominatim", [])
    failure = await refused(context, "Qwertzuiop")
    assert failure.type == "unknown_place"
    assert "Qwertzuiop" in failure.message


async def test_a_wrong_country_lists_the_places_that_do_exist(web: Any, context: ToolContext) -> None:
    knows(web, PARIS, PARIS_TEXAS)
    web.says("nominatim", [hit("Calle de París", (40.4, -3.7))])
    failure = await refused(context, "Paris, Spain")
    assert failure.type == "unknown_place"
    assert IN_FRANCE in failure.next_action
    assert IN_TEXAS in failure.next_action


async def test_what_is_no_town_is_looked_up_as_an_address(web: Any, context: ToolContext) -> None:
    knows(web)
    web.says("nominatim", [hit("Louvre Museum", (48.86, 2.34), city="Paris", state="Ile-de-France")])
    found = await resolve_town(context, URLS, "the Louvre")
    assert found.place.label.split(", ") == ["Louvre Museum", "Paris", "Ile-de-France", "France"]
    assert found.place.from_openstreetmap
    assert web.asked[-1][2]["q"] == "Louvre"


async def test_a_small_lookalike_is_believed_only_when_nothing_bears_the_name(web: Any, context: ToolContext) -> None:
    knows(web, town("Louvres", "FR", "Île-de-France", 9_000, (49.04, 2.50)))
    web.says("nominatim", [hit("Louvre Museum", (48.86, 2.34), city="Paris")])
    web.says("nominatim", [])
    assert (await labelled(context, "Louvre")).startswith("Louvre Museum")
    assert (await labelled(context, "Louvre")).startswith("Louvres")


async def test_of_an_address_in_two_places_the_best_known_is_taken(web: Any, context: ToolContext) -> None:
    knows(web)
    web.says("nominatim", [hit("Main Street", (52.0, 0.1), 0.19, city="Ely"), hit("Main Street", (40.0, -75.0), 0.2)])
    found = await resolve_town(context, URLS, "Main Street 1")
    assert found.place.latitude == 40.0
    assert "Ely" in found.note


@pytest.mark.parametrize("text", ["", "  ", ",", "the"])
async def test_no_name_is_no_place(web: Any, context: ToolContext, text: str) -> None:
    if text == "the":
        knows(web)
        web.says("nominatim", [])
    assert (await refused(context, text)).type == "unknown_place"


async def ends(context: ToolContext, origin: str, destination: str) -> tuple[str, str]:
    start, end = await resolve_ends(context, URLS, origin, destination)
    return start.place.label, end.place.label


async def test_the_more_important_of_two_places_is_meant(web: Any, context: ToolContext) -> None:
    web.says("nominatim", [hit("Louvre-Lens", (50.43, 2.80), 0.45), hit("Louvre Museum", (48.86, 2.34), 0.66)])
    web.says("nominatim", [hit(ORLY, (48.73, 2.37), 0.55)])
    start, end = await ends(context, "the Louvre", "Orly airport")
    assert (start, end) == ("Louvre Museum, France", f"{ORLY}, France")


async def test_of_places_far_apart_the_best_known_is_taken_and_the_next_named(web: Any, context: ToolContext) -> None:
    reunion = hit("Saint-Denis", (-20.88, 55.45), 0.6, country="Réunion")
    web.says("nominatim", [hit("Saint-Denis", (48.94, 2.36), 0.55), reunion])
    web.says("nominatim", [hit("Louvre Museum", (48.86, 2.34), 0.66)])
    start, end = await resolve_ends(context, URLS, "Saint-Denis", "Louvre")
    assert start.place.latitude == -20.88
    assert "Saint-Denis, France" in start.note
    assert end.note == ""


async def test_results_close_together_are_one_place(web: Any, context: ToolContext) -> None:
    web.says("nominatim", [hit("Orly", (48.74, 2.40), 0.5), hit("Orly Airport", (48.73, 2.37), 0.5)])
    start, _ = await resolve_ends(context, URLS, "Orly", "0,0")
    assert start.note == ""


async def test_coordinates_as_an_end_ask_nobody(web: Any, context: ToolContext) -> None:
    start, end = await resolve_ends(context, URLS, "48.8606,2.3376", "Home (48.9,2.4)")
    assert (start.place.latitude, end.place.name) == (48.8606, "Home")
    assert web.asked == []


async def test_offline_an_unknown_place_says_what_is_known(sample: ToolContext) -> None:
    failure = await refused(sample, "Downing Street")
    assert (failure.type, "offline" in failure.next_action) == ("unknown_place", True)
