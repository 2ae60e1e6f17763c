"""What a text states must come from somewhere: inventions are found, and honest wordings are left alone."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.domain.explaining import Evidence

TODAY = date(2026, 11, 22)
WEATHER = {
    "place": "Paris",
    "days": [
        {"date": "2026-11-23", "max": 14.1, "min": 7.2, "rain_mm": 2.6, "chance": 82},
        {"date": "2026-11-24", "max": 12.4, "min": 5.8, "rain_mm": 0.0, "chance": 10},
        {"date": "2026-11-25", "max": -3.0, "min": -6.5, "rain_mm": 11.3, "chance": 95},
    ],
}
ROUTE = {"km": 15.1, "seconds": 5400, "departs": "2026-11-22T10:05:00Z", "fare": 2.5, "currency": "EUR"}
PRICES = {"shops": [{"name": "A", "price": 1234.5}, {"name": "B", "price": 1199}, {"name": "C", "price": 1300}]}
CITY = {"population": 2102650, "area_km2": 105.4, "share": 0.257, "founded": 1889, "passed": 5, "of": 20}
PAGE = "Opened in 1889. The board has seven members; flight LH4711, version 1.2.3, https://example.org/a?b=1."

HONEST: list[tuple[Any, str]] = [
    (WEATHER, "Tomorrow it will be between 7.2 and 14.1 °C in Paris, with 2.6 mm of rain."),
    (WEATHER, "Tomorrow: 7–14 °C, an 82 % chance of rain."),
    (WEATHER, "Up to 14 degrees, at night about 7 degrees."),
    (WEATHER, "On 23 November 2026 it rains (2.6 mm)."),
    (WEATHER, "From November 23 to November 25 it gets colder."),
    (WEATHER, "23–25 November: cold."),
    (WEATHER, "Am 23. November werden 14,1 °C erreicht."),
    (WEATHER, "Le 25 novembre, il fera -6,5 °C."),
    (WEATHER, "On 25.11.2026 it is minus 3 degrees; on 11/24/2026, 12."),
    (WEATHER, "The high is 57.4 °F and the low 45 °F."),
    (WEATHER, "Rain is more likely than not: 82 percent, then ten percent, then ninety-five percent."),
    (WEATHER, "The three days bring 13.9 mm of rain in total."),
    (WEATHER, "On the first day 2.6 mm fall and on the third 11.3 mm, together 13.9 mm."),
    (WEATHER, "The average high is 7.8 °C."),
    (WEATHER, "It will be 1.7 degrees colder on the second day than on the first (12.4 instead of 14.1)."),
    (WEATHER, "1. 23 November: wet\n2. 24 November: dry\n3. 25 November: frost"),
    (WEATHER, "Day 1: 14 °C. Day 2: 12 °C. Day 3: frost. No rain (0 mm) on 24 Nov."),
    (ROUTE, "The trip of 15.1 km takes 90 minutes."),
    (ROUTE, "It takes an hour and a half (1.5 hours) for about 15 km, or 9.4 miles."),
    (ROUTE, "It takes 1.5 h and costs €2.50."),
    (ROUTE, "You leave at 10:05 and arrive at 11:35."),
    (ROUTE, "Departure: 10:05 a.m.; the ticket is 2.5 EUR, that is 250 cents."),
    (ROUTE, "15,100 m in 5,400 s."),
    (ROUTE, "Abfahrt 10.05 Uhr, Preis 2,50 €."),
    (ROUTE, "You leave at 11:05 local time."),
    (PRICES, "B is cheapest at 1,199; A costs 1,234.50 and C 1,300."),
    (PRICES, "B ist mit 1.199 € am günstigsten, A kostet 1.234,50 €."),
    (PRICES, "All three cost around 1,200."),
    (PRICES, "C is 101 more expensive than B (1300 - 1199)."),
    (PRICES, "The mean price of the 3 shops is 1,244.50."),
    (PRICES, "Les prix vont de 1 199 à 1 300 euros."),
    (PRICES, "Prices lie between 1.2 and 1.3 thousand."),
    (CITY, "Paris has about 2.1 million inhabitants on 105 km²."),
    (CITY, "Paris hat rund 2,1 Mio. Einwohner."),
    (CITY, "2,102,650 people live there, 25.7 % of them alone, roughly a quarter."),
    (CITY, "Population: 2 102 650."),
    (CITY, "5 of 20 checks passed, that is 25 %."),
    (CITY, "Five of twenty passed, so fifteen did not."),
    (CITY, "Founded in 1889, it has over two million people."),
    (PAGE, "The board has 7 members."),
    (PAGE, "There are seven members, as of 2026."),
    (PAGE, "Flight LH 4711 and LH4711; version 1.2.3 is out."),
    (PAGE, "See [the page](https://example.org/a?b=1) or http://www.example.org/a?b=1."),
    (PAGE, "It opened in 1889, in the 19th century, and works 24/7."),
    ({"total": 0.1 + 0.2}, "The total is 0.3."),
    ({"ms": 1530}, "It took 1.5 seconds."),
    ({"bytes": 5242880}, "The file has 5 MB."),
    ({"at": 1795305600}, "It happened on 22 November 2026."),
    ({"items": ["a", "b", "c", "d"]}, "There are four items: a, b, c and d. That makes 4."),
    ({"n": 96}, "About 100 were found."),
    ({"n": 1500000}, "1.5m users, that is one and a half million."),
    ({"answer": "forty-two"}, "The answer is 42."),
    ({"ok": True}, "Both services are up; one of them is slow. Use option 2."),
    ("sieben Zwerge", "There are 7 dwarfs."),
    ({"co2": 411.2}, "CO2 is at 411 ppm, and PM2.5 was not measured in 3D."),
    (PAGE, "FLIGHT-4711: the board has seven members."),
    (PAGE, "The board has _7_ members, or __seven__."),
    (PAGE, "Write to [them](mailto:someone), and see the [notes](#notes) or notes/2026.md."),
    (
        {"at": "ftp://files.example/a.csv", "book": "app:flight/LH-4711", "read": "news.io/today"},
        "From ftp://files.example/a.csv; [book](app:flight/LH-4711), or read www.news.io/today and news.io/today.",
    ),
    ({"name": "task-123", "said": "value-k123"}, "RESULT-123: value-k123"),
]

LIES: list[tuple[Any, str, str]] = [
    ({"value": 7}, "x is 4,711 euros [1]", "4,711"),
    ({"value": 7}, "It is 99 degrees in Paris.", "99"),
    ({"value": 7}, "The balance is 999.", "999"),
    ({"value": 7}, "x is 8 euros.", "8"),
    ({"value": 7}, "x is forty-two.", "forty-two"),
    ({"value": 7}, "The total is 1,000,000.", "1,000,000"),
    ({"value": 7}, "Paid 30 to Bob. Receipt #12.", "30"),
    ({"value": 7}, "x is 7.4.", "7.4"),
    ({"value": 7}, "x is 7 %, up from 3.2 %.", "3.2"),
    (WEATHER, "The high will be 31 °C.", "31"),
    (WEATHER, "On 24 December 2026 it will be 14.1 °C.", "24 December"),
    (WEATHER, "It rains on 2025-11-23.", "2025-11-23"),
    (ROUTE, "You arrive at 14:20.", "14:20"),
    (ROUTE, "The trip takes 45 minutes.", "45"),
    (ROUTE, "It costs €12.", "12"),
    (PRICES, "B is cheapest at 999.", "999"),
    (PRICES, "B costs 1,099.", "1,099"),
    (CITY, "2.4 million people live there.", "2.4 million"),
    (CITY, "It was founded in 1789.", "1789"),
    (PAGE, "Flight LH4712 is full.", "LH4712"),
    (PAGE, "Flight LHA-4711 is full.", "LHA-4711"),
    (PAGE, "Ticket-4712 is yours.", "Ticket-4712"),
    (PAGE, "Version 1.3.0 is out.", "1.3.0"),
    (PAGE, "See https://nytimes.example/fake.", "https://nytimes.example/fake"),
    (PAGE, "See [source 9](http://invented.example/).", "http://invented.example/"),
    (PAGE, "See https://example.org/another.", "https://example.org/another"),
    (PAGE, "The board has nine members.", "nine"),
    (PAGE, "The board has _9_ members.", "9"),
    (PAGE, "The fee is _€4712_.", "4712"),
    (PAGE, "Load it from ftp://files.invented/x.", "ftp://files.invented/x"),
    (PAGE, "See hxxp://invented.example/x.", "hxxp://invented.example/x"),
    (PAGE, "See invented-news.io/deals.", "invented-news.io/deals"),
    (PAGE, "[Book](javascript:alert(1)).", "javascript:alert(1"),
]


@pytest.mark.parametrize(("evidence", "text"), HONEST, ids=[text[:50] for _, text in HONEST])
def test_an_honest_wording_is_explained(evidence: Any, text: str):
    assert Evidence([evidence], TODAY).unexplained(text) == []


@pytest.mark.parametrize(("evidence", "text", "lie"), LIES, ids=[text[:50] for _, text, _ in LIES])
def test_what_nothing_explains_is_found(evidence: Any, text: str, lie: str):
    found = Evidence([evidence], TODAY).unexplained(text)
    assert any(lie in each for each in found), found


VALUES = st.lists(st.sampled_from([WEATHER, ROUTE, PRICES, CITY, PAGE, {"summary": PAGE, "raw": CITY}, None, [3, 4]]))
TEXTS = st.sampled_from([text for _, text in HONEST] + [text for _, text, _ in LIES])


@given(VALUES, st.lists(TEXTS, max_size=3))
def test_neither_the_order_of_the_evidence_nor_what_was_asked_before_changes_what_it_explains(
    values: list[Any], texts: list[str]
):
    evidence = Evidence(values, TODAY)
    for text in texts:
        found = evidence.unexplained(text)
        assert found == Evidence(reversed(values), TODAY).unexplained(text)
        assert found == evidence.unexplained(text)
        assert set(found) >= set(Evidence([*values, *values, text], TODAY).unexplained(text)) == set()


def test_the_mean_of_figures_with_a_unit_proves_no_percentage():
    found = Evidence([{"summary": "Lisbon to Porto: 2 h 50 min."}, {"summary": "Porto to Vigo: 2 h 20 min."}])
    assert found.unexplained("It takes 35 minutes on average.") == []
    assert found.unexplained("There is a discount of 35 %.") == ["35 %"]
    assert (
        Evidence([{"summary": "Rome: 40 %."}, {"summary": "Oslo: 30 %."}]).unexplained("It is 35 % on average.") == []
    )


def test_an_article_does_not_make_a_name_known():
    evidence = Evidence(["The trains of the line run from the coast, and they are on time."], TODAY)

    assert evidence.unknown_names("All of the trains run on time from the coast, says the paper The Daily Planet.") == [
        "The Daily Planet"
    ]
    assert evidence.unknown_names("All of the trains run on time from the coast, says the paper The Planet.") == []
    assert not evidence.mentions("The Guardian")
