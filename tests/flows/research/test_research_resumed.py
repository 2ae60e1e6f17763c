"""A research run that a limit ended continues with a higher one: only what was not finished is done."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from refusals import refused

from flows.judges import briefs, judge
from flows.report.reports import in_turn
from leadhand import Answer, Leadhand, Limits, RunStatus
from leadhand.core.errors import UsageError
from leadhand.core.events import RunChanged, RunFinished
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls

from .runs import (
    CONTRADICTED,
    PASSAGES,
    QUESTION,
    SHOWN,
    SOUND,
    WRONG,
    both,
    lead,
    model,
    search,
    subagent,
    task,
)
from .test_research_limits import Clock, clock, hang, late, priced

__all__ = ["clock"]

SIZE = SOUND.partition(" The")[0]
TODOS = calls("todo_list_write", todos=[{"id": "1", "content": "costs", "status": "pending"}])
READ = calls("filesystem_read", path="memory/size.md")
WHOLE = lead(TODOS, both, READ, SOUND)


def made(scripted: ScriptedModel) -> list[str]:
    """The requests so far: the worker and the turn, of a subagent also its task."""
    names: list[str] = []
    for each in scripted.requests:
        turn = sum(message.role == "assistant" for message in each.messages) + 1
        name = f"-{brief_of(each)['task']['task_name']}" if each.worker == "subagent" else ""
        names.append(f"{each.worker}{name}-{turn}")
    return names


def opened(home: Path, scripted: ScriptedModel, **more: Any) -> Leadhand:
    return leadhand_of(home=home, models=scripted, tools=[search], **more)


def continued(home: Path, scripted: ScriptedModel, run_id: str, **limits: Any) -> tuple[Answer, list[str]]:
    """Resume the run, and return its answer and the requests that were made for it."""
    before = len(scripted.requests)
    answer = opened(home, scripted).resume_sync(run_id, limits=Limits(**limits))
    return answer, made(scripted)[before:]


def ended(home: Path, scripted: ScriptedModel, max_turns: int = 60, **limits: Any) -> Answer:
    """Start a run that ends because of a limit."""
    answer = opened(home, scripted, **limits).research_sync(QUESTION, max_turns=max_turns)
    assert answer.status is RunStatus.PARTIAL, answer.document
    assert "exhausted" in {each.class_ for each in answer.gaps}
    return answer


def test_more_turns_continue_the_lead_and_replace_the_answer_that_stood_in_for_its_own(home: Path) -> None:
    scripted = model(lead=WHOLE, writer=SOUND)
    first = ended(home, scripted, max_turns=2)
    (gap,) = first.gaps
    assert "max_turns" in gap.next_action
    assert made(scripted)[-1] == "writer-1"

    answer, again = continued(home, scripted, first.run_id, max_turns=4)

    assert (answer.status, answer.text, answer.gaps) == (RunStatus.SUCCEEDED, SHOWN, ())
    assert again == ["lead-3", "lead-4"]
    third = next(each for each in scripted.requests if each.worker == "lead" and len(each.messages) == 7)
    assert [message.role for message in third.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "tool",
    ]
    assert answer.document["todos"] == first.document["todos"]
    assert answer.document["artifacts"] == first.document["artifacts"]
    assert [each["answer"] for each in answer.document["earlier_answers"]] == [first.text]


def test_a_run_is_resumed_twice_and_each_time_only_the_rest_is_done(home: Path) -> None:
    scripted = model(lead=WHOLE, writer=SOUND)
    first = ended(home, scripted, max_turns=2)
    second, again = continued(home, scripted, first.run_id, max_turns=3)

    assert again == ["lead-3", "writer-1"], "the answer of the first attempt is out of date"
    assert second.status is RunStatus.PARTIAL
    (gap,) = second.gaps
    assert "max_turns" in gap.next_action

    third, again = continued(home, scripted, first.run_id, max_turns=9)
    assert (third.status, third.text) == (RunStatus.SUCCEEDED, SHOWN)
    assert again == ["lead-4"]
    assert len(third.document["earlier_answers"]) == 2


def test_a_revision_after_the_continuation_is_of_the_new_answer(home: Path) -> None:
    scripted = model(lead=lead(TODOS, both, READ, WRONG), writer=in_turn(SOUND, SHOWN), judge=judge(CONTRADICTED))
    first = ended(home, scripted, max_turns=2, check="judge")

    answer, again = continued(home, scripted, first.run_id, max_turns=4)
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, SHOWN)
    assert CONTRADICTED.words in briefs(scripted, "writer")[-1]["answer"]
    assert again == ["lead-3", "lead-4", "judge-1", "writer-1", "judge-1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high"),
    [
        ({"budget": 0.2}, {"budget": 1.0}),
        ({"max_requests": 20}, {"max_requests": 90}),
        ({"max_tokens": 80_000, "budget": None}, {"max_tokens": 500_000}),
    ],
)
def test_a_larger_allowance_continues_every_worker_where_it_stopped(
    home: Path, low: dict[str, Any], high: dict[str, Any]
) -> None:
    """The lead asks for one subagent at a time; the one that the limit stopped is continued, not started again."""
    more = [calls("subagent_run", **task(f"size {number}")) for number in range(6)]
    scripted = priced(model(lead=lead(both, *more, SOUND), writer=SOUND))
    first = ended(home, scripted, **low)
    answer, again = continued(home, scripted, first.run_id, **high)

    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, SHOWN), answer.document["gaps"]
    assert "writer-1" not in again
    counted = Counter(each for each in made(scripted) if not each.startswith("writer"))
    assert set(counted.values()) == {1}, "a turn was made twice"
    asked = [each for each in made(scripted) if each.startswith("subagent") and each.endswith("-1")]
    assert len(asked) == 8


@pytest.mark.slow
def test_many_subagents_that_a_limit_stopped_at_once_continue_together(home: Path) -> None:
    ten = [{"tool": "subagent_run", "args": task(f"size {number}")} for number in range(10)]
    scripted = priced(model(lead=lead(calls("parallel_tool_call", calls=ten), SIZE), writer=SOUND))
    first = opened(home, scripted, max_requests=18).research_sync(QUESTION)
    assert first.status is not RunStatus.SUCCEEDED
    answer, _ = continued(home, scripted, first.run_id, max_requests=100)

    assert (answer.status, answer.gaps) == (RunStatus.SUCCEEDED, ())
    counted = Counter(each for each in made(scripted) if each.startswith(("lead", "subagent")))
    assert set(counted.values()) == {1}
    assert len(counted) == 2 + 3 * 10


def test_more_time_continues_the_lead_and_the_subagent_that_hung_beside_it(home: Path, clock: type[Clock]) -> None:
    """When the time is up, the lead waits for two children; one has finished, one hangs at its second turn."""
    hung = asyncio.Event()

    async def stuck(request: ModelRequest) -> Any:
        hung.set()
        await hang(request)

    async def owner(request: ModelRequest) -> Any:
        await hung.wait()
        return late(clock, subagent)(request)

    hanging = iter([calls("search", query="owner size")])
    two = [{"tool": "subagent_run", "args": task(name)} for name in ("hanging", "owner")]
    scripted = model(
        lead=lead(both, calls("parallel_tool_call", calls=two), SOUND),
        hanging=lambda _: next(hanging, stuck),
        owner=owner,
        writer=SOUND,
    )
    first = ended(home, scripted, timeout=100)
    gaps = {each.name: each for each in first.gaps}
    assert gaps.keys() > {"hanging", "owner"}
    assert "timeout" in gaps["hanging"].next_action

    hanging = iter([{"summary": f"{PASSAGES['aaaaaaaa.1']} [aaaaaaaa.1]"}])
    clock.moved *= 0
    before = made(scripted)
    answer, again = continued(home, scripted, first.run_id, timeout=3_000)
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, SHOWN), answer.document["gaps"]
    assert [each for each in again if "hanging" in each] == ["subagent-hanging-2"]
    assert not {"subagent-size-1", "subagent-costs-1", "lead-1", "lead-2"}.intersection(again)
    assert before.count("subagent-hanging-1") == 1


async def test_what_the_deadline_ended_while_the_lead_waited_for_it_continues(home: Path, clock: type[Clock]) -> None:
    """The time for the answer is over, too: the run ends with the lead and its subagent under way."""
    stuck = asyncio.Event()

    async def hold(request: ModelRequest) -> Any:
        stuck.set()
        await asyncio.Event().wait()

    steps: list[Any] = [hold]
    scripted = model(lead=lead(calls("subagent_run", **task("size")), SIZE), size=lambda _: steps[0])
    async with opened(home, scripted, timeout=100) as world:
        run = await world.start(QUESTION, flow="research")
        await asyncio.wait_for(stuck.wait(), 60)
        Clock.moved += Clock.moved.__class__(seconds=200)
        await run.pause("wake up")
        first = await run.answer()
        assert first.status is RunStatus.FAILED, first.document
        steps[0] = subagent
        Clock.moved *= 0
        again = await (await world.resume(run.run_id, limits=Limits(timeout=5_000))).answer()
    assert (again.status, again.gaps) == (RunStatus.SUCCEEDED, ())
    assert [each for each in made(scripted) if each.startswith("lead")] == ["lead-1", "lead-2"]


async def test_resuming_without_a_higher_limit_says_which_one_to_raise_and_records_nothing(home: Path) -> None:
    scripted = model(lead=WHOLE, writer=SOUND)
    async with opened(home, scripted) as world:
        first = await world.research(QUESTION, max_turns=2)
        run = await world.get(first.run_id)
        for door in (
            lambda: world.resume(first.run_id),
            lambda: world.resume(first.run_id, limits=Limits(budget=9.0)),  # it is not the money that ran out
            run.retry,
        ):
            with refused(UsageError, "max_turns", f"leadhand runs resume {first.run_id} --max-turns 12"):
                await door()
        with refused(UsageError, "max_turns"):
            await world.resume(first.run_id, limits=Limits(max_turns=2))
        assert (await run.document())["last_seq"] == first.document["last_seq"]


async def test_an_allowance_that_is_used_up_is_not_tried_again_unless_it_is_raised(home: Path) -> None:
    scripted = priced(model(lead=lead(both, calls("subagent_run", **task("size 3")), SOUND), writer=SOUND))
    async with opened(home, scripted, max_requests=10) as world:
        first = await world.research(QUESTION)
        asked = len(scripted.requests)
        run = await world.get(first.run_id)
        for door in (lambda: world.resume(first.run_id), run.retry):
            with refused(UsageError, "max_requests"):
                await door()
        with refused(UsageError, "max_requests"):
            await world.resume(first.run_id, limits=Limits(max_requests=2))
    assert len(scripted.requests) == asked


async def test_max_turns_is_refused_where_no_lead_has_turns_and_out_of_range(home: Path) -> None:
    async with Leadhand("offline", home=home) as world:
        answer = await world.run("What is the weather in Paris?")
        for value in (9, 0, 1_001, True, "9"):
            with refused(UsageError, "turns"):
                await world.resume(answer.run_id, limits=Limits(max_turns=value))  # pyright: ignore[reportArgumentType]


async def test_a_fork_can_have_more_turns(home: Path) -> None:
    scripted = model(lead=WHOLE, writer=SOUND)
    async with opened(home, scripted) as world:
        first = await world.research(QUESTION, max_turns=2)
        entries = await (await world.runtime()).store.read(first.run_id)
        # while its second turn is made: both subagents are still to come
        at = next(each.seq for each in entries if getattr(each.event, "call_id", "") == "lead/t2") + 1
        before = len(scripted.requests)
        answer = await (await world.fork(first.run_id, at, limits=Limits(max_turns=5))).answer()
        assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, SHOWN)
        assert not {"lead-1", "lead-2"}.intersection(made(scripted)[before:])
        # a fork at a time before the run was given more turns does not have these
        await (await world.resume(first.run_id, limits=Limits(max_turns=3))).answer()
        other = await (await world.fork(first.run_id, at)).answer()
        assert other.status is RunStatus.PARTIAL
        assert "max_turns" in other.gaps[0].next_action


async def test_the_log_of_a_resumed_run_says_what_was_raised(home: Path) -> None:
    async with opened(home, model(lead=WHOLE, writer=SOUND)) as world:
        first = await world.research(QUESTION, max_turns=2)
        await (await world.resume(first.run_id, limits=Limits(max_turns=4))).answer()
        events = [each.event for each in await (await world.runtime()).store.read(first.run_id)]
    (changed,) = (each for each in events if isinstance(each, RunChanged))
    assert changed.turns == {"lead": 4}
    assert sum(isinstance(each, RunFinished) for each in events) == 2
