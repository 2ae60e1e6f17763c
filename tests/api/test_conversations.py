"""A request that is the next message of a conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, UsageError, Worker
from leadhand.flows import FlowContext, flow
from leadhand.testing.scripted_model import ScriptedModel, brief_of, gives, plans, says

WRITER = Worker("writer", "Answer.", tools=())
SAID = [
    {"role": "user", "content": "How is the weather in Paris?"},
    {"role": "assistant", "content": "It rains in Paris."},
]


async def test_a_worker_sees_what_was_said_before(home: Path) -> None:
    with ScriptedModel([says("It rains in Lyon, too.")]) as models:
        async with Leadhand(models=models, home=home) as lead:
            await lead.run("And in Lyon?", worker=WRITER, messages=SAID)
    brief = brief_of(models.requests[0])
    assert (brief["request"], brief["conversation"]["messages"]) == ("And in Lyon?", SAID)


async def test_a_planner_sees_it_and_no_worker_whose_result_it_could_prove(home: Path) -> None:
    with ScriptedModel(plan=[gives({"goal": "-", "subtasks": [], "answer": "Rain."})], lenient=True) as models:
        async with Leadhand(models=models, home=home, check="off") as lead:
            await lead.run("And in Lyon?", messages=SAID)
    assert brief_of(models.requests[0])["conversation"]["messages"] == SAID
    with ScriptedModel(plan=[plans({"name": "look", "args": {}})], work=[says("Rain.")], lenient=True) as models:
        async with Leadhand(models=models, home=home, check="off") as lead:
            await lead.run("And in Lyon?", messages=SAID)
    assert ["conversation" in brief_of(each) for each in models.requests][:2] == [True, False]


async def test_a_long_conversation_is_shown_from_its_end(home: Path) -> None:
    long = [{"role": "user", "content": f"{n} {'x' * 3_000}"} for n in range(40)]
    with ScriptedModel([says("Yes.")]) as models:
        async with Leadhand(models=models, home=home) as lead:
            run = await lead.start("And?", worker=WRITER, messages=long)
            await run.answer()
    shown = brief_of(models.requests[0])["conversation"]["messages"]
    assert shown == long[-len(shown) :]
    assert 1 < len(shown) < 40
    assert len(run.state.definition.messages) == 40


async def test_flows_read_it_and_a_follow_up_keeps_it(home: Path) -> None:
    @flow
    async def last_words(run: FlowContext) -> str:
        return run.messages[-1].content

    async with Leadhand(models=ScriptedModel(), home=home, flows=[last_words]) as lead:
        run = await lead.start("Go", flow="last-words", messages=SAID)
        assert (await run.answer()).text == "It rains in Paris."
        assert (await (await run.follow_up("Again")).answer()).text == "It rains in Paris."


@pytest.mark.parametrize(
    "given", ["hello", [5], [{"role": "system", "content": "Rules."}], [{"role": "user"}], {"role": "user"}]
)
async def test_other_messages_are_refused(home: Path, given: Any) -> None:
    async with Leadhand(models=ScriptedModel(), home=home) as lead:
        with pytest.raises(UsageError):
            await lead.start("Go", worker=WRITER, messages=given)
