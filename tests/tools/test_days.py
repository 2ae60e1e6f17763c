"""Days are read as people say them, counted from the place's own today."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.domain.days import WEEKDAYS
from leadhand.domain.errors import ToolError
from leadhand.tools.weather import in_words, read_day

SATURDAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("said", "first", "covers"),
    [
        ("now", SATURDAY, 1),
        ("", SATURDAY, 1),
        ("Today", SATURDAY, 1),
        (" tomorrow ", date(2026, 11, 22), 1),
        ("the day after tomorrow", date(2026, 11, 23), 1),
        ("in 3 days", date(2026, 11, 24), 1),
        ("monday", date(2026, 11, 23), 1),
        ("Fri", date(2026, 11, 27), 1),
        ("saturday", SATURDAY, 1),
        ("next Saturday", date(2026, 11, 28), 1),
        ("on sunday", date(2026, 11, 22), 1),
        ("weekend", SATURDAY, 2),
        ("2026-12-01", date(2026, 12, 1), 1),
    ],
)
def test_a_day_is_read_as_people_say_it(said: str, first: date, covers: int) -> None:
    assert read_day(said, SATURDAY) == (first, covers)


def test_the_weekend_asked_for_on_a_wednesday_is_the_coming_one() -> None:
    assert read_day("this weekend", date(2026, 11, 25)) == (date(2026, 11, 28), 2)


def test_of_a_weekend_asked_for_on_a_sunday_one_day_is_left() -> None:
    assert read_day("weekend", date(2026, 11, 22)) == (date(2026, 11, 22), 1)


@pytest.mark.parametrize("said", ["soon", "2026-13-01", "21.11.2026", "someday", "next week", "in many days"])
def test_a_day_that_cannot_be_read_says_what_can(said: str) -> None:
    with pytest.raises(ToolError) as caught:
        read_day(said, SATURDAY)
    assert caught.value.failure.type == "bad_day"
    assert "weekday" in caught.value.failure.next_action


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.sampled_from(WEEKDAYS))
def test_a_weekday_is_within_the_coming_week_and_bears_its_name(today: date, name: str) -> None:
    first, _ = read_day(name, today)
    assert timedelta(0) <= first - today < timedelta(7)
    assert in_words(first).startswith(name)
    later, _ = read_day(f"next {name}", today)
    assert timedelta(1) <= later - today <= timedelta(7)
