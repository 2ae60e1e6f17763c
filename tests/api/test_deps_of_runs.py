"""Objects that a program gives one run: the session of a user, a tenant, a transaction."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import ConfigurationError, Leadhand, RunStatus, ToolContext, Worker, tool
from leadhand.flows import FlowContext, flow
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, calls, fails, says

SHOWN: list[object] = []


@pytest.fixture(autouse=True)
def _nothing_shown() -> None:
    SHOWN.clear()


@tool(effect="pure")
def whose(context: ToolContext) -> str:
    """Whose mail is it?"""
    SHOWN.append(context.deps)
    return f"It is the mail of {context.deps}."


@tool(effect="once", approval="ask")
def pay(context: ToolContext) -> str:
    """Pay."""
    SHOWN.append(context.deps)
    return "paid"


CLERK = Worker("clerk", "Answer.", tools=[whose])
CASHIER = Worker("cashier", "Pay.", tools=[pay])


def lead_of(home: Path, models: ScriptedModel, **given: Any) -> Leadhand:
    return leadhand_of(models=models, home=home, workers=[CLERK, CASHIER], tools=[], **given)


async def test_each_run_has_its_own_and_others_have_none(home: Path) -> None:
    def look_and_say(request: ModelRequest) -> Step:  # by what a run has done: each has a pace of its own
        return says("Done.") if request.messages[-1].role == "tool" else calls("whose")

    with ScriptedModel(clerk=look_and_say) as models:
        async with lead_of(home, models) as lead:
            given = ("ann", "bob", None)
            runs = [await lead.start("Whose is it?", worker=CLERK, deps=each) for each in given]
            answers = await asyncio.gather(*(run.answer() for run in runs))
    assert {each.status for each in answers} == {RunStatus.SUCCEEDED}
    assert sorted(map(str, SHOWN)) == ["None", "ann", "bob"]


def test_code_without_a_loop_gives_them_too(home: Path) -> None:
    with ScriptedModel(clerk=[calls("whose"), says("Done.")]) as models:
        answer = lead_of(home, models).run_sync("Whose is it?", worker=CLERK, deps="ann")
    assert (answer.status, SHOWN) == (RunStatus.SUCCEEDED, ["ann"])


async def test_a_flow_and_instructions_see_them(home: Path) -> None:
    @flow
    async def greeting(run: FlowContext) -> str:
        return f"Hello {run.deps}."

    async with Leadhand(models=ScriptedModel(), home=home, flows=[greeting]) as lead:
        assert (await lead.run("Go", flow="greeting", deps="ann")).text == "Hello ann."
    own = Worker("own", lambda given: f"Answer {given.deps}.", tools=())
    with ScriptedModel([says("Yes.")]) as models:
        async with Leadhand(models=models, home=home) as lead:
            await lead.run("Go", worker=own, deps="bob")
    assert "Answer bob." in models.requests[0].messages[0].text  # type: ignore[union-attr]


async def test_no_event_and_no_document_has_them(home: Path) -> None:
    class Session:
        def __repr__(self) -> str:
            return "the-session-of-ann"

        __str__ = __repr__

    @tool(effect="pure")
    def look(context: ToolContext) -> str:
        """Look."""
        SHOWN.append(context.deps)
        return "seen"

    with ScriptedModel([calls("look"), says("Done.")]) as models:
        async with lead_of(home, models) as lead:
            run = await lead.start("Go", worker=Worker("own", "Look.", tools=[look]), deps=Session())
            answer = await run.answer()
            events = [event.body async for event in run.events()]
    assert [type(each) for each in SHOWN] == [Session]
    assert "the-session" not in "".join([*events, repr(answer.document)])


async def test_a_process_without_them_leaves_the_run_as_it_is_and_one_with_others_continues_it(home: Path) -> None:
    with ScriptedModel(cashier=[calls("pay")]) as models:
        async with lead_of(home, models) as lead:
            run_id = (await lead.run("Pay", worker=CASHIER, deps="ann")).run_id
    async with lead_of(home, ScriptedModel()) as lead:
        (asked,) = await lead.approvals()
        await lead.approve(asked)
        before = (await (await lead.runtime()).store.run(run_id)).head_seq
        with pytest.raises(ConfigurationError, match="deps="):
            await lead.resume(run_id)
        assert (await (await lead.runtime()).store.run(run_id)).head_seq == before
        assert SHOWN == []
    with ScriptedModel(cashier=[says("Paid.")]) as models:
        async with lead_of(home, models) as lead:
            answer = await (await lead.resume(run_id, deps="ann")).answer()
    assert (answer.status, SHOWN) == (RunStatus.SUCCEEDED, ["ann"])


async def test_an_answered_run_goes_on_with_its_own(home: Path) -> None:
    with ScriptedModel(cashier=[calls("pay"), says("Paid.")]) as models:
        async with lead_of(home, models) as lead:
            run = await lead.start("Pay", worker=CASHIER, deps="ann")
            assert (await run.answer()).status is RunStatus.WAITING
            (asked,) = await run.approvals()
            await run.approve(asked)
            assert (await run.answer()).status is RunStatus.SUCCEEDED
    assert SHOWN == ["ann"]


async def test_a_retried_run_has_them_again_and_an_ended_one_keeps_nothing(home: Path) -> None:
    with ScriptedModel(clerk=[fails("unavailable", "bad_key", "no"), calls("whose"), says("Done.")]) as models:
        async with lead_of(home, models) as lead:
            run = await lead.start("Whose is it?", worker=CLERK, deps="ann")
            assert (await run.answer()).status is RunStatus.FAILED
            runtime = await lead.runtime()
            assert runtime.toolbox.deps_of_runs == {}
            await run.retry()
            assert (await run.answer()).status is RunStatus.SUCCEEDED
            assert runtime.toolbox.deps_of_runs == {}
    assert SHOWN == ["ann"]
