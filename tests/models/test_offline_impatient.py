"""Requests as people type them in a hurry: in lower case, without prepositions, with an afterthought."""

from __future__ import annotations

import pytest
from asking import args_of, planned, ways

from leadhand.flows.offline.words import read_words
from leadhand.tools.gazetteer import sights_named, towns_named


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("weather paris", [("Paris", "today")]),
        ("paris weather", [("Paris", "today")]),
        ("london weather tomorrow pls", [("London", "tomorrow")]),
        ("forecast new york friday", [("New York", "friday")]),
        ("whats the weather in rome", [("Rome", "today")]),
        ("weather paris france", [("Paris, France", "today")]),
        ("weather in san francisco ca", [("San Francisco, CA", "today")]),
        ("weather rome milan", [("Rome", "today"), ("Milan", "today")]),
        ("paris: weather?", [("Paris", "today")]),
        (
            "weather in paris, rome, and oslo tomorrow",
            [("Paris", "tomorrow"), ("Rome", "tomorrow"), ("Oslo", "tomorrow")],
        ),
        ("weather in rome and then milan", [("Rome", "today"), ("Milan", "today")]),
        (
            "weather in paris today, lyon tomorrow, nice friday",
            [("Paris", "today"), ("Lyon", "tomorrow"), ("Nice", "friday")],
        ),
        ("I'm in Rome on Friday and in Oslo on Sunday, weather?", [("Rome", "friday"), ("Oslo", "sunday")]),
        ("I'm in Rome on Friday and in Oslo on Sunday. What's the weather?", [("Rome", "friday"), ("Oslo", "sunday")]),
        ("in rome on friday and oslo on sunday: weather", [("Rome", "friday"), ("Oslo", "sunday")]),
        ("I'm flying to Oslo on Friday, will it snow?", [("Oslo", "friday")]),
        ("tell me if it will rain in oslo tomorrow", [("Oslo", "tomorrow")]),
        ("do you know whether it rains in Paris", [("Paris", "today")]),
    ],
)
def test_places_in_lower_case_have_their_days(request_text: str, expected: list[tuple[str, str]]) -> None:
    made = planned(request_text)
    assert [(subtask.args["location"], subtask.args["day"]) for subtask in made.subtasks] == expected
    assert made.cannot == ()


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("paris to lyon", [("Paris", "Lyon", "drive")]),
        ("lyon from paris", [("Paris", "Lyon", "drive")]),
        (
            "from lyon to nice, marseille and toulon on foot",
            [("Lyon", each, "walk") for each in ("Nice", "Marseille", "Toulon")],
        ),
        ("directions from paris to lyon then nice", [("Paris", "Lyon", "drive"), ("Lyon", "Nice", "drive")]),
        ("walk from the louvre to notre dame", [("Louvre", "Notre Dame", "walk")]),
    ],
)
def test_routes_in_lower_case(request_text: str, expected: list[tuple[str, str, str]]) -> None:
    assert ways(request_text) == expected
    assert planned(request_text).cannot == ()


@pytest.mark.parametrize(
    "request_text",
    [
        "weather in paris, but not today, tomorrow",
        "weather in rome if it is sunny",
        "if it is sunny in rome, weather in paris",
        "humidity in paris",
        "weather in paris, xyzzy and nantes tomorrow",
        "from paris to lyon and nice by train",
        "from paris to lyon and xyzzy by train",
        "from paris to lyon and back by bike",
        "weather paris today lyon tomorrow",
        "weather paris (today), london (tomorrow)",
        "weather in springfield il",
        "weather in oslo quickly please",
        "weather in oslo and nice weather",
        "distance between lyon, nice and monaco",
    ],
)
def test_what_may_change_the_rest_of_a_request_declines_it_as_a_whole(request_text: str) -> None:
    made = planned(request_text)
    assert made.subtasks == ()
    assert [part.what for part in made.cannot] == [request_text]


@pytest.mark.parametrize(
    ("request_text", "left"),
    [
        ("weather in oslo, in detail and quick", "in detail and quick"),
        ("weather in oslo and uv index", "uv index"),
        ("give me weather in oslo, and quickly", "quickly"),
        ("weather in oslo, hotels too", "hotels too"),
        ("weather in oslo and book me a table on friday", "book me a table on friday"),
    ],
)
def test_a_word_in_lower_case_is_a_place_only_if_it_is_well_known(request_text: str, left: str) -> None:
    assert args_of(request_text) == [{"location": "Oslo", "day": "today"}]
    assert [part.what for part in planned(request_text).cannot] == [left]


@pytest.mark.slow
def test_the_sample_places_know_every_place_in_lower_case_by_exactly_its_name() -> None:
    names = [name.replace("_", " ") for names in read_words("cities.txt").values() for name in names]
    assert len(names) > 800
    assert [name for name in names if not towns_named(name) and not sights_named(name)] == []
