"""Tools that will not stop, services that will not answer, code that breaks: bounded, and told where."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.app.runtime.clock import SystemClock
from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.events import ModelCallReturned, ToolCallReturned
from leadhand.core.limits import Limits
from leadhand.core.tool import Source, ToolReturn, WriteArtifact
from leadhand.engine.tool_returns import SMALL, is_small
from leadhand.tools.decorator import tool

GIVE_UP = calls(("give_up", {"reason": "it does not work"}))


@pytest.mark.parametrize("then", ["answers late", "goes on for ever"])
async def test_a_tool_that_swallows_its_cancellation_is_abandoned_and_what_it_says_late_does_not_count(
    open_world: Any, then: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leadhand.engine.threads.CLEARING_UP_S", 0.02)
    over = asyncio.Event()

    @tool(retries=0, timeout=0.02)
    async def stubborn() -> str:
        """Never let go."""
        try:
            await over.wait()
        except asyncio.CancelledError:
            if then == "goes on for ever":
                await over.wait()
        return "late"

    world = open_world(FakeModels(plan(ask("a", "stubborn")), work=GIVE_UP), [stubborn], clock=SystemClock())
    await world.run()
    over.set()

    (returned,) = await world.events(ToolCallReturned)
    assert (returned.ok, returned.failure.type, returned.raw) == (False, "timeout", None)


async def test_a_service_that_wants_to_be_left_alone_beyond_the_run_s_time_is_not_asked_again(open_world: Any):
    """Neither by a retry nor by a repair order: the run's time is what ended it."""
    bench = Bench()
    busy = ToolError("busy", type="http_429", class_=FailureClass.RATE_LIMITED, retry_after_s=30)
    world = open_world(FakeModels(plan(ask("a", "broken"))), [bench.broken(busy, retries=5)], limits=Limits(timeout=75))
    state = await world.run()

    assert world.clock.slept == [30.0, 30.0]
    assert bench.counts["broken"] == 3
    (gap,) = state.finished.gaps
    assert gap.class_ is FailureClass.EXHAUSTED
    assert "timeout" in gap.next_action


async def test_a_tool_that_never_lets_go_does_not_keep_its_process_alive(open_world: Any, monkeypatch: Any):
    monkeypatch.setattr("leadhand.engine.threads.CLEARING_UP_S", 0.02)
    left: list[str] = []

    @tool(retries=0, timeout=0.02)
    async def deaf() -> str:
        """Listen to nobody."""
        try:
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(600)
        finally:
            left.append("it is over")

    world = open_world(FakeModels(plan(ask("a", "deaf")), work=GIVE_UP), [deaf], clock=SystemClock())
    await world.run()

    assert left == ["it is over"]
    await asyncio.sleep(0)
    assert not [task for task in asyncio.all_tasks() if "_without_exit" in repr(task)]


# --- what a tool returns ---


def endless() -> Iterator[int]:
    yield from itertools.count()


class Panic(BaseException):
    """As extensions written in Rust raise it."""


LARGE: dict[str, Callable[[], Any]] = {
    "a dict of 100 MB": lambda: {f"row {n}": "x" * 1_000 for n in range(100_000)},
    "many small items": lambda: list(range(3_000_000)),
    "a dataclass": lambda: Rows(["x" * 1_000] * 3_000),
    "a summary of 20 MB": lambda: ToolReturn(summary="x" * 20_000_000),
    "many sources": lambda: ToolReturn(sources=(Source(title="x" * 1_000, url="http://x"),) * 3_000),
    "an artifact": lambda: ToolReturn(asks=(WriteArtifact(path="a", content="x" * 3_000_000),)),
}


@dataclass
class Rows:
    rows: list[str]


@pytest.mark.slow
@pytest.mark.parametrize("blocking", [False, True], ids=["async", "blocking"])
@pytest.mark.parametrize("name", LARGE)
async def test_a_return_value_without_end_or_beyond_the_limit_fails_its_call(
    open_world: Any, name: str, blocking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadhand.engine.tool_returns.LARGEST_RETURN", 100_000)

    @tool(name="large", retries=0)
    def large() -> Any:
        """Return a lot."""
        return LARGE[name]()

    @tool(name="large", retries=0)
    async def large_async() -> Any:
        """Return a lot."""
        return LARGE[name]()

    models = FakeModels(plan(ask("a", "large")), work=GIVE_UP)
    world = open_world(models, [large if blocking else large_async], clock=SystemClock())
    await world.run()

    (returned,) = await world.events(ToolCallReturned)
    assert (returned.ok, returned.failure.type, returned.raw) == (False, "too_large_return", None)
    assert "more than 100,000 characters" in returned.failure.message
    assert "WriteArtifact" in returned.failure.next_action


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "blocking"])
@pytest.mark.parametrize("within", [lambda it: it, lambda it: [1, [it]], lambda it: ToolReturn(raw={"rows": it})])
async def test_a_generator_is_refused_and_not_read(open_world: Any, blocking: bool, within: Callable[[Any], Any]):
    @tool(name="rows", retries=0)
    def rows() -> Any:
        """Return rows."""
        return within(endless())

    @tool(name="rows", retries=0)
    async def rows_async() -> Any:
        """Return rows."""
        return within(endless())

    models = FakeModels(plan(ask("a", "rows")), work=GIVE_UP)
    world = open_world(models, [rows if blocking else rows_async], clock=SystemClock())
    await world.run()

    (returned,) = await world.events(ToolCallReturned)
    assert (returned.ok, returned.failure.type) == (False, "not_json")
    assert "return a list" in returned.failure.message


@pytest.mark.slow
async def test_a_call_that_may_happen_once_and_returns_too_much_is_not_made_again(open_world: Any) -> None:
    paid: list[int] = []

    @tool(effect="once", approval="auto")
    async def pay() -> Any:
        """Pay."""
        paid.append(30)
        return endless()

    world = open_world(FakeModels(plan(ask("a", "pay")), work=calls(("pay", {}))), [pay], clock=SystemClock())
    await world.run()

    assert paid == [30]
    (returned,) = await world.events(ToolCallReturned)
    assert returned.failure.type == "unreadable_result"


def test_a_value_is_small_only_if_all_of_it_is_plain_and_seen() -> None:
    source = Source(title="t", url="http://x")
    plain = [None, 1, 1.5, "text", [1, {"a": (2, None)}], ToolReturn(raw=[1], summary="s", sources=(source,))]
    other = [
        "x" * SMALL,
        list(range(SMALL)),
        10 ** (2 * SMALL),
        endless(),
        {1},
        Rows([]),
        ToolReturn(raw=1, summary="x" * SMALL),
    ]
    assert [is_small(value) for value in plain] == [True] * len(plain)
    assert [is_small(value) for value in other] == [False] * len(other)


# --- what a tool raises ---


@pytest.mark.parametrize(
    "error", [Panic("unwrap on None"), BaseExceptionGroup("two", [Panic(), Panic()]), GeneratorExit()]
)
@pytest.mark.parametrize("blocking", [False, True], ids=["async", "blocking"])
async def test_no_exception_of_a_tool_costs_more_than_its_subtask(
    open_world: Any, error: BaseException, blocking: bool
) -> None:
    bench = Bench()

    @tool(name="panics", retries=0)
    def panics() -> str:
        """Panic."""
        raise error

    broken = panics if blocking else bench.broken(error, "panics", retries=0)
    world = open_world(FakeModels(plan(ask("a", "panics"), ask("b", "look", n=1)), work=GIVE_UP), [broken, bench.look])
    state = await world.run()

    panicked, looked = sorted(await world.events(ToolCallReturned), key=lambda event: event.ok)
    assert (panicked.ok, looked.ok) == (False, True)
    assert panicked.failure.message.startswith(f"panics raised {type(error).__name__}")
    assert [gap.name for gap in state.finished.gaps] == ["a"]


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [101, 199, 200, 240, 254, 300, 900])
async def test_a_tool_whose_answer_is_nested_too_deeply_fails_by_itself_and_the_log_can_be_read(
    open_world: Any, levels: int
):
    @tool(retries=0)
    async def odd() -> Any:
        """Return something odd."""
        return nested(levels)

    world = open_world(FakeModels(plan(ask("a", "odd")), work=["I looked.", GIVE_UP]), [odd])
    await world.run()

    (call,) = await world.events(ToolCallReturned)
    assert call.failure is not None
    assert call.failure.type == "not_json"
    assert ToolCallReturned.model_validate_json(call.model_dump_json()) == call


async def test_an_irreversible_call_whose_answer_cannot_be_stored_failed_and_is_not_made_again(open_world: Any):
    made: list[int] = []

    @tool(effect="once", approval="auto")
    async def pay() -> Any:
        """Pay."""
        made.append(1)
        return nested(240)

    world = open_world(FakeModels(plan(ask("a", "pay")), work=[calls(("pay", {})), calls(("pay", {}))]), [pay])
    state = await world.run()

    assert made == [1]
    assert not state.approvals
    assert state.steps["wo-001.0"].failure.type == "unreadable_result"
    assert state.steps["wo-001.0"].acted


async def test_what_a_tool_raises_is_cut_to_a_length_that_can_be_read(open_world: Any):
    @tool(retries=0)
    async def verbose() -> str:
        """Fail at length."""
        raise RuntimeError("x" * 1_000_000)

    world = open_world(FakeModels(plan(ask("a", "verbose")), work=[GIVE_UP]), [verbose])
    await world.run()

    for event in await world.events(ToolCallReturned):
        assert len(event.failure.message) == 10_000


@pytest.mark.parametrize("answer", ["x" * 2_000_001, ToolReturn(summary="x" * 2_000_001)], ids=["raw", "summary"])
async def test_a_tool_whose_answer_is_too_large_fails_by_itself(open_world: Any, answer: Any):
    @tool(retries=0)
    async def large() -> Any:
        """Return too much."""
        return answer

    world = open_world(FakeModels(plan(ask("a", "large")), work=["I looked.", GIVE_UP]), [large])
    await world.run()

    (call,) = await world.events(ToolCallReturned)
    assert call.failure is not None
    assert "more than 2,000,000 characters" in call.failure.message


@pytest.mark.parametrize("where", ["arguments", "answer"])
async def test_a_model_that_nests_too_deeply_fails_by_itself_and_the_log_can_be_read(open_world: Any, where: str):
    @tool
    async def look(at: Any) -> str:
        """Look."""
        return "seen"

    work = [calls(("look", {"at": nested(240)})), calls(("look", {"at": nested(240)})), GIVE_UP]
    planned = plan(ask("a")) if where == "arguments" else plan(ask("a", "look", at=nested(240)))
    world = open_world(FakeModels(planned, work=work), [look])
    state = await world.run()

    assert state.finished is not None
    for entry in await world.entries():
        assert type(entry.event).model_validate_json(entry.event.model_dump_json()) == entry.event
    failed = [event for event in await world.events(ModelCallReturned) if event.failure is not None]
    assert failed
    assert {each.failure.class_ for each in failed} == {FailureClass.INVALID}
    assert all("100 levels" in each.failure.message for each in failed)


@pytest.mark.parametrize("levels", [99, 100])
async def test_arguments_that_references_make_too_deep_are_refused_before_the_call(open_world: Any, levels: int):
    made: list[Any] = []

    @tool
    async def dig() -> ToolReturn:
        """Return something as deep as it may be."""
        return ToolReturn(raw=nested(levels), summary="dug")

    @tool(retries=0)
    async def look(at: Any) -> str:
        """Look."""
        made.append(at)
        return "seen"

    reference = {"$result": {"subtask": "0", "path": "/raw"}}
    planned = plan(ask("a", "dig"), {**ask("b", "look", at=reference), "needs": [0]})
    world = open_world(FakeModels(planned, work=["I looked.", GIVE_UP]), [dig, look])
    state = await world.run()

    assert state.finished is not None
    assert made == ([nested(99)] if levels == 99 else [])
    for entry in await world.entries():
        assert type(entry.event).model_validate_json(entry.event.model_dump_json()) == entry.event
