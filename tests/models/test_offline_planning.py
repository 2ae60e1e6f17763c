"""The built-in model plans what it understands of weather and ways: places, days, means."""

from __future__ import annotations

import pytest
from asking import (
    args_of,
    places,
    planned,
    ways,
)


@pytest.mark.parametrize(
    ("request_text", "subtasks", "cannot"),
    [
        ("What's the weather in Paris tomorrow?", 1, 0),
        ("How do I get from the Louvre to Orly?", 1, 0),
        ("What's the weather in Paris and how do I get there from Lyon?", 2, 0),
        ("weather in Paris, Lyon, Nice, Berlin and Rome", 5, 0),
        (
            (
                "Routes from Paris to Lyon, from Lyon to Nice and from Nice to Cannes, "
                "and the weather in Paris, Lyon, Nice and Cannes"
            ),
            7,
            0,
        ),
        (
            (
                "Three routes please: Paris to Lyon, Lyon to Nice, Nice to Cannes. "
                "Also the weather in Paris, Lyon, Nice and Cannes."
            ),
            7,
            0,
        ),
        ("book me a table", 0, 1),
        ("What is the weather in Paris and book me a table at a restaurant", 1, 1),
        ("Book me a table: weather in Paris", 1, 1),
        ("", 0, 1),
        ("hello", 0, 1),
        ("Thanks!", 0, 1),
        ("How are you?", 0, 1),
        ("Paris", 0, 1),
        ("Météo à Paris", 0, 1),
    ],
)
def test_plans_as_much_as_was_asked(request_text: str, subtasks: int, cannot: int) -> None:
    made = planned(request_text)
    assert (len(made.subtasks), len(made.cannot)) == (subtasks, cannot)


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("weather in Paris, Lyon and Nice", ["Paris", "Lyon", "Nice"]),
        ("Weather in Paris, Texas", ["Paris, Texas"]),
        ("weather in paris, texas and new york", ["Paris, Texas", "New York"]),
        ("What's the weather in Paris, France and Berlin, Germany?", ["Paris, France", "Berlin, Germany"]),
        ("Springfield, Illinois, USA weather", ["Springfield, Illinois, USA"]),
        ("Weather for Portland, OR and Seattle", ["Portland, OR", "Seattle"]),
        ("weather in paris and new york and rome", ["Paris", "New York", "Rome"]),
        ("weather in portland, or seattle", ["Portland", "Seattle"]),
        ("weather in Boston, New York and Washington", ["Boston", "New York", "Washington"]),
        ("weather in London, Ontario, Canada and in Birmingham, AL", ["London, Ontario, Canada", "Birmingham, AL"]),
        ("weather in Tbilisi, Georgia; Atlanta, Georgia, USA", ["Tbilisi, Georgia", "Atlanta, Georgia, USA"]),
        ("What's the weather in Paris (Texas)?", ["Paris, Texas"]),
        ("weather in Trinidad and Tobago", ["Trinidad and Tobago"]),
        ("Weather in Stoke-on-Trent and Frankfurt am Main please", ["Stoke-on-Trent", "Frankfurt am Main"]),
        ("weather in Paris/Lyon", ["Paris", "Lyon"]),
        ("Compare weather: Paris vs London", ["Paris", "London"]),
        ("Weather in:\n- Paris\n- Rio de Janeiro", ["Paris", "Rio de Janeiro"]),
        ("What is the weather in 東京?", ["東京"]),
        ("weather in Paris; weather in Paris; weather in paris", ["Paris"]),
        ("1. weather in Paris 2. weather in Rome", ["Paris", "Rome"]),
        ("Please provide:\n1) weather in Paris\n2) weather in Rome", ["Paris", "Rome"]),
    ],
)
def test_knows_where_a_place_ends(request_text: str, expected: list[str]) -> None:
    assert places(request_text) == expected


@pytest.mark.parametrize(
    "request_text",
    [
        "Paris's weather",
        "Paris weather",
        "weather Paris",
        "How warm is it in Paris?",
        "Will it rain in Paris?",
        "Is Paris sunny?",
        "Is it going to be cold in Paris",
        "Is there any rain in Paris?",
        "Do I need an umbrella in Paris?",
        "What should I wear in Paris?",
        "temperature in Paris",
        "Give me the forecast for Paris",
        "Could you please check what the temperature is in Paris?",
        "In Paris, what's the weather?",
        "I'm in Paris. Will I need an umbrella?",
        "I live in Paris. Do I need an umbrella?",
        "Hello, weather in Paris please",
        "Please tell me the weather in Paris. Thanks!",
    ],
)
def test_understands_the_many_ways_to_ask_for_the_weather(request_text: str) -> None:
    made = planned(request_text)
    assert [(s.name, s.tool, s.args) for s in made.subtasks] == [
        ("check_weather", "weather_tool", {"location": "Paris", "day": "today"})
    ]
    assert made.cannot == ()


@pytest.mark.parametrize(
    ("when", "day"),
    [
        ("today", "today"),
        ("now", "now"),
        ("tonight", "today"),
        ("tomorrow", "tomorrow"),
        ("tomorrow evening", "tomorrow"),
        ("on Friday", "friday"),
        ("Friday morning", "friday"),
        ("on 2026-11-24", "2026-11-24"),
        ("on December 24th", "2026-12-24"),
        ("on 3 December", "2026-12-03"),
        ("on 3 January", "2027-01-03"),
        ("the day after tomorrow", "2026-11-23"),
        ("in 3 days", "2026-11-24"),
        ("this weekend", "weekend"),
    ],
)
def test_a_day_may_stand_before_or_behind_the_place(when: str, day: str) -> None:
    assert args_of(f"weather in Oslo {when}") == [{"location": "Oslo", "day": day}]
    assert args_of(f"What's the weather {when} in Oslo?") == [{"location": "Oslo", "day": day}]


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("weather in Paris and Lyon tomorrow", [("Paris", "tomorrow"), ("Lyon", "tomorrow")]),
        ("weather in Paris today and Lyon tomorrow", [("Paris", "today"), ("Lyon", "tomorrow")]),
        ("weather in Paris today and tomorrow", [("Paris", "today"), ("Paris", "tomorrow")]),
        ("weather today and tomorrow in Paris", [("Paris", "today"), ("Paris", "tomorrow")]),
        ("Will it rain on Friday in Oslo or Bergen?", [("Oslo", "friday"), ("Bergen", "friday")]),
        ("What's the weather in Paris tomorrow? And in Lyon?", [("Paris", "tomorrow"), ("Lyon", "tomorrow")]),
        ("Will it rain in Paris tomorrow and what's the temperature?", [("Paris", "tomorrow")]),
        ("I'm going to Paris tomorrow. What's the weather there?", [("Paris", "tomorrow")]),
        ("Berlin, Friday: rain?", [("Berlin", "friday")]),
        ("Paris weather and Lyon weather for tomorrow", [("Paris", "tomorrow"), ("Lyon", "tomorrow")]),
    ],
)
def test_days_belong_to_the_places_they_are_said_of(request_text: str, expected: list[tuple[str, str]]) -> None:
    assert [(args["location"], args["day"]) for args in args_of(request_text)] == expected


@pytest.mark.parametrize(
    ("when", "left"),
    [
        ("next week", "next week"),
        ("from Monday to Friday", "Monday"),
        ("in Fahrenheit", "Fahrenheit"),
        ("on Sat", "Sat"),
    ],
)
def test_a_day_or_a_unit_that_it_does_not_know_is_named(when: str, left: str) -> None:
    made = planned(f"weather in Paris {when}")
    assert {each.args["location"] for each in made.subtasks} == {"Paris"}
    assert [each.what for each in made.cannot] == [left]


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("How do I get from the Louvre to Orly?", [("Louvre", "Orly", "drive")]),
        ("directions to the Louvre from Orly", [("Orly", "Louvre", "drive")]),
        ("How far is Versailles from the Louvre?", [("Louvre", "Versailles", "drive")]),
        ("How far is it from Paris to Lyon?", [("Paris", "Lyon", "drive")]),
        ("Tell me how far Bergen is from Oslo", [("Oslo", "Bergen", "drive")]),
        ("distance between Paris and Lyon", [("Paris", "Lyon", "drive")]),
        ("between Paris and Lyon: distance?", [("Paris", "Lyon", "drive")]),
        ("Paris to Lyon by bike", [("Paris", "Lyon", "bicycle")]),
        ("Paris to Lyon", [("Paris", "Lyon", "drive")]),
        ("New York to Boston", [("New York", "Boston", "drive")]),
        ("how do i get from paris to lyon", [("Paris", "Lyon", "drive")]),
        ("get directions from Milan to Turin on foot", [("Milan", "Turin", "walk")]),
        ("Can I walk from the Louvre to Notre-Dame?", [("Louvre", "Notre-Dame", "walk")]),
        (
            "How long does it take to walk from Times Square to Central Park?",
            [("Times Square", "Central Park", "walk")],
        ),
        ("What's the fastest way to Orly from the Louvre?", [("Louvre", "Orly", "drive")]),
        ("Going from Berlin to Prague by car, how long does it take?", [("Berlin", "Prague", "drive")]),
        ("I'm in Paris. How do I get to Orly?", [("Paris", "Orly", "drive")]),
        (
            "directions from the Louvre to Orly and from Orly to Versailles",
            [("Louvre", "Orly", "drive"), ("Orly", "Versailles", "drive")],
        ),
        (
            "walk from the Louvre to the Eiffel Tower and drive from Paris to Lyon",
            [("Louvre", "Eiffel Tower", "walk"), ("Paris", "Lyon", "drive")],
        ),
        (
            "Directions from Paris to Lyon, Nice and Cannes",
            [("Paris", "Lyon", "drive"), ("Paris", "Nice", "drive"), ("Paris", "Cannes", "drive")],
        ),
        (
            "Directions from Paris, Lyon and Nice to Marseille",
            [("Paris", "Marseille", "drive"), ("Lyon", "Marseille", "drive"), ("Nice", "Marseille", "drive")],
        ),
        ("Directions from Paris to Lyon to Nice", [("Paris", "Lyon", "drive"), ("Lyon", "Nice", "drive")]),
        ("From Bonn drive to Trier and then to Metz", [("Bonn", "Trier", "drive"), ("Trier", "Metz", "drive")]),
        (
            "cycle from Utrecht to Amsterdam, then walk to the Rijksmuseum",
            [("Utrecht", "Amsterdam", "bicycle"), ("Amsterdam", "Rijksmuseum", "walk")],
        ),
        ("Directions from Paris, France to Lyon, France", [("Paris, France", "Lyon, France", "drive")]),
        ("directions from the Eiffel Tower to the Louvre, Paris", [("Eiffel Tower", "Louvre, Paris", "drive")]),
        ('route from "Gare du Nord" to "Gare de Lyon"', [("Gare du Nord", "Gare de Lyon", "drive")]),
        ("directions from St. Louis to Fort Worth", [("St. Louis", "Fort Worth", "drive")]),
    ],
)
def test_understands_the_many_ways_to_ask_for_a_way(request_text: str, expected: list[tuple[str, str, str]]) -> None:
    assert ways(request_text) == expected


def test_there_is_the_place_spoken_of_last() -> None:
    assert args_of("Directions from Paris to Lyon. What's the weather there?")[1]["location"] == "Lyon"


def test_subtasks_are_named_for_what_they_do_and_apart_from_each_other() -> None:
    def names(request: str) -> list[str]:
        return [subtask.name for subtask in planned(request).subtasks]

    assert names("weather in Paris") == ["check_weather"]
    assert names("weather in Paris, Texas and São Paulo") == [
        *("check_weather_paris_texas_today", "check_weather_sao_paulo_today")
    ]
    assert names("weather in Paris today and tomorrow") == [
        *("check_weather_paris_today", "check_weather_paris_tomorrow")
    ]
    assert names("directions from the Louvre to Orly") == ["get_directions"]
    assert names("Paris to Lyon and Lyon to Nice by car") == [
        *("get_directions_paris_lyon_drive", "get_directions_lyon_nice_drive")
    ]
