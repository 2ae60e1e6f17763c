"""Reading figures quickly finds what reading for every pattern finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leadhand.domain import figures
from leadhand.domain.figures import Stated, stated

WORDS = (
    "2026-11-23 3/12/2026 23.11. 1.2. 4th 12 5 007 1.5 1,234.5 7e3 \u0663 24 10:05 14:00:00Z T 9pm 5h30 24/7 24-hour "
    "3D 2h 50min 9 bis Monday "
    "May märz AUG \u017fept apr\u0131l fevrier maybe of de to step Tag Figure p.m. Uhr d LH4711 k-123 RESULT_12 "
    "1.2.3 two Ten twenty-one hundred million mil k % € °C km/h e5 x - – / . , : ( ) _ '"
)
PIECES = (*WORDS.split(), " ", " ", " ", " ", "\n", "\u00a0", "a ", "1 200")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def slowly(text: str, *, labels: bool) -> Stated:
    """Read a text for each pattern in turn, whatever it has."""
    rest = figures._TIMESTAMP.sub(" ", text) if labels else figures._LABEL.sub(figures._blank, text)
    days: list[figures.Day] = []

    def take(found: figures.re.Match[str]) -> str:
        day = figures._day(found)
        days.extend([day] if day is not None else [])
        return found[0] if day is None else figures._blank(found)

    for pattern, _ in figures._DATES:
        rest = pattern.sub(take, rest)
    weekdays = [(found[0], figures.WEEKDAYS[found[1].lower()]) for found in figures._WEEKDAY.finditer(text)]
    spans = [figures._span(found) for found in figures._DURATION.finditer(rest)]
    rest = rest if labels else figures._DURATION.sub(figures._blank, rest)
    times = [(found[0], 60 * int(found["h"])) for found in figures._FROM.finditer(rest)]
    rest = figures._FROM.sub(figures._blank, rest)
    times += [(found[0].strip(), figures._minutes(found)) for found in figures._TIME.finditer(rest)]
    rest = figures._TIME.sub(figures._blank, rest)
    codes = [found[0] for found in figures._CODE.finditer(rest)]
    rest = figures._CODE.sub(figures._blank, rest)
    read = sorted([*spans, *figures._numbers(rest), *figures._spelled(rest)], key=lambda figure: figure.at)
    return Stated(read, days, times, codes, weekdays)


@given(TEXTS, st.booleans())
def test_a_text_is_read_as_if_every_pattern_was_tried_everywhere(text: str, labels: bool) -> None:
    assert stated(text, labels=labels) == slowly(text, labels=labels)


@given(TEXTS)
def test_every_number_is_found_where_a_search_of_the_whole_text_finds_it(text: str) -> None:
    searched = [found.start() for found in figures._NUMBER.finditer(text) if not found["o"]]
    assert [figure.at for figure in figures._numbers(text)] == searched


def test_a_long_text_is_read_in_time_that_grows_with_its_length() -> None:
    read = stated("€ " * 20_000 + "5 " * 20_000)
    assert len(read.figures) == 20_000
    assert read.figures[0].unit == "€"
    assert len(stated("1" + "o" * 1_000_000).figures) == 1


def test_numbers_in_words_at_the_beginning_of_a_sentence_are_evidence() -> None:
    assert [figure.readings[0][0] for figure in stated("Two men. Ten women.", labels=True).figures] == [2, 10]


def test_odd_letters_that_only_resemble_a_month_are_no_date() -> None:
    assert [day.days for day in stated("on 5 \u017fept and 5 apr\u0131l").days] == [((9, 5),)]
