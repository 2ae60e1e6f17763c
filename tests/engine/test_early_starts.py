"""Subtasks begin while their plan is being written, if they can be repeated; the order adopts or reuses them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from leadhand.core import events as ev
from leadhand.core.conversation import AssistantMessage
from leadhand.core.errors import FailureClass
from leadhand.core.limits import Limits, Money, Usage
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.ports.models import ModelReply, ModelRequest
from leadhand.testing.steps import worker_of
from leadhand.tools.decorator import tool

from .fakes import FakeModels, down
from .tools import Bench, refusal
from .worlds import World, ask

Piece = str | BaseException | Callable[[], Awaitable[Any]]


class WritingModels(FakeModels):
    """Models whose plans are written piece by piece: a function among the pieces is awaited before the rest."""

    def __init__(self, *plans: Sequence[Piece], **more: Any) -> None:
        super().__init__(**more)
        self.plans = list(plans)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if worker_of(request) != "plan":
            return await super().ask(request, on_text)
        self.asked.append(request)
        written = ""
        for piece in self.plans.pop(0):
            if isinstance(piece, BaseException):
                raise piece
            if not isinstance(piece, str):
                await piece()
                continue
            written += piece
            if on_text is not None:
                on_text(piece)
        message = AssistantMessage(text=written)
        return ModelReply(message=message, value=json.loads(written), usage=Usage(input_tokens=10, output_tokens=5))


def head(*subtasks: dict[str, Any]) -> str:
    """The begin of a plan."""
    return '{"goal": "all of it", "subtasks": [' + ", ".join(map(json.dumps, subtasks))


def tail(*subtasks: dict[str, Any], more: bool = False) -> str:
    """The end of a plan that has begun."""
    return "".join(f", {json.dumps(each)}" for each in subtasks) + f'], "more": {json.dumps(more)}' + "}"


def whole(*subtasks: dict[str, Any]) -> str:
    return head(*subtasks) + tail()


def look(n: int, **more: Any) -> dict[str, Any]:
    return {**ask(f"look at {n}", "look", n=n), **more}


class Early:
    """A world whose models write plans, and conditions to wait for in the middle of one."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.models = WritingModels()
        self.worlds: list[World] = []

    def world(self, *plans: Sequence[Piece], tools: Sequence[Any] = (), **more: Any) -> World:
        self.models.plans = list(plans)
        bench = self.bench
        world = World(self.models, [bench.look, *tools], **more)
        self.worlds.append(world)
        return world

    def until(self, reached: Callable[[RunState], Any]) -> Callable[[], Awaitable[RunState]]:
        return lambda: self.worlds[-1].until(reached)

    def looked(self, count: int) -> Callable[[], Awaitable[RunState]]:
        """So many looks are settled."""
        return self.until(lambda state: sum(each.counts and each.closed for each in state.steps.values()) >= count)


@pytest.fixture
async def early() -> Any:
    early = Early()
    yield early
    for world in early.worlds:
        await world.aclose()


async def issued(world: World) -> list[str]:
    """The orders and the subtasks that began before one, in the order of the log."""
    found: list[str] = []
    for entry in await world.entries():
        if isinstance(entry.event, ev.OrderIssued):
            found.append(entry.event.order.work_order_id)
        elif isinstance(entry.event, ev.StepIssued) and entry.event.step.subtask is not None:
            found.append(entry.event.step.step_id)
    return found


async def test_what_cannot_be_repeated_or_needs_approval_never_begins_early(early: Early):
    bench = early.bench

    @tool(approval="ask")
    async def read_mail(n: int) -> str:
        """Read mail number n."""
        bench.made.append(("read_mail", n))
        return f"mail {n}"

    @tool(delegate=True)
    async def pass_on(n: int) -> str:
        """Have somebody else do n."""
        return f"{n}"

    first = [ask("pay", "send", amount=1), ask("mail", "read_mail", n=2), ask("other", "pass_on", n=3)]
    first += [ask("think"), ask("missing", "look"), look("three"), ask("fly", "fly", n=1), look(5, needs=[0])]  # pyright: ignore[reportArgumentType]
    first += [ask("of another", "look", n={"$result": {"subtask": 0}})]
    written = early.until(lambda state: any(each.counts for each in state.steps.values()))
    pieces = [head(*first, look(9)), written, ValueError("it stops")]
    world = early.world(pieces, tools=[bench.send(approval="auto"), read_mail, pass_on])
    await world.run()

    assert await issued(world) == ["wo-001.9"]
    assert bench.counts == {"look": 1}


async def test_arguments_that_do_not_fit_are_not_recorded(early: Early):
    pieces = [head(look(1), ask("wrong", "look", n="one"), {"name": ""}, "text"), early.looked(1)]  # pyright: ignore[reportArgumentType]
    world = early.world([*pieces, tail()], [whole(look(1), look(2))])
    state = await world.run()

    assert [event.index for event in await world.events(ev.ElementWritten)] == [0]  # the second plan came as a whole
    assert state.status is RunStatus.SUCCEEDED
    assert early.bench.counts == {"look": 2}


async def test_a_plan_that_a_lost_server_cuts_off_is_read_from_its_start_again(early: Early):
    lost = down("the connection was lost", "transient", "connection")
    cut = head(look(1))[:-3]  # in the middle of an element
    world = early.world([cut, lost], [head(look(1), look(2)), early.looked(2), tail(look(3))])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert (await issued(world))[:3] == ["wo-001.0", "wo-001.1", "wo-001"]
    assert early.bench.made == [("look", 1), ("look", 2), ("look", 3)]


async def test_an_order_has_what_has_begun_wherever_the_plan_has_it(early: Early):
    world = early.world(
        [head(look(1), look(2), look(8)), early.looked(3), tail(ask("fly", "fly"))],
        [whole(look(7), look(2), look(1), look(3, needs=["wo-001.2"]))],
    )
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert [*state.orders] == ["wo-001"]
    assert sorted(early.bench.made) == [("look", n) for n in (1, 2, 3, 7, 8)], "nothing is done twice"
    assert state.orders["wo-001"].order.keys == ("wo-001.4", "wo-001.1", "wo-001.0", "wo-001.3")
    assert state.steps["wo-001.3"].step.needs == ("wo-001.0",)
    assert state.finished is not None
    assert sorted(state.finished.answer.split("; ")) == ["saw 1", "saw 2", "saw 3", "saw 7"]
    assert state.finished.left_out == ("wo-001.2",), "what the plan no longer has is a part of the answer"


async def test_a_begun_subtask_that_fails_is_adopted_with_its_failure(early: Early):
    bench = early.bench
    world = early.world(
        [head(look(1), ask("no", "broken", n=2)), early.looked(2), tail(look(3))],
        tools=[bench.broken(refusal(class_=FailureClass.UNAVAILABLE))],
    )
    state = await world.run()

    assert state.status is RunStatus.PARTIAL
    assert state.finished is not None
    assert [gap.step for gap in state.finished.gaps] == ["wo-001.1"]
    assert bench.counts["look"] == 2


async def test_a_budget_that_only_allows_the_plan_is_not_overspent(early: Early):
    limits = Limits(max_requests=3)
    calls = [ask(f"measure {n}", "measure", n=n) for n in range(3)]
    world = early.world(
        [head(*calls), early.until(lambda state: any(each.counts for each in state.steps.values())), tail()],
        tools=[early.bench.measure],
        worker_calls="always",
        limits=limits,
        held_back=Money(requests=2),
    )
    state = await world.run()

    assert state.spent.requests <= 3
    assert state.status in (RunStatus.PARTIAL, RunStatus.FAILED)
    assert state.finished is not None
    assert all("max_requests" in gap.next_action for gap in state.finished.gaps)


async def test_after_a_crash_what_was_done_is_not_done_again(early: Early):
    stops = early.until(lambda state: state.epoch > 1)
    world = early.world(
        [head(look(1), look(2)), early.looked(2), stops],
        [whole(look(1), look(2), look(3))],
    )
    run_id = await world.start()
    drive = world.driving(run_id)
    await early.looked(2)()
    drive.cancel()
    state = await world.take_over(run_id)

    assert state.status is RunStatus.SUCCEEDED
    assert early.bench.made == [("look", 1), ("look", 2), ("look", 3)]
    assert [*state.orders] == ["wo-001"]


@pytest.mark.parametrize("request_", [ev.RunRequested(what="cancel", by="me"), ev.RunRequested(what="pause", by="me")])
async def test_cancelling_and_pausing_end_what_has_begun(early: Early, request_: ev.AnyEvent):
    @tool
    async def wait(n: int) -> str:
        """Wait for n."""
        early.bench.made.append(("wait", n))
        await early.until(lambda state: False)()
        return ""

    async def asks() -> None:
        await early.until(lambda state: early.bench.made)()
        await world.append("run_1", request_)
        await early.until(lambda state: False)()

    world = early.world([head(ask("one", "wait", n=1)), asks], tools=[wait])
    state = await world.run()

    if request_.what == "cancel":
        assert state.status is RunStatus.CANCELLED
        assert not state.live
        assert state.steps["wo-001.0"].closed
    else:
        assert state.status is RunStatus.PAUSED
