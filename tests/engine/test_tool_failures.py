"""One failure costs one subtask: whatever a tool does, it is bounded, classed, and nobody else's trouble."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench, refusal
from engine.worlds import ask, plan
from leadhand.app.runtime.clock import SystemClock
from leadhand.core.conversation import ToolMessage
from leadhand.core.errors import FailureClass
from leadhand.core.events import AttemptScheduled, StepRequested, StepSettled, ToolCallBegan, ToolCallReturned
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.core.tool import ToolReturn
from leadhand.engine.forking import fork
from leadhand.ports import ToolContext
from leadhand.ports.models import ModelRequest
from leadhand.tools.decorator import tool

GIVE_UP = calls(("give_up", {"reason": "it does not work"}))


def failure_of(state: Any, key: str = "wo-001.0") -> Any:
    return state.steps[key].failure


async def test_a_tool_that_never_answers_is_timed_out_and_holds_up_nobody(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a", "hanging"), ask("b", "look", n=1)))
    world = open_world(models, [bench.hanging(timeout=0.02, retries=1), bench.look])
    state = await world.run()

    assert state.status is RunStatus.PARTIAL
    assert bench.counts["hanging"] == 2
    assert (failure_of(state).type, failure_of(state).class_) == ("timeout", "transient")
    assert "0.02 s" in failure_of(state).message
    assert state.steps["wo-001.1"].accepted


async def test_a_blocking_tool_that_never_answers_is_abandoned_and_holds_up_nobody(open_world: Any):
    never = threading.Event()
    bench = Bench()

    @tool(timeout=0.05, retries=0)
    def blocking(n: int) -> str:
        """Block."""
        never.wait(30)
        return "too late"

    models = FakeModels(plan(*(ask(f"s{n}", "blocking", n=n) for n in range(5)), ask("b", "look", n=1)))
    world = open_world(models, [blocking, bench.look])
    try:
        state = await world.run()
    finally:
        never.set()

    assert state.status is RunStatus.PARTIAL
    assert [failure_of(state, f"wo-001.{n}").type for n in range(5)] == ["timeout"] * 5
    assert state.steps["wo-001.5"].accepted


async def test_more_hanging_tools_than_threads_starve_nobody(open_world: Any):
    never = threading.Event()
    bench = Bench()

    @tool(timeout=0.2, retries=0)
    def blocking(n: int) -> str:
        """Block."""
        never.wait(3)
        return "too late"

    @tool
    def quick(n: int) -> ToolReturn:
        """Be quick."""
        return ToolReturn(raw=n, summary=f"quick {n}")

    models = FakeModels(plan(*(ask(f"s{n}", "blocking", n=n) for n in range(40)), ask("b", "quick", n=1)))
    world = open_world(models, [blocking, quick, bench.look], limits=Limits(max_workers=64))
    try:
        state = await world.run()
    finally:
        never.set()

    assert state.steps["wo-001.40"].accepted


@pytest.mark.slow
def test_a_process_ends_although_a_tool_hangs(tmp_path: Path):
    script = tmp_path / "hang.py"
    script.write_text(
        textwrap.dedent("""
        import asyncio, sys, time
        sys.path.insert(0, sys.argv[1])
        from engine.fakes import FakeModels
        from engine.worlds import World, ask, plan
        from leadhand.tools.decorator import tool

        @tool(timeout=0.05, retries=0)
        def blocking(n: int) -> str:
            "Block."
            time.sleep(600)
            return "too late"

        async def main():
            world = World(FakeModels(plan(ask("a", "blocking", n=1))), [blocking])
            state = await world.run()
            print(state.status)
            await world.aclose()

        asyncio.run(main())
        """)
    )
    ended = subprocess.run(
        [sys.executable, str(script), str(Path(__file__).parents[1])], capture_output=True, text=True, timeout=90
    )

    assert ended.stdout.strip() == "failed", ended.stderr
    assert ended.returncode == 0


async def test_a_failure_in_passing_is_tried_again_with_growing_delays(open_world: Any):
    bench = Bench()
    world = open_world(FakeModels(plan(ask("a", "flaky", n=1))), [bench.flaky(3, retries=3)])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert bench.counts["flaky"] == 4
    assert len(world.clock.slept) == 3
    for delay, whole in zip(world.clock.slept, (0.5, 1.0, 2.0), strict=True):
        assert 0.5 * whole <= delay <= whole + 0.001
    again = [event for event in await world.events(AttemptScheduled) if event.continues is not None]
    assert [(event.attempt, event.continues) for event in again] == [
        ("wo-001.0/a2", "wo-001.0/a1"),
        ("wo-001.0/a3", "wo-001.0/a2"),
        ("wo-001.0/a4", "wo-001.0/a3"),
    ]


async def test_the_key_of_a_call_is_the_same_on_every_try(open_world: Any):
    bench = Bench()
    keys: list[str] = []

    @tool(effect="idempotent")
    async def pay(n: int, context: Any = None) -> ToolReturn:
        """Pay."""
        return ToolReturn(raw=n, summary="paid")

    world = open_world(FakeModels(plan(ask("a", "flaky", n=1))), [bench.flaky(2), pay])
    await world.run()
    keys += [call.call_id for call in await world.events(ToolCallBegan)]

    assert keys == ["wo-001.0/t0/c0"] * 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "type_", "class_"),
    [
        (ConnectionResetError("gone"), "connection", "transient"),
        (TimeoutError("its own"), "timeout", "transient"),
        (OSError(errno.EHOSTUNREACH, "no route"), "connection", "transient"),
        (socket.gaierror(socket.EAI_NONAME, "unknown name"), "connection", "transient"),
        (urllib.error.URLError(ConnectionRefusedError("refused")), "connection", "transient"),
        (FileNotFoundError(errno.ENOENT, "missing", "a.txt"), "file", "invalid"),
        (IsADirectoryError(errno.EISDIR, "a folder", "a"), "file", "invalid"),
        (PermissionError(errno.EACCES, "denied", "a.txt"), "file", "unavailable"),
        (OSError(errno.ENOSPC, "disk full"), "file", "unavailable"),
        (OSError("its own words"), "exception", "invalid"),
        (refusal("the key was refused", FailureClass.UNAVAILABLE), "refused", "unavailable"),
        (ValueError("no such number"), "exception", "invalid"),
        (KeyError("n"), "exception", "invalid"),
        (RecursionError("too deep"), "exception", "invalid"),
        (StopIteration("no more"), "exception", "invalid"),
        (StopAsyncIteration("no more"), "exception", "invalid"),
        (asyncio.CancelledError(), "exception", "invalid"),
        (SystemExit(3), "exception", "invalid"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_whatever_a_tool_raises_is_the_failure_of_its_own_subtask(
    open_world: Any, error: BaseException, type_: str, class_: str, kind: str
):
    bench = Bench()

    @tool(name="broken", retries=0, timeout=30)
    def blocking(n: int = 0) -> None:
        """Break."""
        raise error

    broken = blocking if kind == "sync" else bench.broken(error, retries=0, timeout=30)
    models = FakeModels(plan(ask("a", "broken"), ask("b", "look", n=1)), work=GIVE_UP)
    world = open_world(models, [broken, bench.look], limits=Limits(timeout=60), clock=SystemClock())
    state = await world.run()

    assert state.finished.failure is None, "it took the whole run with it"
    assert state.steps["wo-001.1"].accepted
    (returned,) = [event for event in await world.events(ToolCallReturned) if not event.ok]
    expected = "exception" if isinstance(error, StopAsyncIteration | StopIteration) else type_
    assert (returned.failure.type, returned.failure.class_) == (expected, class_)
    assert str(getattr(error, "strerror", "") or "") in returned.failure.message, "the cause is named"


@pytest.mark.parametrize(
    "returned",
    [
        object(),
        {1, 2},
        ToolReturn(raw={"when": time.gmtime}),
        ToolReturn(raw=object()),
        float("nan"),
        b"\xff\xfe",
        "half a pair: \ud800",
    ],
    ids=["object", "set", "function in a return", "object in a return", "nan", "bytes", "lone surrogate"],
)
async def test_a_tool_that_returns_what_json_cannot_say_fails_by_itself_and_not_as_a_defect_of_ours(
    open_world: Any, returned: Any
):
    @tool(retries=0)
    async def odd() -> Any:
        """Return something odd."""
        return returned

    models = FakeModels(plan(ask("a", "odd")), work=["I looked.", GIVE_UP])
    world = open_world(models, [odd])
    await world.run()

    for event in await world.events(StepSettled):
        assert event.failure is None or event.failure.type != "internal", event.failure.message
    (call,) = await world.events(ToolCallReturned)
    assert call.model_dump_json()


@Integral.register
class Count:
    """A whole number as NumPy has it: no int, but a number."""

    def __int__(self) -> int:
        return 3


@Real.register
class Level:
    def __float__(self) -> float:
        return 0.25


@pytest.mark.parametrize(("returned", "raw"), [(Level(), 0.25), ({"rows": [Count()]}, {"rows": [3]})])
async def test_numbers_of_other_libraries_are_returned_as_numbers(open_world: Any, returned: Any, raw: Any):
    @tool
    async def measure() -> Any:
        """Measure."""
        return returned

    world = open_world(FakeModels(plan(ask("a", "measure"))), [measure])
    await world.run()

    (call,) = await world.events(ToolCallReturned)
    assert (call.ok, call.raw) == (True, raw)


async def test_the_error_shape_of_the_seeds_tools_is_a_failure(open_world: Any):
    @tool
    async def seed() -> dict[str, Any]:
        """Fail as the seeds do."""
        return {"isError": True, "message": "no such file"}

    world = open_world(FakeModels(plan(ask("a", "seed")), work=GIVE_UP), [seed])
    state = await world.run()

    assert failure_of(state).message == "it does not work; the last error: no such file"


async def test_a_defect_of_ours_costs_one_subtask_is_seen_in_the_log_and_not_repeated(
    open_world: Any, monkeypatch: pytest.MonkeyPatch
):
    from leadhand.engine.session import answers

    whole = answers.completed

    def broken(work: Any, made: Any, *given: Any) -> Any:
        if [call.args for call in made] == [{"n": 1}]:
            raise LookupError("a bug")
        return whole(work, made, *given)

    monkeypatch.setattr(answers, "completed", broken)
    bench = Bench()
    world = open_world(FakeModels(plan(ask("a", "look", n=1), ask("b", "look", n=2))), [bench.look])
    state = await world.run()

    assert state.status is RunStatus.PARTIAL
    assert "LookupError: a bug" in failure_of(state).message
    assert bench.counts["look"] == 2


async def test_an_attempt_has_a_time_limit_of_its_own(open_world: Any):
    bench = Bench()
    world = open_world(
        FakeModels(plan(ask("a", "hanging"), ask("b", "look", n=1))),
        [bench.hanging(retries=1), bench.look],
        limits=Limits(attempt_timeout=0.03),
    )
    state = await world.run()

    assert bench.counts["hanging"] == 2
    assert "no result within 0.03 s" in failure_of(state).message
    assert state.steps["wo-001.1"].accepted


async def test_a_tool_that_this_process_does_not_have_is_a_gap_and_never_retried_to_the_cap(open_world: Any):
    bench = Bench()

    def always_again(request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        done = {shown["subtask"]: shown["status"] == "completed" for shown in facts["subtasks"]}
        verdicts = [{"subtask": key, "verdict": "accept" if done[key] else "retry"} for key in done]
        return {"verdicts": verdicts, "complete": False}

    models = FakeModels(plan(ask("a", "look", n=1), ask("b", "measure", n=2)), review=always_again)
    world = open_world(models, [bench.look, bench.measure], limits=Limits(max_steps=10))
    run_id = await world.start()
    world.toolbox._tools.pop("look")
    state = await world.drive(run_id)

    assert failure_of(state).class_ is FailureClass.UNAVAILABLE
    assert "look" in failure_of(state).message
    assert len([event for event in await world.events(StepSettled) if event.attempt.startswith("wo-001.0/")]) == 1
    assert len(state.orders) == 1
    assert state.status is RunStatus.PARTIAL


DOWN = refusal("the line is dead", FailureClass.TRANSIENT)


def told(request: ModelRequest) -> list[Any]:
    """What the calls of a conversation were answered with."""
    return [json.loads(message.content) for message in request.messages if isinstance(message, ToolMessage)]


def asks_another(request: ModelRequest, facts: dict[str, Any]) -> Any:
    """Try a tool that is down beside one that works, then take a third one."""
    match len(told(request)):
        case 0:
            return calls(("flaky", {"n": 1}), ("look", {"n": 1}))
        case 2:
            return calls(("look", {"n": 2}))
        case _:
            return "saw 1 and saw 2"


async def test_a_call_that_succeeds_in_time_is_the_only_one_that_its_model_sees(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a")), work=[calls(("flaky", {"n": 1})), "saw 1 at last"])
    world = open_world(models, [bench.flaky(2, DOWN, retries=2)])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert [each["summary"] for each in told(models.requests("work")[1])] == ["saw 1 at last"]


@pytest.mark.parametrize(
    ("class_", "times", "retries"), [(FailureClass.TRANSIENT, 1, 1), (FailureClass.RATE_LIMITED, 4, 0)]
)
async def test_a_service_that_says_how_long_to_wait_is_believed(
    open_world: Any, class_: FailureClass, times: int, retries: int
):
    error = refusal("come back later", class_)
    error.failure = error.failure.evolve(retry_after_s=42.0)
    world = open_world(FakeModels(plan(ask("a", "flaky", n=1))), [Bench().flaky(times, error, retries=retries)])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED, "being asked to wait counted as a failure"
    assert world.clock.slept == [42.0] * times


async def test_a_call_that_could_only_be_made_again_too_late_is_shown_at_once(open_world: Any):
    error = refusal("come back tomorrow", FailureClass.TRANSIENT)
    error.failure = error.failure.evolve(retry_after_s=86_400.0)
    bench = Bench()
    models = FakeModels(plan(ask("a")), work=asks_another)
    world = open_world(models, [bench.flaky(9, error), bench.look], limits=Limits(timeout=60))
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert bench.counts == {"flaky": 1, "look": 2}


@pytest.mark.parametrize("cut", range(4, 24))
async def test_from_wherever_the_process_ended_nothing_is_tried_more_often(open_world: Any, cut: int):
    bench = Bench()
    models = FakeModels(plan(ask("a")), work=asks_another)
    world = open_world(models, [bench.flaky(9, DOWN, retries=2), bench.look])
    whole = await world.run()
    entries = await world.entries()
    assert cut < len(entries)
    kept = entries[:cut]
    before = [entry.event for entry in kept if isinstance(entry.event, ToolCallBegan)]
    ended = {event.call_id for event in await world.events(ToolCallBegan)}
    bench.made.clear()
    await fork(world.store, "run_1", cut, "fork_1")
    again = await world.drive("fork_1")

    assert again.steps["wo-001.0"].data.summary == whole.steps["wo-001.0"].data.summary
    assert {event.call_id for event in await world.events(ToolCallBegan, "fork_1")} == ended
    under_way = 1  # a call that had begun may be made once more
    for name, most in (("flaky", 3), ("look", 2)):
        assert bench.counts[name] + sum(event.tool == name for event in before) <= most + under_way
    seen = told(models.requests("work")[-1])
    assert [each.get("isError", False) for each in seen] == [True, False, False]


@pytest.mark.parametrize("args", [None, {"n": 2}])
async def test_a_call_has_its_key_also_when_a_person_retries_it_and_another_call_has_another_one(
    open_world: Any, args: dict[str, Any] | None
):
    keys: list[str] = []

    @tool(effect="idempotent", retries=0)
    async def pay(n: int, context: ToolContext) -> ToolReturn:
        """Pay."""
        keys.append(context.call_id)
        if len(keys) == 1:
            raise ConnectionError("the line is dead")
        return ToolReturn(raw=n, summary="paid")

    world = open_world(FakeModels(plan(ask("a", "pay", n=1))), [pay])
    assert (await world.run()).status is RunStatus.FAILED
    await world.append("run_1", StepRequested(what="retry", by="me", steps=("wo-001.0",), args=args))
    assert (await world.take_over("run_1", ended=True)).status is RunStatus.SUCCEEDED

    assert len(keys) == 2
    assert (keys[0] == keys[1]) is (args is None)
