"""The text that people get: checked whichever call wrote it, asked for again once, then replaced by the plain list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flows.scripts import Script, accept, look
from leadhand.domain.citations import as_data, cited, without_own_sources
from leadhand.domain.run import RunStatus
from leadhand.flows.work_order.answer_checks import answer_problems

TRUE = "a is 7 [1], b is 9."


def found(*, composing: bool = False) -> Script:
    """A run whose two subtasks have results; its review is next, or else its composition."""
    script = Script(look("a", 1), look("b", 2), max_steps=1)
    script.works(script.attempt("wo-001.0"), "a is 7")
    script.works(script.attempt("wo-001.1"), "b is 9")
    script.decide_all()
    if composing:
        script.reviewed(accept("wo-001.0", "wo-001.1"))
    return script


LIES = [
    "a is 4,711 euros, b is 9 [1].",
    "It is 99 degrees; a and b are fine [1].",
    "a is 7, b is 9; the total is 1,000,000.",
    "a is 7 and b is 9, as of 3 March 2019.",
    "a is 7, b is 9. See http://invented.example/.",
    "a is 7 [1, 9], b is 9.",
    "a is 7 [1-9], b is 9.",
    "a is 7 [^9], b is 9.",
    "a is 7【9】, b is 9.",
    "a is 7 [ 9 ], b is 9.",
    "a is 7 [09], b is 9.",
    "a is 7 [12345], b is 9.",
    "a is 7 (source 9), b is 9.",
    "a is 7<sup>9</sup>, b is 9.",
    "a is 7 [\uff19], b is 9.",
    "a is 7 [source 9](http://invented.example/), b is 9.",
    "a is 7.",
    "ERROR: a and b are not known.",
    "\u200b",
]
"""Each leaves out a result, or states what no result holds."""


@pytest.mark.parametrize("lie", LIES)
def test_a_false_text_of_a_review_is_asked_for_again_once_and_then_replaced_by_the_plain_list(lie: str):
    script = found()
    script.reviewed(accept("wo-001.0", "wo-001.1"), answer=lie)
    if lie.strip("\u200b"):
        assert script.facts("compose")["not_accepted"], "it is not told what was wrong"
    assert script.state.assignments["wo-001.0"].accepted, "the verdicts are lost with the text"

    while "compose" in script.under_way:
        script.think("compose", text=lie)
    assert script.finished.status is RunStatus.PARTIAL
    assert script.finished.answer.startswith("- a is 7 [1]\n- b is 9 [1]\n")
    assert script.finished.gaps[0].name == "the answer"


@pytest.mark.parametrize("lie", LIES)
def test_a_false_text_of_a_composition_never_becomes_the_answer(lie: str):
    script = found(composing=True)
    while "compose" in script.under_way:
        script.think("compose", text=lie)

    assert script.finished.answer.startswith("- a is 7 [1]\n- b is 9 [1]\n")


def test_a_true_text_after_a_false_one_is_the_answer():
    script = found()
    script.reviewed(accept("wo-001.0", "wo-001.1"), answer=LIES[0])
    script.think("compose", text=TRUE)

    assert (script.finished.status, script.finished.answer) == (RunStatus.SUCCEEDED, TRUE)


@pytest.mark.parametrize(
    "text",
    [
        TRUE,
        "a ist 7, b ist neun (9) [1].",
        "Seven for a, nine for b.",
        "Both were found: 7 and 9, together 16.",
        "- a: 7\n- b: 9",
        "a is 7 [1], which is 2 less than b (9).",
    ],
)
def test_a_true_text_is_released_as_the_review_wrote_it(text: str):
    script = found()
    script.reviewed(accept("wo-001.0", "wo-001.1"), answer=text)

    assert (script.finished.status, script.finished.answer) == (RunStatus.SUCCEEDED, text)


def test_a_list_of_sources_that_the_model_adds_is_removed():
    script = found()
    added = f"{TRUE}\n\n**Sources:**\n[1] The New York Times https://nytimes.example/fake\n- https://made.up/"
    script.reviewed(accept("wo-001.0", "wo-001.1"), answer=added)

    assert (script.finished.status, script.finished.answer) == (RunStatus.SUCCEEDED, TRUE)


def test_sources_of_something_else_are_no_list_of_sources():
    text = "Energy.\n\nSources:\n- solar, 40 %\n- wind, 60 %\n\nMore is to come."
    assert without_own_sources(text) == text
    assert without_own_sources("All.\nSources: [1] https://a.example/\nThe end.") == "All.\nThe end."


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("[1, 9]", {1, 9}),
        ("[2-4] and [7–8]", {2, 3, 4, 7, 8}),
        ("[^9] 【8】 【7†page】 [ 6 ] [05]", {9, 8, 7, 6, 5}),
        ("(source 4) (Quelle 3) <sup>2</sup> [Source: 1]", {4, 3, 2, 1}),
        ("[9, p. 3] [8: S. 12-14] [see also 7] [#6] [S5] [No. 4] [**3**] [_2_] \\[1\\]", set(range(1, 10))),
        ("[cite: 9] [web:8] [doc 7] [src6] [item 5, note 4] [ref-3]", set(range(3, 10))),
        ("\uff3b9\uff3d \u30148\u3015 [7—9] [来源 6] 【source 5】 [\u200b4] [3|2]", set(range(2, 10))),
        ("(source no. 9) <cite>8</cite> <ref>7</ref> [5...7]", {5, 6, 7, 8, 9}),
        ("10<sup>6</sup> m<sup>2</sup> a[b] (9) [x1] [10:30] [12.5] [8-10 h] [1/2] [nobody 3]", set()),
    ],
)
def test_citations_count_in_every_notation_and_nothing_of_a_tool_becomes_one(text: str, numbers: set[int]):
    assert cited(text) == numbers
    assert cited(as_data(text)) == set()


@pytest.mark.parametrize(
    "listed",
    [
        "Sources: The Guardian",
        "*Sources: The Guardian*",
        "- Source: The Guardian",
        "(Source: The Guardian)",
        "<b>Sources</b>: The Guardian",
        "Sources — The Guardian",
        "**Sources**\n\nThe Guardian",
        "Sources\n=======\n- The Guardian",
        "Further reading:\n- The Guardian",
        "Works cited\n1. The Guardian",
        "Sources (2):\n* The Guardian",
        "Quelle: The Guardian",
        "出典: The Guardian",
    ],
)
def test_a_source_that_no_result_names_is_found_below_or_after_every_heading(listed: str):
    script = found()
    assert answer_problems(script.state, f"a is 7 and b is 9.\n\n{listed}")
    assert not answer_problems(script.state, "a is 7 and b is 9.\n\n## Sources\n\nThis comes from two results.")


@pytest.mark.parametrize(
    ("text", "is_honest"),
    [
        ("All looked at.", False),
        ("All the places were looked at.", False),
        ("Paris looked at, and the others too.", False),
        ("All 6 looked at.", True),
        ("All six places were looked at.", True),
        ("Looked at Paris, Rome, Oslo, Bern, Kyiv and Riga.", True),
        ("Alles erledigt.", True),
    ],
)
def test_a_text_about_many_results_that_are_alike_names_each_or_their_number(text: str, is_honest: bool):
    places = ["Paris", "Rome", "Oslo", "Bern", "Kyiv", "Riga"]
    script = Script(*({**look(f"s{n}"), "args": {"n": place}} for n, place in enumerate(places)), max_steps=1)
    for n in range(len(places)):
        script.works(script.attempt(f"wo-001.{n}"), "PLACE looked at")
    script.decide_all()
    script.reviewed(accept(*(f"wo-001.{n}" for n in range(len(places)))))
    problems = answer_problems(script.state, text)
    assert (problems == []) is is_honest
    assert is_honest or "say that there are 6" in problems[0]


def test_a_text_is_checked_again_when_a_result_has_changed():
    state = found(composing=True).state
    text = "a is 7, b is 9."
    assert answer_problems(state, text) == []

    subtask = state.assignments["wo-001.1"]
    assert subtask.data is not None
    data = subtask.data.model_copy(update={"summary": "b is 1,234", "raw": None})
    changed = replace(state, assignments={**state.assignments, "wo-001.1": subtask._replace(data=data)})
    assert answer_problems(changed, text)
    assert answer_problems(state, text) == []
