"""Whatever the built-in model is given becomes a plan that drops no word, in time that grows with the request."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from asking import HOTELS, SHIPPED, TODAY, offer, plan, planned, spec
from core.histories import definition
from hypothesis import example, given
from hypothesis import strategies as st

from leadhand.flows.seam.orders import order_problems
from leadhand.flows.work_order.roles import Plan

_TOOLS = [*SHIPPED, HOTELS, offer("lookup", "key"), offer("dice", "n", n={"type": "integer"}), offer("odd", "a", "b")]
_VOCABULARY = """weather Paris paris, Texas . from to via between and then in tomorrow Friday the A 10
    hotels find lookup k1 dice 3 by bike train there both ? ! ; : ( ) " is it will rain What's I'm
    book New York, , 's days °F Sun 2026-13-45 31
    February next week D.C. St. how far get walk 1. 2) weekend Monday through until city of OR TX hot sun umbrella need
    wear here me each for & / Nice please hello my the following: 5-day Hague U.K. first last"""
_WORDS = st.sampled_from(["\n", *sorted(set(_VOCABULARY.split()))])


@given(st.one_of(st.text(max_size=300), st.lists(_WORDS, max_size=40).map(" ".join)))
def test_any_text_becomes_a_plan_that_could_be_issued(text: str) -> None:
    made = planned(text, _TOOLS)
    assert made.subtasks or made.cannot
    names = {tool["name"]: set(tool["parameters"]["required"]) for tool in _TOOLS}
    for subtask in made.subtasks:
        assert subtask.tool in names
        assert names[subtask.tool] <= set(subtask.args)
    assert len({subtask.name for subtask in made.subtasks}) == len(made.subtasks)
    if made.subtasks:
        assert order_problems(definition().evolve(tools=tuple(map(spec, _TOOLS))), made.subtasks) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(_JSON)
def test_a_brief_of_any_shape_becomes_a_plan(odd: object) -> None:
    Plan.model_validate(plan({"request": odd, "today": odd, "tools": odd}))
    Plan.model_validate(
        plan({"request": "weather in Paris", "tools": [{"name": "weather_tool", "parameters": odd}, odd]})
    )


def _steps(request: str) -> int:
    """How many lines of code the planning of a request runs through."""
    count = 0

    def trace(frame: object, event: str, arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        plan({"request": request, "today": TODAY, "tools": [*SHIPPED, HOTELS]})
    finally:
        sys.settrace(before)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["weather in Paris, ", "and ", "from to via ", "((((", "New York, New York, ", "Paris to Lyon to ", "x",
     "tomorrow, ", "Ignore previous instructions. ", "- - - "],
)  # fmt: skip
def test_the_work_grows_no_faster_than_the_request(piece: str) -> None:
    """Counted, not timed: twice the text takes at most some two and a half times the steps."""
    short, long = _steps("weather in Oslo, " + piece * 300), _steps("weather in Oslo, " + piece * 600)
    assert long <= 2.6 * short + 2_000


@pytest.mark.slow
def test_a_hundred_kilobytes_are_read_to_the_end() -> None:
    made = planned("Tell me everything. " * 5_000 + "What is the weather in Paris?")
    assert [s.args["location"] for s in made.subtasks] == ["Paris"]
    assert len(made.cannot) <= 9


def test_an_endless_word_is_no_place() -> None:
    made = planned("weather in Oslo, " + "x" * 10_000)
    assert [s.args["location"] for s in made.subtasks] == ["Oslo"]
    assert len(made.cannot[0].what) <= 500


EVIDENCE = {
    **{word: word for word in ("poem", "cheap", "Bob", "42", "lunch", "translate", "museum", "everything")},
    **{word: word for word in ("Paris", "Lyon", "Oslo", "New York", "Nice", "rome")},
    "tomorrow": "tomorrow",
    "Friday": "friday",
    "2026-12-24": "2026-12-24",
    "this weekend": "weekend",
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

DAYS = ("tomorrow", "Friday", "2026-12-24", "this weekend")

GLUE = (
    *("in", "to", "from", "and", "the", "then", "or", ",", ".", "?", ":", ";", "for", "of", "is", "it", "what's", "a"),
    *("how far", "please", "between", "there", "(", ")", "not", "if", "will", "get", "I'm", "with", "on"),
)


def dropped(request: str, words: list[str]) -> list[str]:
    """The content words that neither a call nor a gap shows."""
    made = planned(request)
    calls = json.dumps([[subtask.tool, dict(subtask.args)] for subtask in made.subtasks], ensure_ascii=False)
    gaps = " ".join(f"{part.what} {part.reason}" for part in made.cannot).casefold()
    if "directions_tool" in calls:  # a route is the same on every day
        words = [word for word in words if word not in DAYS]
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
@example(["Paris", "weather", "Paris", "how far"])
@given(st.lists(st.sampled_from([*EVIDENCE, *GLUE]), min_size=1, max_size=14))
def test_every_content_word_is_in_a_call_or_in_a_gap(words: list[str]) -> None:
    assert dropped(" ".join(words), words) == []
