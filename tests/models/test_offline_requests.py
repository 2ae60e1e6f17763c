"""The built-in model plans what it understands of a request, and names what it did not understand beside it."""

from __future__ import annotations

from typing import Any

import pytest
from asking import HOTELS, SHIPPED, WEATHER, Tools, args_of, offer, planned

from leadhand.flows.offline.reading import read_words
from leadhand.tools.travel.gazetteer import search

PAY = offer("pay_tool", "amount", "to", description="Pay an amount of money.", amount={"type": "number"})
STOCK = offer("stock_tool", "item")
DICE = offer("dice_tool", "count", description="Rolls dice.", count={"type": "integer"})


def in_words(request: str, tools: Tools = SHIPPED) -> str:
    """The plan in one line: a place and its day, a means and its two ends, and behind a ``?`` what was left."""
    made = planned(request, tools)
    calls: list[str] = []
    for subtask in made.subtasks:
        match dict(subtask.args):
            case {"location": place, "day": day, **more}:
                calls.append(f"{place} {day}")
            case {"origin": start, "destination": end, "mode": mode, **more}:
                calls.append(f"{mode} {start} > {end}")
            case more:
                calls.append(f"{subtask.tool}({', '.join(map(str, more.values()))})")
                more = {}
        assert more == {}
    assert all(part.reason for part in made.cannot)
    assert len({subtask.name for subtask in made.subtasks}) == len(made.subtasks)
    return "; ".join([*calls, *(f"? {part.what}" for part in made.cannot)])


PLANS = r"""
What's the weather in Paris tomorrow? -> Paris tomorrow
Will it rain in Paris? -> Paris today
Do I need an umbrella in Paris? -> Paris today
What should I wear in Paris? -> Paris today
In Paris, what's the weather? -> Paris today
I live in Paris. Do I need an umbrella? -> Paris today
Do I need an umbrella if I go to Oslo in 3 days? -> Oslo 2026-11-24
weather rome milan -> Rome today; Milan today
paris: weather? -> Paris today
Is Paris warmer than Rome tomorrow? -> Paris tomorrow; Rome tomorrow
weather in Paris, Lyon and Nice -> Paris today; Lyon today; Nice today
weather in paris, texas and new york -> Paris, Texas today; New York today
Springfield, Illinois, USA weather -> Springfield, Illinois, USA today
Weather for Portland, OR and Seattle -> Portland, OR today; Seattle today
weather in portland, or seattle -> Portland today; Seattle today
weather in London, Ontario, Canada and in Birmingham, AL -> London, Ontario, Canada today; Birmingham, AL today
What's the weather in Paris (Texas)? -> Paris, Texas today
weather in Trinidad and Tobago -> Trinidad and Tobago today
Weather in Stoke-on-Trent and Frankfurt am Main please -> Stoke-on-Trent today; Frankfurt am Main today
Compare weather: Paris vs London -> Paris today; London today
Weather in:\n- Paris\n- Rio de Janeiro -> Paris today; Rio de Janeiro today
What is the weather in 東京? -> 東京 today
weather in Paris; weather in Paris; weather in paris -> Paris today
1. weather in Paris 2. weather in Rome -> Paris today; Rome today; ? 2
weather in Paris and Lyon tomorrow -> Paris tomorrow; Lyon tomorrow
weather today and tomorrow in Paris -> Paris today; Paris tomorrow
weather in paris today, lyon tomorrow, nice friday -> Paris today; Lyon tomorrow; Nice friday
Will it rain on Friday in Oslo or Bergen? -> Oslo friday; Bergen friday
What's the weather in Paris tomorrow? And in Lyon? -> Paris tomorrow; Lyon tomorrow
I'm going to Paris tomorrow. What's the weather there? -> Paris tomorrow
Berlin, Friday: rain? -> Berlin friday
I'm in Rome on Friday and in Oslo on Sunday. What's the weather? -> Rome friday; Oslo sunday
directions to the Louvre from Orly -> drive Orly > Louvre
How far is Versailles from the Louvre? -> drive Louvre > Versailles
between Paris and Lyon: distance? -> drive Paris > Lyon
Paris to Lyon by bike -> bicycle Paris > Lyon
Can I walk from the Louvre to Notre-Dame? -> walk Louvre > Notre-Dame
How long does it take to walk from Times Square to Central Park? -> walk Times Square > Central Park
I'm in Paris. How do I get to Orly? -> drive Paris > Orly
walk from the Louvre to the Eiffel Tower and drive from Paris to Lyon -> walk Louvre > Eiffel Tower; drive Paris > Lyon
Directions from Paris to Lyon, Nice and Cannes -> drive Paris > Lyon; drive Paris > Nice; drive Paris > Cannes
Directions from Paris, Lyon and Nice to Bonn -> drive Paris > Bonn; drive Lyon > Bonn; drive Nice > Bonn
Directions from Paris to Lyon to Nice -> drive Paris > Lyon; drive Lyon > Nice
cycle from Bonn to Amsterdam, then walk to Orly -> bicycle Bonn > Amsterdam; walk Amsterdam > Orly
route from "Gare du Nord" to "Gare de Lyon" -> drive Gare du Nord > Gare de Lyon
directions from St. Louis to Fort Worth -> drive St. Louis > Fort Worth
lyon from paris -> drive Paris > Lyon
directions from Paris to Lyon tomorrow -> drive Paris > Lyon
Vienna to Prague tomorrow: what is the route and the weather in Prague? -> drive Vienna > Prague; Prague tomorrow
Paris to Lyon, Lyon to Nice. Also the weather in Nice. -> drive Paris > Lyon; drive Lyon > Nice; Nice today
weather in Paris next week -> Paris today; ? next week
weather in Paris from Monday to Friday -> Paris friday; ? Monday
weather in Paris in Fahrenheit -> Paris today; ? Fahrenheit
weather in Paris on Sat -> Paris today; ? Sat
Book me a table: weather in Paris -> Paris today; ? Book me a table
weather in Oslo, and in Paris tomorrow for my wedding -> Oslo tomorrow; Paris tomorrow; ? wedding
weather in Paris, which hotels are cheap -> Paris today; ? which hotels are cheap
weather in Paris but not in Lyon -> Paris today; ? not in Lyon
weather in paris, but not today, tomorrow -> Paris tomorrow; ? not today
weather in Paris unless it is a Sunday -> Paris today; ? unless it is a Sunday
5 day forecast for Rome -> Rome today; ? 5
directions from Paris to Lyon without tolls -> drive Paris > Lyon; ? without tolls
Directions from Paris to Lyon via Dijon -> drive Paris > Lyon; ? via Dijon
from paris to lyon by train -> drive Paris > Lyon; ? train
hello -> ? hello
Paris -> ? Paris
Météo à Paris -> ? Météo à Paris
Convert 5 USD to EUR -> ? Convert 5 USD to EUR
book a flight from Paris to Rome -> ? book a flight from Paris to Rome
How do I get there? -> ? How do I get there?
What's the weather? -> ? What's the weather
nice weather -> ? nice weather
weather in xyzzy -> ? weather in xyzzy
"""


@pytest.mark.parametrize("line", PLANS.strip().splitlines())
def test_a_request_becomes_the_plan_that_was_meant(line: str) -> None:
    request, plan = line.replace(r"\n", "\n").split(" -> ")
    assert in_words(request) == plan


@pytest.mark.parametrize(
    ("when", "day"),
    [
        ("now", "now"),
        ("tonight", "today"),
        ("tomorrow evening", "tomorrow"),
        ("on Friday", "friday"),
        ("Friday morning", "friday"),
        ("on 2026-11-24", "2026-11-24"),
        ("on December 24th", "2026-12-24"),
        ("on 3 January", "2027-01-03"),
        ("the day after tomorrow", "2026-11-23"),
        ("in 3 days", "2026-11-24"),
        ("this weekend", "weekend"),
    ],
)
def test_a_day_may_stand_before_or_behind_the_place(when: str, day: str) -> None:
    assert in_words(f"weather in Oslo {when}") == in_words(f"What's the weather {when} in Oslo?") == f"Oslo {day}"


def test_subtasks_are_named_for_what_they_do_and_apart_from_each_other() -> None:
    def names(request: str) -> str:
        return " ".join(subtask.name for subtask in planned(request).subtasks)

    assert names("weather in Paris") == "check_weather"
    assert names("weather in Paris, Texas and São Paulo") == (
        "check_weather_paris_texas_today check_weather_sao_paulo_today"
    )
    assert names("directions from the Louvre to Orly") == "get_directions"
    assert names("Paris to Lyon and Lyon to Nice by car") == (
        "get_directions_paris_lyon_drive get_directions_lyon_nice_drive"
    )


@pytest.mark.parametrize("request_text", ["Pay 30 to Bob if he agrees", "Do not pay 30 to Bob"])
def test_half_of_a_condition_is_not_carried_out(request_text: str) -> None:
    assert args_of("Pay 30 to Bob. Pay 20 to Bob.", [PAY]) == [{"amount": 30, "to": "Bob"}, {"amount": 20, "to": "Bob"}]
    assert in_words(request_text, [WEATHER, PAY]).startswith("? ")


def test_a_missing_tool_is_named_as_the_reason() -> None:
    made = planned("weather in Paris and directions from Paris to Lyon", [])
    assert made.subtasks == ()
    assert ["weather_tool" in made.cannot[0].reason, "directions_tool" in made.cannot[1].reason] == [True, True]


@pytest.mark.parametrize(
    ("request_text", "tools", "plan"),
    [
        (
            "Travel advice for Paris: check the weather and find hotels",
            [WEATHER, HOTELS],
            "Paris today; hotel_tool(Paris)",
        ),
        ("Weather and find hotels in Paris", [WEATHER, HOTELS], "Paris today; hotel_tool(Paris)"),
        ("find hotels in Paris and Lyon", [HOTELS], "hotel_tool(Paris); hotel_tool(Lyon)"),
        ("use hotel_tool for Vienna", [HOTELS], "hotel_tool(Vienna)"),
        ('search the web for "bread and butter"', [offer("web_search", "query")], "web_search(bread and butter)"),
        ("What does tea cost?", [offer("cost_tool", "article")], "cost_tool(tea)"),
        ("flights from Paris to Rome", [offer("flight_tool", "origin", "destination")], "flight_tool(Paris, Rome)"),
        ("roll 3 dice", [DICE], "dice_tool(3)"),
        ("weather in Paris", [offer("my_weather", "city")], "my_weather(Paris)"),
        ("Stock of A-113, B-7 and C-9", [STOCK], "stock_tool(A-113); stock_tool(B-7); stock_tool(C-9)"),
        ("stock of red shoes and of blue socks", [STOCK], "stock_tool(red shoes); stock_tool(blue socks)"),
        ('stock of "salt and pepper" and "oil"', [STOCK], "stock_tool(salt and pepper); stock_tool(oil)"),
    ],
)
def test_a_tool_of_ones_own_is_planned_when_the_request_speaks_of_it(
    request_text: str, tools: Tools, plan: str
) -> None:
    assert in_words(request_text, tools) == plan


@pytest.mark.parametrize(
    ("request_text", "tool"),
    [
        ("Find hotels", HOTELS),  # where?
        ("book a hotel in Rome", HOTELS),  # it only finds
        ("stock of A-113 tomorrow", STOCK),  # it knows no days
        ("weather in Paris tomorrow", offer("weather_tool", "city")),
        ("send an email to Bob", offer("send_email", "to", "body", description="Sends an email")),  # saying what?
        ("weather in Paris", offer("weather_tool", "locations", locations={"type": "array"})),
        ("paint 3 dice", DICE),
    ],
)
def test_of_a_call_that_would_miss_something_no_half_is_carried_out(request_text: str, tool: dict[str, Any]) -> None:
    made = planned(request_text, [tool])
    assert (made.subtasks, len(made.cannot)) == ((), 1)


@pytest.mark.slow
def test_the_sample_places_know_every_place_in_lower_case_by_exactly_its_name() -> None:
    names = [name.replace("_", " ") for names in read_words("cities.txt").values() for name in names]
    assert len(names) > 800
    assert [name for name in names if not search(name)] == []
