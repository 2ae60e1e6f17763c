"""Whatever words a request has, each ends up in a call of the plan or in a gap that names it: none is dropped."""

from __future__ import annotations

import json

from asking import planned
from hypothesis import example, given
from hypothesis import strategies as st

EVIDENCE = {
    **{word: word for word in ("poem", "cheap", "Bob", "42", "lunch", "translate", "museum", "everything")},
    **{word: word for word in ("Paris", "Lyon", "Oslo", "New York", "Nice", "rome")},
    "tomorrow": "tomorrow",
    "Friday": "friday",
    "2026-12-24": "2026-12-24",
    "this weekend": "today",
    "by bike": "bicycle",
    "on foot": "walk",
    "train": "transit",
    "fahrenheit": "imperial",
    "weather": "weather_tool",
    "rain": "weather_tool",
    "umbrella": "weather_tool",
    "directions": "directions_tool",
    "route": "directions_tool",
    "distance": "directions_tool",
}
"""The content words of a request, and what shows in a call that the word was used."""

GLUE = (
    *("in", "to", "from", "and", "the", "then", "or", ",", ".", "?", ":", ";", "for", "of", "is", "it", "what's", "a"),
    *("how far", "please", "between", "there", "(", ")", "not", "if", "will", "get", "I'm", "with", "on"),
)


def dropped(request: str, words: list[str]) -> list[str]:
    """The content words that neither a call nor a gap shows."""
    made = planned(request)
    calls = json.dumps([[subtask.tool, dict(subtask.args)] for subtask in made.subtasks], ensure_ascii=False)
    gaps = " ".join(f"{part.what} {part.reason}" for part in made.cannot).casefold()
    return [
        word
        for word in words
        if word in EVIDENCE and EVIDENCE[word].casefold() not in calls.casefold() and word.casefold() not in gaps
    ]


@example(["New York", "to", "Oslo", "train", ",", "Oslo", "to", "Paris", "by bike"])
@example(["fahrenheit", ",", "Paris", "to", "Lyon"])
@example(["2026-12-24", "and", "rain"])
@example(["in", "Paris", "on", "Friday", ":", "weather", "?", "and", "Oslo", "?"])
@example(["weather", "in", "Paris", "and", "museum", "in", "Oslo"])
@given(st.lists(st.sampled_from([*EVIDENCE, *GLUE]), min_size=1, max_size=14))
def test_every_content_word_is_in_a_call_or_in_a_gap(words: list[str]) -> None:
    assert dropped(" ".join(words), words) == []
