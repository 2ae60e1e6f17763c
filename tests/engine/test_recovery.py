"""A log cut anywhere and resumed by a fresh process comes to the same answer, and nothing finished is done again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from memory_store import MemoryStore

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.core.conversation import ToolMessage
from leadhand.core.errors import UsageError
from leadhand.core.events import (
    AttemptReturned,
    AttemptStarted,
    Entry,
    ModelCallBegan,
    ModelCallReturned,
    RunStarted,
    StepSettled,
    ToolCallBegan,
    ToolCallReturned,
)
from leadhand.core.evolve import replay
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.ports.heads import head_of

THREE = plan(
    ask("a", "look", n=1),
    ask("b", "flaky", n=2),
    {**ask("c", "measure", n={"$result": {"subtask": "0", "path": "/raw/n"}}), "needs": [0]},
)


def measured(request: Any, facts: dict[str, Any]) -> str:
    """What a model makes of the numbers it was shown."""
    shown = [message.content for message in request.messages if isinstance(message, ToolMessage)]
    return f"measured {shown[-1]}" if shown else "nothing was measured"


def world_of(failures: int, store: MemoryStore | None = None) -> tuple[World, Bench]:
    """The world the run lives in: three tools, one of which fails so many times."""
    bench = Bench()
    tools = [bench.look, bench.flaky(failures), bench.measure]
    return World(FakeModels(THREE, work=measured), tools, store=store, worker_calls="always"), bench


async def whole() -> tuple[RunState, list[Entry]]:
    """The run as it goes when nothing happens to it."""
    world, _ = world_of(1)
    state = await world.run()
    entries = await world.entries()
    await world.aclose()
    return state, entries


WHOLE, LOG = asyncio.run(whole())


async def cut(entries: Sequence[Entry]) -> tuple[World, Bench]:
    """A fresh world whose store holds the beginning of a log, as a process that died left it."""
    failed = any(isinstance(entry.event, ToolCallBegan) and entry.event.tool == "flaky" for entry in entries)
    world, bench = world_of(0 if failed else 1)
    first = entries[0].event
    assert isinstance(first, RunStarted)
    await world.store.create("run_1", first)
    if len(entries) > 1:
        head = head_of(replay("run_1", entries))
        await world.store.append("run_1", [entry.event for entry in entries[1:]], head=head)
    return world, bench


def after_a_commit(entries: Sequence[Entry], length: int) -> int:
    """The next length at which a process can have died: that an attempt is over and tried again is one commit."""
    last = entries[length - 1].event
    return length + 1 if isinstance(last, StepSettled) and not last.final else length


def made(entries: Sequence[Entry]) -> tuple[Counter[str], set[str]]:
    """Which tool calls came back well, and which models answered, in a part of a log."""
    tools = Counter(
        entry.event.call_id for entry in entries if isinstance(entry.event, ToolCallReturned) and entry.event.ok
    )
    return tools, {entry.event.call_id for entry in entries if isinstance(entry.event, ModelCallReturned)}


def test_the_run_that_is_cut_has_everything_in_it():
    assert WHOLE.status is RunStatus.SUCCEEDED
    assert WHOLE.finished is not None
    assert WHOLE.finished.answer.endswith('; measured {"raw":{"value":10}}')
    assert WHOLE.finished.answer.count("measured") == 3
    kinds = {entry.event.type for entry in LOG}
    assert kinds >= {"attempt_scheduled", "step_settled", "tool_call_returned", "results_judged", "run_finished"}


@pytest.mark.parametrize("length", range(1, len(LOG)))
async def test_a_log_cut_anywhere_is_resumed_to_the_same_answer(length: int):
    world, bench = await cut(LOG[:length])
    state = await world.take_over("run_1")
    entries = await world.entries()
    await world.aclose()

    assert WHOLE.finished is not None
    assert state.finished is not None
    assert (state.status, state.finished.answer) == (WHOLE.status, WHOLE.finished.answer)
    assert state.finished.sources
    begun = {entry.event.attempt for entry in LOG[:length] if isinstance(entry.event, AttemptStarted)}
    assert {
        each.attempt
        for each in (entry.event for entry in entries if isinstance(entry.event, AttemptReturned))
        if each.lost
    } <= begun, "what had not begun was given up"
    tools, models = made(LOG[:length])
    tools_after, models_after = made(entries[length:])
    assert not set(tools) & set(tools_after), "a finished call was made again"
    assert not models & models_after, "a model was asked again what it had answered"
    assert sum(bench.counts.values()) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("length", range(1, len(LOG)))
async def test_a_log_cut_twice_is_resumed_to_the_same_answer_too(length: int):
    world, _ = await cut(LOG[: after_a_commit(LOG, length)])
    await world.take_over("run_1")
    again = await world.entries()
    await world.aclose()
    second = after_a_commit(again, min(len(again) - 1, length + 4))
    world, _ = await cut(again[:second])
    state = await world.take_over("run_1")
    await world.aclose()

    assert WHOLE.finished is not None
    assert state.finished is not None
    assert (state.status, state.finished.answer) == (WHOLE.status, WHOLE.finished.answer)


async def test_a_run_that_is_over_is_not_taken_over():
    world, bench = await cut(LOG)
    with pytest.raises(UsageError):
        await world.take_over("run_1")
    assert bench.made == []
    await world.aclose()


async def test_the_same_log_is_resumed_the_same_way_every_time():
    lengths = (12, len(LOG) // 2, len(LOG) - 3)
    for length in lengths:
        logs: list[list[str]] = []
        for _ in range(2):
            world, _ = await cut(LOG[:length])
            await world.take_over("run_1")
            logs.append([entry.event.type for entry in await world.entries()])
            await world.aclose()
        assert logs[0] == logs[1]


async def test_a_conversation_is_taken_up_after_its_last_finished_turn():
    began = [
        entry.seq for entry in LOG if isinstance(entry.event, ModelCallBegan) and "wo-001.2" in entry.event.attempt
    ]
    world, bench = await cut(LOG[: began[0]])
    await world.take_over("run_1")
    (request,) = world.models.requests("work")  # pyright: ignore[reportAttributeAccessIssue]
    await world.aclose()

    assert bench.counts["measure"] == 0
    assert [type(message).__name__ for message in request.messages] == [
        "SystemMessage",
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
    ]
