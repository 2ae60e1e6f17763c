"""What is read of a reply while it is written: the elements of a list, and the text of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.conversation import AssistantMessage
from leadhand.core.limits import Usage
from leadhand.engine.session.drafts import Written
from leadhand.ports.models import ModelReply, ModelRequest
from leadhand.testing.steps import worker_of

from .fakes import FakeModels, facts_of
from .tools import Bench
from .worlds import World, ask, plan

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text('ab"\\{}[],: \n€𝄞é', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", 'b"', "list"]), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(["goal", "lis", 'a"list', "list", "\\", "more"])


def pieces(text: str, cuts: list[int]) -> list[str]:
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[one:other] for one, other in pairwise(edges)]


def found(*written: str) -> list[Any]:
    elements = Written("list")
    return [element for piece in written for element in elements.take(piece)[0]]


@given(
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.lists(VALUES, max_size=5) | VALUES,
    st.sampled_from([None, 2]),
    st.booleans(),
    st.sampled_from(["", "```json\n", "Sure [see below]: "]),
    st.lists(st.integers(0, 10_000), max_size=30),
)
def test_any_pieces_of_any_object_give_the_elements_of_the_whole(
    other: dict[str, Any], wanted: Any, indent: int | None, ascii_: bool, prefix: str, cuts: list[int]
):
    document = {**other, "list": wanted, "after": [1, {"list": [2]}]}
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_)

    assert found(*pieces(prefix + text, cuts)) == (wanted if isinstance(wanted, list) else [])


@given(st.lists(VALUES, max_size=5), st.integers(0, 500), st.text('"{}[],: \\x', max_size=5))
def test_a_text_that_is_cut_or_spoilt_gives_only_complete_elements(wanted: list[Any], cut: int, junk: str):
    text = json.dumps({"goal": "it", "list": wanted})
    kept = text[: cut % len(text)]

    cut_off = found(*kept)
    assert cut_off == wanted[: len(cut_off)]
    spoilt = found(*kept, *junk, *text[cut % len(text) :])
    assert spoilt[: len(cut_off)] == cut_off


@given(
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.text('ab"\\{}[],: \n€𝄞é', max_size=12),
    st.lists(st.integers(0, 500), max_size=8),
    st.booleans(),
    st.sampled_from(["", "```json\n", "Sure [see below]: "]),
)
def test_any_pieces_give_the_text_of_the_field_and_the_fields_before_it(
    before: dict[str, Any], text: str, cuts: list[int], ascii_: bool, junk: str
):
    written = junk + json.dumps({**before, "answer": text, "after": {"answer": "no"}}, ensure_ascii=ascii_)
    asked: list[Any] = []
    draft = Written("", lambda fields: not asked.append(fields))

    assert "".join(draft.take(each)[1] for each in pieces(written, cuts)) == text
    assert asked == [before]


class WritingReviews(FakeModels):
    """Models whose reviews, or whose plans, are written character by character."""

    def __init__(self, *written: Any, worker: str = "review", **more: Any) -> None:
        super().__init__(**more)
        self.written: list[Any] = list(written)
        self.worker = worker

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if worker_of(request) != self.worker or not self.written:
            return await super().ask(request, on_text)
        self.asked.append(request)
        facts_of(request)
        value = self.written.pop(0)
        text = value if isinstance(value, str) else json.dumps(value)
        assert on_text is not None, "nobody listens to the answer"
        for character in text:
            on_text(character)
        value = None if isinstance(value, str) else value
        usage = Usage(input_tokens=10, output_tokens=5)
        return ModelReply(message=AssistantMessage(text=text), value=value, usage=usage)


async def drafts(*written: Any, worker: str = "review", subtasks: Sequence[Any] = (ask("look", "look", n=1),)) -> Any:
    """What is shown of the answer, by attempt and in whole texts, and the state at the end."""
    world = World(WritingReviews(*written, worker=worker, plan=plan(*subtasks)), [Bench().look])
    try:
        state = await world.run()
    finally:
        await world.aclose()
    shown: list[tuple[str, str]] = []
    for _, attempt, piece in world.written:
        if not shown or shown[-1][0] != attempt or not piece:
            shown.append((attempt, ""))
        shown[-1] = attempt, shown[-1][1] + piece
    return shown, state


@pytest.mark.parametrize("cannot", [[], [{"what": "to fly", "reason": "there is no tool"}]])
async def test_the_answer_of_a_review_is_shown_while_it_is_written(cannot: list[Any]):
    review = {"verdicts": [], "complete": True, "missing": [], "cannot": cannot, "answer": "Saw 1: “it” 🤫"}
    shown, state = await drafts(review)
    assert shown == [("review-wo-001-0/a1", "Saw 1: “it” 🤫")]
    assert state.finished.answer == "Saw 1: “it” 🤫"


@pytest.mark.parametrize(
    "before",
    [
        {"verdicts": [{"subtask": "wo-001.0", "verdict": "retry", "reason": "again"}], "complete": False},
        {"verdicts": [], "complete": False, "missing": [ask("more", "look", n=2)]},
        {"verdicts": [{"subtask": "wo-001.9", "verdict": "accept"}], "complete": True},
    ],
    ids=["a verdict", "something missing", "an unknown subtask"],
)
async def test_a_review_that_does_not_accept_everything_shows_nothing(before: dict[str, Any]):
    shown, _ = await drafts({**before, "answer": "Everything is fine."})
    assert all(attempt.startswith("compose") for attempt, _ in shown)


async def test_an_answer_before_the_verdicts_is_not_shown():
    shown, state = await drafts({"answer": "saw 1", "verdicts": [], "complete": True})
    assert shown == []
    assert state.finished.answer == "saw 1"


async def test_a_draft_that_is_repaired_starts_again():
    sound = {"verdicts": [], "complete": True, "answer": "saw 1"}
    shown, state = await drafts('{"verdicts": [], "complete": true, "answer": "Saw one, an', sound)
    assert shown == [("review-wo-001-0/a1", "Saw one, an"), ("review-wo-001-0/a1", "saw 1")]
    assert state.finished.answer == "saw 1"


async def test_the_answer_of_a_plan_is_shown_while_it_is_written():
    shown, state = await drafts({"answer": "Hello!"}, worker="plan")
    assert shown == [("plan/a1", "Hello!")]
    assert state.finished.answer.startswith("Hello!")
