"""What happens to the world only once is never made to happen again in doubt."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from memory_store import MemoryStore

from engine.fakes import FakeModels, FixedClock, calls
from engine.tools import Bench, refusal
from engine.worlds import ask, plan
from leadhand.app.export.outcome import done_calls
from leadhand.app.runtime.clock import SystemClock
from leadhand.core.conversation import ToolMessage
from leadhand.core.decide.requests import repeated
from leadhand.core.errors import Failure, FailureClass, Fenced, StoreError, ToolError
from leadhand.core.events import AttemptReturned, RunChanged, RunRequested, ToolCallBegan
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import INDETERMINATE, ApprovalPolicy
from leadhand.engine.calls.tool_calls import ToolCalls
from leadhand.engine.log import RunLog
from leadhand.ports import Caller
from leadhand.tools.decorator import tool


def assert_asked(state: RunState) -> None:
    """The run waits, and what it waits for is a person's word on a call whose end nobody saw."""
    assert state.status is RunStatus.WAITING
    (asked,) = [asked for asked in state.approvals.values() if asked.status == "pending"]
    assert asked.kind == "effect"


GIVE_UP = calls(("give_up", {"reason": "it is not to be"}))


SURE = {"effect": "once", "approval": "auto", "retries": 5}


@pytest.mark.parametrize(
    ("make", "limits"),
    [
        (lambda bench: bench.hanging(**SURE, timeout=0.02), Limits()),
        (lambda bench: bench.hanging(**SURE, timeout=30), Limits(attempt_timeout=0.03)),
        (lambda bench: bench.broken(ConnectionResetError("gone"), name="hanging", **SURE), Limits()),
    ],
    ids=["the call timed out", "the attempt timed out", "the line was cut"],
)
async def test_a_call_that_may_have_happened_is_never_made_again(open_world: Any, make: Any, limits: Limits):
    bench = Bench()
    models = FakeModels(plan(ask("a", "hanging")), work=calls(("hanging", {})))
    state = await open_world(models, [make(bench)], limits=limits).run()

    assert bench.counts["hanging"] == 1
    assert_asked(state)


async def test_where_nobody_is_to_be_asked_a_call_in_doubt_is_a_gap_that_says_so(open_world: Any):
    bench = Bench()
    world = open_world(
        FakeModels(plan(ask("a", "hanging"))),
        [bench.hanging(effect="once", approval="auto", timeout=0.02, retries=5)],
        approve=ApprovalPolicy.NEVER,
    )
    state = await world.run()

    assert bench.counts["hanging"] == 1
    (gap,) = state.finished.gaps
    assert state.steps["wo-001.0"].failure.type == INDETERMINATE
    assert "0.02 s" in gap.reason, "why nobody knows"
    assert gap.reason == state.steps["wo-001.0"].failure.message


@pytest.mark.parametrize(("class_", "made"), [("unavailable", 1), ("invalid", 1), ("transient", 3)])
async def test_a_call_that_was_certainly_not_made_leaves_nothing_to_find_out(open_world: Any, class_: str, made: int):
    bench = Bench()
    error = ToolError("no line", type="away", class_=class_, not_made=True)
    pay = bench.broken(error, name="pay", effect="once", approval="auto", retries=2)
    state = await open_world(FakeModels(plan(ask("a", "pay")), work=GIVE_UP), [pay]).run()

    assert bench.counts["pay"] == made
    step = state.steps["wo-001.0"]
    assert (state.status, step.failure.type, step.acted) == (RunStatus.FAILED, "away", False)
    assert [gap.next_action for gap in state.finished.gaps] == [step.failure.next_action]
    assert [*done_calls(state)] == []
    assert repeated(state) == [step.key], "no person has to confirm a retry"


async def doubtful(open_world: Any, bench: Bench, **more: Any) -> Any:
    """A world that waits for a person's word on a call whose end nobody saw."""
    tool_ = bench.hanging(effect="once", timeout=0.02, **more)
    world = open_world(FakeModels(plan(ask("pay", "hanging"), ask("b", "look", n=1))), [tool_, bench.look])
    assert_asked(await world.run())
    return world


@pytest.mark.parametrize("said", ["it went through", ""])
async def test_a_person_who_says_that_it_happened_is_the_evidence(open_world: Any, said: str):
    bench = Bench()
    world = await doubtful(open_world, bench, approval="auto")
    await world.says(happened=True, summary=said, raw={"receipt": 7})
    state = await world.take_over("run_1")

    assert bench.counts == {"hanging": 1, "look": 1}
    assert state.status is RunStatus.SUCCEEDED
    assert state.steps["wo-001.0"].data.raw == {"receipt": 7}
    assert (said or "me") in state.finished.answer


async def test_a_person_who_says_that_it_did_not_happen_lets_it_be_made_again(open_world: Any):
    bench = Bench()
    world = await doubtful(open_world, bench, approval="auto")
    await world.says(happened=False)
    state = await world.take_over("run_1")

    assert bench.counts["hanging"] == 2
    assert_asked(state)


async def test_a_call_that_needed_a_yes_needs_another_before_it_is_made_again(open_world: Any):
    bench = Bench()
    world = open_world(FakeModels(plan(ask("pay", "hanging"))), [bench.hanging(effect="once", timeout=0.02)])
    assert_asked(await world.run_answered())
    await world.says(happened=False)
    state = await world.take_over("run_1")

    assert bench.counts["hanging"] == 1
    assert [(each.kind, each.status) for each in state.approvals.values()] == [
        ("call", "pending"),
        ("effect", "denied"),
    ]


async def test_a_word_on_a_call_counts_once(open_world: Any):
    bench = Bench()
    world = await doubtful(open_world, bench, approval="auto")
    await world.says(happened=True, summary="the first word")
    await world.says(happened=False, summary="the second", at_most_pending=False)
    state = await world.take_over("run_1")

    assert bench.counts["hanging"] == 1
    assert "the first word" in state.finished.answer


async def test_a_call_that_failed_in_passing_may_have_happened_and_is_never_made_again_unasked(open_world: Any):
    """A tool that asks a service through its context is told of a lost connection by such an error."""
    bench = Bench()
    lost = refusal("nothing came back", FailureClass.TRANSIENT)
    tool_ = bench.broken(lost, effect="once", retries=5)
    await open_world(FakeModels(plan(ask("a", "broken")), work=GIVE_UP), [tool_]).run_answered()

    assert bench.counts["broken"] == 1, "one yes was taken for several calls"


@pytest.mark.parametrize("how", ["cancelled", "out of time"])
async def test_a_call_under_way_when_its_run_ends_may_have_happened_and_the_gap_says_so(open_world: Any, how: str):
    bench = Bench()
    world = open_world(
        FakeModels(plan(ask("pay", "hanging"), ask("b", "look", n=1))),
        [bench.hanging(effect="once", approval="auto"), bench.look],
        limits=Limits(timeout=60),
        clock=SystemClock(),
    )
    run_id = await world.start()
    driving = world.driving(run_id)
    await world.until(lambda state: bench.counts["hanging"])
    ends = RunRequested(what="cancel", by="me")
    await world.append(run_id, ends if how == "cancelled" else RunChanged(limits=Limits(timeout=0.01), by="me"))
    state = await driving

    (gap,) = [gap for gap in state.finished.gaps if gap.name == "pay"]
    assert gap.reason == state.steps["wo-001.0"].failure.message
    assert state.steps["wo-001.0"].failure.type == INDETERMINATE


async def test_a_call_under_way_when_its_process_died_is_not_made_again_by_the_next(open_world: Any):
    bench = Bench()
    world = open_world(
        FakeModels(plan(ask("a", "hanging"), ask("b", "look", n=1))),
        [bench.hanging(effect="once", approval="auto"), bench.look],
    )
    run_id = await world.start()
    driving = world.driving(run_id)
    await world.until(
        lambda state: "wo-001.1" in state.steps and state.steps["wo-001.1"].data and bench.counts["hanging"]
    )
    driving.cancel()
    state = await world.take_over(run_id)

    assert bench.counts == {"hanging": 1, "look": 1}
    assert_asked(state)


async def test_a_call_under_way_when_its_run_was_paused_is_not_made_again_by_the_resume(open_world: Any):

    bench = Bench()
    world = open_world(FakeModels(plan(ask("a", "hanging"))), [bench.hanging(effect="once", approval="auto")])
    run_id = await world.start()
    driving = world.driving(run_id)
    await world.until(lambda state: bench.counts["hanging"])
    await world.append(run_id, RunRequested(what="pause", by="me"))
    assert (await driving).status is RunStatus.PAUSED
    await world.append(run_id, RunRequested(what="resume", by="me"))
    state = await world.take_over(run_id)

    assert bench.counts["hanging"] == 1
    assert_asked(state)


async def test_a_finished_call_is_not_made_again_when_its_result_is_found_wanting(open_world: Any):
    def pays_unless_it_has(request: Any, facts: dict[str, Any]) -> Any:
        paid = [message for message in request.messages if isinstance(message, ToolMessage)]
        if not paid:
            return calls(("send", {"amount": 5}))
        return {"receipt": "number 7"} if len(models.requests("work")) > 2 else "I paid."

    bench = Bench()
    receipt = {"type": "object", "properties": {"receipt": {"type": "string"}}, "required": ["receipt"]}
    checked = {**ask("pay", None), "expected_output": receipt}
    models = FakeModels(plan(checked), work=pays_unless_it_has)
    world = open_world(models, [bench.send(approval="auto")])
    await world.run()

    assert bench.counts["send"] == 1, "a call that was made once was silently made again"


async def test_a_finished_call_is_not_made_again_when_its_neighbour_fails_in_passing(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a", None)), work=[calls(("send", {"amount": 5}), ("flaky", {"n": 1})), "both done"])
    world = open_world(models, [bench.send(approval="auto"), bench.flaky(2)])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert bench.counts == {"send": 1, "flaky": 3}
    assert len(models.requests("work")) == 2, "the model was asked again for what it had said"


@pytest.mark.parametrize("arguments", [None, {"amount": 30}, {"amount": 31}])
async def test_an_irreversible_call_that_the_review_does_not_accept_is_not_repeated(
    open_world: Any, arguments: dict[str, Any] | None
):
    bench = Bench()
    verdict = {"subtask": "wo-001.0", "verdict": "retry", "reason": "once more"}
    if arguments is not None:
        replacement = {"subtask": "wo-001.0", "name": "a", "tool": "send", "args": arguments}
        verdict |= {"verdict": "replan", "replacement": replacement}
    review = {"verdicts": [verdict], "complete": True, "missing": [], "cannot": []}
    world = open_world(FakeModels(plan(ask("a", "send", amount=30)), review=review), [bench.send(approval="auto")])
    await world.run()

    assert bench.made == [("send", 30)]


async def test_an_attempt_that_is_over_makes_no_irreversible_call_any_more(open_world: Any):
    """The host asks the store, which knows; the controller may have lost the attempt to another process."""
    bench = Bench()
    world = open_world(FakeModels(plan(ask("a", "send", amount=30))), [bench.send(approval="auto"), bench.look])
    run_id = await world.start()
    lost = Failure.of("the process is gone", "process_died", FailureClass.LOST)
    await world.append(run_id, AttemptReturned(attempt="wo-001.0/a1", lost=True, failure=lost))
    log = RunLog(world.store, run_id, world.redactor)
    no_web: Any = lambda _offline: None  # noqa: E731
    tools = ToolCalls(world.toolbox.bound, no_web, world.clock, world.store)
    work: Any = SimpleNamespace(
        run_id=run_id,
        definition=(await world.state(run_id)).definition,
        attempt=SimpleNamespace(attempt="wo-001.0/a1"),
        step=SimpleNamespace(step_id="wo-001.0"),
        worker=SimpleNamespace(name="work"),
        state=SimpleNamespace(todos=()),
        artifacts={},
        caller=Caller,
        names=lambda _tool: True,
        tries_of=lambda _call_id: 0,
        replied=lambda _call_id: None,
        effect_key=lambda began: began.call_id,
    )
    send, look = (next(spec for spec in world.toolbox.specs() if spec.name == name) for name in ("send", "look"))
    refused = await tools.call(log, work, "wo-001.0/t0/c0", send, {"amount": 30})
    looked = await tools.call(log, work, "wo-001.0/t0/c1", look, {"n": 1})

    assert refused.failure is not None
    assert refused.failure.class_ is FailureClass.LOST
    assert looked.ok
    assert bench.made == [("look", 1)]


@pytest.mark.parametrize(
    ("args", "reply"),
    [({"amount": 5}, calls(("send", {"amount": 5}))), ({}, calls(("send", {"amount": 5}), ("send", {"amount": 6})))],
    ids=["after the call of the subtask", "beside another"],
)
async def test_a_subtask_makes_its_irreversible_call_once_although_nobody_is_asked(
    open_world: Any, args: dict[str, Any], reply: Any
):
    bench = Bench()
    pay = {**ask("pay", "send", **args), "needs": [0], "expected_output": "a receipt"}
    models = FakeModels(plan(ask("a", "look", n=5), pay), work=[reply, "Receipt: 5."])
    state = await open_world(models, [bench.look, bench.send(approval="auto")]).run()

    assert bench.made == [("look", 5), ("send", 5)]
    assert state.status is RunStatus.SUCCEEDED


async def test_an_irreversible_call_that_its_tool_refused_may_be_made_with_other_arguments(open_world: Any):
    made: list[int] = []

    @tool(effect="once", approval="auto")
    async def send(amount: int) -> str:
        """Send at most 10."""
        made.append(amount)
        if amount > 10:
            raise refusal("that is too much")
        return "sent"

    models = FakeModels(plan(ask("pay", "send", amount=50)), work=[calls(("send", {"amount": 5})), "paid"])
    state = await open_world(models, [send]).run()

    assert made == [50, 5]
    assert state.status is RunStatus.SUCCEEDED


async def test_a_subtask_may_make_a_call_again_that_can_be_repeated(open_world: Any):
    bench = Bench()
    pay = {**ask("pay", "send", amount=5), "expected_output": "a receipt"}
    models = FakeModels(plan(pay), work=[calls(("send", {"amount": 6}), ("send", {"amount": 7})), "Receipt: 18."])
    await open_world(models, [bench.send(effect="idempotent", approval="auto")]).run()

    assert bench.made == [("send", 5), ("send", 6), ("send", 7)]


@pytest.mark.parametrize("effect", ["once", "idempotent"])
async def test_a_call_with_an_effect_is_not_made_if_its_start_cannot_be_committed(open_world: Any, effect: str):
    class Full(MemoryStore):
        """A disk on which no start of a call can be written."""

        def append(self, run_id: str, events: Any, **more: Any) -> Any:
            if not any(isinstance(event, ToolCallBegan) for event in events):
                return super().append(run_id, events, **more)
            refused = asyncio.get_running_loop().create_future()
            refused.set_exception(StoreError("the disk is full", "Make room."))
            return refused

    bench, clock = Bench(), FixedClock()
    models = FakeModels(plan(ask("a", "send", amount=30)))
    send = bench.send(effect=effect, approval="auto")
    world = open_world(models, [send], clock=clock, store=Full(clock), sound=False)
    with pytest.raises(StoreError, match="the disk is full"):
        await world.run()
    assert bench.made == []


async def test_the_tools_of_a_run_that_another_process_has_taken_over_are_stopped(open_world: Any):
    ended: list[str] = []
    began = asyncio.Event()

    @tool
    async def endless() -> None:
        """Work until it is stopped."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("stopped")

    world = open_world(FakeModels(plan(ask("a", "endless"))), [endless], clock=SystemClock(), sound=False)
    run_id = await world.start()
    driving = world.driving(run_id)
    async with asyncio.timeout(60):
        await began.wait()
        await world.store.release(run_id, 1)
        await world.store.claim(run_id)
        with pytest.raises(Fenced):
            await driving
        await world.dispatcher.aclose()
    assert ended == ["stopped"]
