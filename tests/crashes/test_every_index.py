"""A log cut at any index and taken up by a fresh process: the same answer, and nothing finished is done again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from engine.worlds import ask
from hypothesis import given, settings
from hypothesis import strategies as st

from crashes.stories import Story, check_resumed, in_doubt, retell, tell
from leadhand.core.events import ResultsJudged, StepIssued, StepSettled
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus

STORY = Story(
    subtasks=(
        ask("first", "look", n=1),
        ask("large", "look", n=7),
        ask("unlucky", "flaky", n=3),
        ask("below", "look", n=-4),
        ask("pay", "send", n=5),
        {
            **ask("length", "measure", n={"$result": {"subtask": "1", "path": "/raw/n"}}),
            "needs": [1],
            "expected_output": "the length in words",
        },
        {**ask("thoughts", None), "needs": [0, 2]},
        {**ask("after", "look", n=8), "needs": [3]},
    ),
    limits=Limits(max_workers=3),
    slip=True,
    check="judge",
)
WHOLE = asyncio.run(tell(STORY))


def test_the_story_has_everything_in_it():
    assert WHOLE.state.status is RunStatus.SUCCEEDED
    assert list(WHOLE.state.orders) == ["wo-001", "wo-002"], "there was to be a repair order"
    kinds = {entry.event.type for entry in WHOLE.log}
    assert kinds >= {"attempt_scheduled", "tool_call_returned", "model_call_returned"}
    settled = [entry.event for entry in WHOLE.log if isinstance(entry.event, StepSettled)]
    assert any(event.final and not event.ok and not event.attempt for event in settled), "one was to be blocked"
    workers = {key.partition("/")[0].partition("-")[0] for key in WHOLE.asked}
    assert workers == {"plan", "wo", "review", "compose2", "judge", "confirm", "correct"}
    assert "confirm/t1" in WHOLE.asked
    assert any("-again" in key for key in WHOLE.asked), "what was corrected was to be judged, too"
    assert WHOLE.state.finished.judgement is not None
    assert WHOLE.state.finished.sources
    assert WHOLE.blobs, "a payload was to be kept beside the log"
    assert sum(bool(in_doubt(WHOLE.log[:length])) for length in range(1, len(WHOLE.log))) >= 1


def some_slow(lengths: range) -> list[Any]:
    """Every length; all but every third are left out of a short run of the tests."""
    return [pytest.param(each, marks=pytest.mark.slow if each % 3 else ()) for each in lengths]


@pytest.mark.parametrize("length", some_slow(range(1, len(WHOLE.log))))
async def test_cut_anywhere_it_comes_to_the_same_end(length: int):
    beginning = WHOLE.log[:length]
    resumed = await retell(STORY, beginning, WHOLE.blobs)
    check_resumed(WHOLE, beginning, resumed)
    if length % 9 == 0:
        again = await retell(STORY, beginning, WHOLE.blobs)
        assert [each.event.type for each in again.log] == [each.event.type for each in resumed.log]


IN_SHARDS = Story(
    subtasks=(
        *(ask(f"piece_{n}", None) for n in range(25)),
        {**ask("last", None), "needs": [0, 1, 2, 3]},
    ),
)
"""It has one subtask more than a review judges."""
SHARDS = asyncio.run(tell(IN_SHARDS))
ISSUED = {entry.event.step.step_id: entry.seq for entry in SHARDS.log if isinstance(entry.event, StepIssued)}
FIRST_REVIEW = ISSUED["review-wo-001-0"]
JUDGED = next(entry.seq for entry in SHARDS.log if isinstance(entry.event, ResultsJudged))


@pytest.mark.parametrize("length", range(FIRST_REVIEW - 1, JUDGED + 1))
async def test_cut_while_a_part_is_reviewed_it_comes_to_the_same_end(length: int):
    beginning = SHARDS.log[:length]
    check_resumed(SHARDS, beginning, await retell(IN_SHARDS, beginning, SHARDS.blobs))


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Small orders of every kind of subtask, each of which may need some before it."""
    subtasks: list[dict[str, Any]] = []
    for index in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["look", "flaky", "measure", "send", "below", None]))
        n = 10 + index
        proposed = ask(f"s{index}", None) if kind is None else ask(f"s{index}", kind, n=n)
        if kind == "below":
            proposed = ask(f"s{index}", "look", n=-n)
        proposed["needs"] = draw(st.lists(st.integers(0, index - 1), max_size=2, unique=True)) if index else []
        subtasks.append(proposed)
    limits = Limits(max_workers=draw(st.integers(1, 4)), batch_size=draw(st.sampled_from([None, 1, 2])))
    return Story(subtasks=tuple(subtasks), limits=limits, slip=draw(st.booleans()))


@pytest.mark.slow
@given(story=stories(), cuts=st.lists(st.floats(0, 1), min_size=1, max_size=3))
@settings(max_examples=settings().max_examples // 2)
def test_any_story_cut_again_and_again_comes_to_the_same_end(story: Story, cuts: list[float]):
    """Each cut is made in what the process before it had made of the one before that."""

    async def told() -> None:
        whole = told = await tell(story)
        for cut in cuts:
            beginning = told.log[: 1 + int(cut * (len(told.log) - 2))]
            told = await retell(story, beginning, told.blobs)
            check_resumed(whole, beginning, told)
            if in_doubt(beginning):
                break  # from here on it is another story

    asyncio.run(told())
