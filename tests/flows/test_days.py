"""Days: those that the tools accept, and the phrases that the offline model makes of them."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.errors import ToolError
from leadhand.flows.offline.reading import day_phrase
from leadhand.tools.travel.weather import WEEKDAYS, in_words, read_day

SATURDAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("said", "first", "covers"),
    [
        ("now", SATURDAY, 1),
        ("", SATURDAY, 1),
        ("Today", SATURDAY, 1),
        (" tomorrow ", date(2026, 11, 22), 1),
        ("monday", date(2026, 11, 23), 1),
        ("saturday", SATURDAY, 1),
        ("weekend", SATURDAY, 2),
        ("2026-12-01", date(2026, 12, 1), 1),
    ],
)
def test_a_tool_reads_the_days_of_its_schema(said: str, first: date, covers: int) -> None:
    assert read_day(said, SATURDAY) == (first, covers)


@pytest.mark.parametrize("today", [date(2026, 11, 22 + n) for n in range(7)])
def test_the_weekend_is_the_coming_one_and_on_a_sunday_what_is_left_of_it(today: date) -> None:
    assert read_day("weekend", today) == ((today, 1) if today.weekday() == 6 else (date(2026, 11, 28), 2))


@pytest.mark.parametrize("said", ["soon", "2026-13-01", "21.11.2026", "next week", "the day after tomorrow"])
def test_a_day_that_a_tool_cannot_read_says_what_it_can(said: str) -> None:
    with pytest.raises(ToolError) as caught:
        read_day(said, SATURDAY)
    assert caught.value.failure.type == "bad_day"
    assert said in caught.value.failure.message
    assert "2026-11-24" in caught.value.failure.next_action


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.sampled_from(WEEKDAYS))
def test_a_weekday_is_within_the_coming_week_and_bears_its_name(today: date, name: str) -> None:
    first, _ = read_day(name, today)
    assert timedelta(0) <= first - today < timedelta(7)
    assert in_words(first).startswith(name)


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("the day after tomorrow", date(2026, 11, 23)),
        ("in 3 days", date(2026, 11, 24)),
        ("Friday", date(2026, 11, 27)),
        ("on Sunday", date(2026, 11, 22)),
        ("this weekend", SATURDAY),
        ("tonight", SATURDAY),
        ("2026-12-01", date(2026, 12, 1)),
        ("3 December", date(2026, 12, 3)),
        ("on the 3rd of December", date(2026, 12, 3)),
        ("on March 3rd", date(2027, 3, 3)),
    ],
)
def test_the_offline_model_reads_days_as_people_say_them(said: str, first: date) -> None:
    words = said.split()
    found = day_phrase([*words, "please"], SATURDAY)
    assert found is not None
    day, length = found
    assert (read_day(day, SATURDAY)[0], length) == (first, len(words))


def test_the_offline_model_reads_no_date_that_the_calendar_lacks() -> None:
    assert day_phrase(["31", "February"], SATURDAY) is None
