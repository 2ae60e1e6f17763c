"""What a program sees of a run while it works: its text as it is written, and its events as typed values."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from leads import leadhand_of

from leadhand import Leadhand, TextPiece, TextRestarted, Worker, events
from leadhand.core.run import RunStatus
from leadhand.flows import Retry
from leadhand.runs import Run
from leadhand.testing.scripted_model import ScriptedModel, says
from leadhand.tools.decorator import tool

WRITER = Worker("writer", "Answer.", tools=())


def lead_of(home: Path, models: ScriptedModel, **given: Any) -> Leadhand:
    return leadhand_of(models=models, home=home, **{"tools": [], "approve": "auto", **given})


async def heard(run: Run[Any]) -> list[TextPiece | TextRestarted]:
    return [each async for each in run.text()]


def text_of(pieces: list[TextPiece | TextRestarted]) -> str:
    """The text of the pieces since the last restart."""
    text = ""
    for each in pieces:
        text = text + each.text if isinstance(each, TextPiece) else ""
    return text


async def test_the_pieces_of_an_answer_are_the_answer(home: Path) -> None:
    with ScriptedModel([says("One two three.").slowly(0.001)]) as models:
        async with lead_of(home, models) as lead:
            run = await lead.start("Go", worker=WRITER)
            pieces = await heard(run)
            answer = await run.answer()
    assert len(pieces) > 1
    assert all(isinstance(each, TextPiece) for each in pieces)
    assert text_of(pieces) == answer.text == "One two three."


async def test_a_text_that_is_not_accepted_restarts(home: Path) -> None:
    def long_enough(text: object, _given: Any) -> None:
        if len(str(text)) < 10:
            raise Retry("it is too short")

    with ScriptedModel([says("Short."), says("A longer text.")]) as models:
        async with lead_of(home, models) as lead:
            run = await lead.start("Go", worker=WRITER.version(validate=long_enough))
            pieces = await heard(run)
            answer = await run.answer()
    assert sum(isinstance(each, TextRestarted) for each in pieces) == 1
    assert text_of(pieces) == answer.text == "A longer text."


async def test_a_run_that_is_over_gives_its_whole_text(home: Path) -> None:
    with ScriptedModel([says("One two three.")]) as models:
        async with lead_of(home, models) as lead:
            run_id = (await lead.run("Go", worker=WRITER)).run_id
            assert await heard(await lead.get(run_id)) == [TextPiece("One two three.")]


async def test_a_run_goes_on_when_nobody_listens_any_more(home: Path) -> None:
    with ScriptedModel([says("One two three.").slowly(0.01)]) as models:
        async with lead_of(home, models) as lead:
            run = await lead.start("Go", worker=WRITER)
            async for _ in run.text():
                break
            assert (await run.answer()).status is RunStatus.SUCCEEDED


async def test_two_listen_to_one_run_and_neither_hears_another(home: Path) -> None:
    with ScriptedModel([says("One two three."), says("Four five six.")]) as models:
        async with lead_of(home, models) as lead:
            first = await lead.start("Go", worker=WRITER)
            texts = await asyncio.gather(heard(first), heard(first))
            second = await heard(await lead.start("Go", worker=WRITER))
    assert [text_of(each) for each in (*texts, second)] == ["One two three.", "One two three.", "Four five six."]


async def test_events_are_typed_and_end_with_the_run(home: Path) -> None:
    @tool
    def tide(place: str) -> str:
        """High tide.

        Args:
            place: A harbour.
        """
        return f"{place}: 11:42"

    async with Leadhand(model="offline", tools=[tide], home=home) as lead:
        run = await lead.start("When is the tide in Dover?")
        seen = [event async for event in run.events()]
        assert (await run.answer()).status is RunStatus.SUCCEEDED
    assert isinstance(seen[0], events.RunStarted)
    assert isinstance(seen[-1], events.RunFinished)
    returned = [each for each in seen if isinstance(each, events.ToolCallReturned)]
    assert [(each.tool, each.ok) for each in returned] == [("tide", True)]


def test_every_event_of_the_log_is_public() -> None:
    from leadhand.core.events import EVENT_TYPES

    assert {each.__name__ for each in EVENT_TYPES.values()} <= set(vars(events))
