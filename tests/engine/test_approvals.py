"""Calls that need a person: asked before, made exactly as answered and once, and nobody waits for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench, refusal
from engine.worlds import World, ask, plan
from leadhand.core.approval import args_hash
from leadhand.core.errors import FailureClass
from leadhand.core.events import (
    AnyEvent,
    ApprovalAnswered,
    ApprovalRequested,
    AttemptParked,
    RunRequested,
    RunStatusSet,
    ToolCallBegan,
)
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.core.secret import has_secret
from leadhand.core.text import is_said
from leadhand.core.tool import ApprovalPolicy, ToolReturn
from leadhand.tools.decorator import tool

GIVE_UP = calls(("give_up", {"reason": "it is not to be"}))


def sending(*more: dict[str, Any]) -> FakeModels:
    return FakeModels(plan(ask("pay", "send", amount=5), *more), work=GIVE_UP)


async def asked(world: World, run_id: str = "run_1") -> str:
    """The id of the one open question of a run."""
    state = await world.state(run_id)
    (question,) = [approval for approval in state.approvals.values() if approval.status == "pending"]
    return question.approval_id


async def test_a_call_with_an_effect_waits_for_a_person_and_is_then_made_exactly_once(open_world: Any):
    bench = Bench()
    world = open_world(sending(ask("a", "look", n=1)), [bench.send(), bench.look])
    waiting = await world.run()
    assert waiting.status is RunStatus.WAITING
    assert bench.made == [("look", 1)], "the others were kept waiting, or it was called unasked"
    assert (await world.document())["work_state"]["subtask_state"]["0"]["status"] == "waiting"
    (request,) = await world.events(ApprovalRequested)
    assert (request.approval.tool, request.approval.args, request.approval.effect) == ("send", {"amount": 5}, "once")

    await world.answer("run_1")
    state = await world.take_over("run_1")
    assert state.status is RunStatus.SUCCEEDED
    assert bench.counts == {"look": 1, "send": 1}
    assert state.approvals[request.approval.approval_id].status == "consumed"


async def test_a_list_is_right_when_an_answer_comes_while_the_run_begins_to_wait(open_world: Any):
    models = FakeModels(plan(ask("pay")), work=calls(("send", {"amount": 5}), ("send", {"amount": 6})))
    world = open_world(models, [Bench().send()])
    append = world.store.append
    asked: list[ApprovalRequested] = []

    def answering(run_id: str, events: Sequence[AnyEvent], **more: Any) -> Any:
        written = append(run_id, events, **more)
        asked.extend(entry.event for entry in written.result() if isinstance(entry.event, ApprovalRequested))
        if any(isinstance(event, RunStatusSet) and event.status is RunStatus.WAITING for event in events):
            (_, second) = (each.approval for each in asked)
            digest = args_hash(second.args)
            append(run_id, [ApprovalAnswered(approval_id=second.approval_id, approve=True, args_hash=digest)])
        return written

    world.store.append = answering
    state = await world.run()

    assert state.status is RunStatus.WAITING
    assert (await world.store.run("run_1")).asking == 1


async def test_a_run_that_waits_goes_on_by_itself_when_the_answer_comes_while_others_work(open_world: Any):
    gate = asyncio.Event()
    bench = Bench()

    @tool
    async def slow() -> ToolReturn:
        """Take long."""
        await gate.wait()
        return ToolReturn(raw=1, summary="slow but sure")

    world = open_world(sending(ask("a", "slow")), [bench.send(), slow])
    run_id = await world.start()
    driving = world.driving(run_id)
    await world.until(lambda state: state.approvals)
    await world.answer(run_id)
    await world.until(lambda state: state.steps["wo-001.0"].data is not None)
    gate.set()

    assert (await driving).status is RunStatus.SUCCEEDED
    assert bench.counts["send"] == 1


@pytest.mark.parametrize(
    ("answer", "made", "class_", "reason"),
    [
        ({"approve": False, "reason": "too dear"}, [], FailureClass.REJECTED, "too dear"),
        ({"args": {"amount": 3}}, [("send", 3)], None, ""),
        ({"args": {"amount": "all of it"}}, [], FailureClass.INVALID, "amount"),
    ],
    ids=["no", "other arguments", "arguments that do not fit"],
)
async def test_a_call_is_made_as_a_person_says(
    open_world: Any, answer: dict[str, Any], made: list[Any], class_: FailureClass | None, reason: str
):
    bench = Bench()
    world = open_world(sending(), [bench.send()])
    state = await world.run_answered(**answer)

    assert bench.made == made
    assert [event.args for event in await world.events(ToolCallBegan)] == [{"amount": n} for _, n in made]
    assert [gap.class_ for gap in state.finished.gaps] == [class_] * (class_ is not None)
    assert all(reason in gap.reason for gap in state.finished.gaps)


async def test_a_yes_to_other_arguments_than_those_shown_is_no_yes(open_world: Any):
    bench = Bench()
    world = open_world(sending(), [bench.send()])
    state = await world.run_answered(args_hash=args_hash({"amount": 500}))

    assert state.status is RunStatus.WAITING
    assert bench.made == []


@pytest.mark.parametrize(
    ("policy", "wish", "outcome"),
    [
        (ApprovalPolicy.NEVER, None, "denied"),
        (ApprovalPolicy.AUTO, None, "called"),
        (ApprovalPolicy.ASK, "auto", "called"),
        (ApprovalPolicy.NEVER, "auto", "called"),
        (ApprovalPolicy.AUTO, "never", "denied"),
        (ApprovalPolicy.ASK, "ask", "waits"),
        (ApprovalPolicy.AUTO, "ask", "called"),
    ],
)
async def test_the_runs_policy_and_the_tools_own_wish_say_whether_a_person_is_asked(
    open_world: Any, policy: ApprovalPolicy, wish: str | None, outcome: str
):
    bench = Bench()
    world = open_world(sending(), [bench.send(approval=wish)], approve=policy)
    state = await world.run()

    assert bench.counts["send"] == (outcome == "called")
    assert (state.status is RunStatus.WAITING) == (outcome == "waits")
    if outcome == "denied":
        assert state.finished.gaps[0].class_ is FailureClass.REJECTED
        assert ("setting of the tool" in state.finished.gaps[0].next_action) is (wish == "never")
        assert not await world.events(ApprovalRequested)


RECEIPT = {"type": "object", "properties": {"receipt": {"type": "string"}}, "required": ["receipt"]}


async def test_a_call_that_was_denied_once_does_not_leave_the_run_waiting_for_nobody(open_world: Any):
    bench = Bench()
    pay = calls(("send", {"amount": 5}))
    models = FakeModels(
        plan({**ask("a", None), "expected_output": RECEIPT}),
        work=[pay, "no way", pay, "no"],
    )
    world = open_world(models, [bench.send()])
    state = await world.run()
    for _ in range(4):
        if state.status is not RunStatus.WAITING:
            break
        assert [a for a in state.approvals.values() if a.status == "pending"], "it waits, and nobody is asked"
        await world.answer("run_1", approve=False)
        state = await world.take_over("run_1")

    assert state.finished is not None
    assert bench.made == []


async def test_the_calls_beside_one_that_waits_are_made_first_and_only_once(open_world: Any):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", None)), work=[calls(("look", {"n": 1}), ("send", {"amount": 5}), ("look", {"n": 2})), "all done"]
    )
    world = open_world(models, [bench.look, bench.send()])
    state = await world.run()
    assert state.status is RunStatus.WAITING
    assert sorted(bench.made) == [("look", 1), ("look", 2)]
    (parked,) = await world.events(AttemptParked)
    assert [call.call_id for call in parked.open_calls] == ["wo-001.0/t1/c1"]

    await world.answer("run_1")
    state = await world.take_over("run_1")
    assert state.status is RunStatus.SUCCEEDED
    assert bench.counts == {"look": 2, "send": 1}
    assert len(models.requests("work")) == 2, "the model was asked again for what it had said"


async def test_calls_with_effects_after_one_that_waits_wait_with_it(open_world: Any):
    bench = Bench()

    @tool(effect="idempotent")
    async def note(text: str) -> ToolReturn:
        """Note something down."""
        bench.made.append(("note", text))
        return ToolReturn(raw=text, summary="noted")

    models = FakeModels(
        plan(ask("a", None)),
        work=[calls(("note", {"text": "before"}), ("send", {"amount": 5}), ("note", {"text": "after"})), "all done"],
    )
    world = open_world(models, [note, bench.send()])
    await world.run()
    assert bench.made == [("note", "before")], "what follows a call that may be denied was done all the same"

    await world.answer("run_1")
    await world.take_over("run_1")
    assert bench.made[1:] == [("send", 5), ("note", "after")]


async def test_two_questions_of_one_reply_are_put_at_once_and_answered_one_by_one(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a", None)), work=[calls(("send", {"amount": 1}), ("send", {"amount": 2})), "done"])
    world = open_world(models, [bench.send()])
    await world.run()
    first, second = (await world.state()).approvals.values()
    await world.answer("run_1", only=first.approval_id)
    assert (await world.take_over("run_1")).status is RunStatus.WAITING
    assert bench.made == [], "one yes was taken for two"

    await world.answer("run_1", only=second.approval_id, approve=False)
    state = await world.take_over("run_1")
    assert bench.made == [("send", 1)]
    assert state.finished is not None


async def test_waiting_for_a_person_does_not_use_up_the_time_of_the_run(open_world: Any):
    bench = Bench()
    world = open_world(sending(), [bench.send()], limits=Limits(timeout=60))
    await world.run()
    world.clock.advance(3_600)
    await world.answer("run_1")
    state = await world.take_over("run_1")

    assert state.status is RunStatus.SUCCEEDED


async def test_a_run_that_waits_can_be_cancelled(open_world: Any):
    bench = Bench()
    world = open_world(sending(), [bench.send()])
    await world.run()
    await world.append("run_1", RunRequested(what="cancel", by="me"))
    state = await world.take_over("run_1")

    assert state.status is RunStatus.CANCELLED
    assert bench.made == []


async def test_a_refusal_by_the_tool_itself_is_told_to_the_model_which_must_ask_again(open_world: Any):
    bench = Bench()
    refused = bench.broken(refusal("not on a Sunday"), name="send", effect="once")
    models = FakeModels(plan(ask("pay", "send", n=5)), work=[calls(("send", {"n": 4})), GIVE_UP])
    state = await open_world(models, [refused]).run_answered()

    assert state.status is RunStatus.WAITING, "another call was made without another yes"
    assert bench.made == [("send", 5)]


async def test_a_yes_for_the_whole_run_is_no_yes_to_a_second_call_of_one_subtask(open_world: Any):
    bench = Bench()
    pay = {**ask("pay", "send", amount=5), "expected_output": "a receipt"}
    world = open_world(FakeModels(plan(pay), work=[calls(("send", {"amount": 5})), GIVE_UP]), [bench.send()])
    (first,) = (await world.run()).approvals.values()
    await world.answer("run_1", always=True)
    state = await world.take_over("run_1")

    assert state.allowed == {"send": "me"}
    assert bench.made == [("send", 5)]
    assert state.status is RunStatus.WAITING, "the second call was made or refused without a question"
    assert await asked(world) != first.approval_id


async def test_a_yes_for_the_whole_run_is_a_yes_to_every_call_of_that_tool(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(*(ask(f"pay_{n}", "send", amount=n) for n in (1, 2, 3))), work=GIVE_UP)
    world = open_world(models, [bench.send()], limits=Limits(batch_size=2))
    waiting = await world.run()
    assert [asked.status for asked in waiting.approvals.values()] == ["pending", "pending"]
    first = next(iter(waiting.approvals.values()))
    await world.answer("run_1", only=first.approval_id, always=True)
    state = await world.take_over("run_1")

    assert state.status is RunStatus.SUCCEEDED
    assert sorted(amount for _, amount in bench.made) == [1, 2, 3]
    assert len(await world.events(ApprovalRequested)) == 2, "the third was asked about all the same"
    assert state.allowed == {"send": "me"}


async def test_a_question_that_nobody_answers_in_time_is_a_no(open_world: Any):
    bench = Bench()
    world = open_world(sending(), [bench.send()], limits=Limits(approval_timeout=3_600))
    assert (await world.run()).status is RunStatus.WAITING
    world.clock.advance(3_601)
    state = await world.take_over("run_1")

    assert bench.made == []
    assert [asked.status for asked in state.approvals.values()] == ["expired"]
    assert state.finished.gaps[0].class_ is FailureClass.REJECTED


async def test_the_question_shows_all_that_a_person_needs_to_answer_it(open_world: Any):
    @tool(effect="once")
    async def transfer(amount: int, to: str, note: str) -> str:
        """Transfer money."""
        return "done"

    amount = {"$result": {"subtask": "0", "path": "/raw/n"}}
    pay = {**ask("pay", "transfer", amount=amount, to="Ann", note="rent"), "needs": [0]}
    world = open_world(FakeModels(plan(ask("a", "look", n=7), pay)), [Bench().look, transfer])
    state = await world.run("send Ann what is due")

    (question,) = state.approvals.values()
    assert (question.asked_for, question.tool, question.effect) == ("pay", "transfer", "once")
    assert question.args == {"amount": 7, "to": "Ann", "note": "rent"}
    assert "wo-001.0 (/raw/n)" in question.origins["amount"]
    assert [question.origins[name] for name in ("to", "note")] == ["the request", "the lead's plan"]


async def test_what_a_model_made_of_a_reference_that_leads_nowhere_is_not_said_to_be_from_the_result(open_world: Any):
    @tool(effect="once")
    async def transfer(amount: int, to: str) -> str:
        """Transfer money."""
        return "done"

    nowhere = {"$result": {"subtask": "0", "path": "/raw/email"}}
    pay = {**ask("pay", "transfer", amount=3, to=nowhere), "needs": [0]}
    models = FakeModels(plan(ask("a", "look", n=7), pay), work=calls(("transfer", {"amount": 3, "to": "Eve"})))
    world = open_world(models, [Bench().look, transfer])
    state = await world.run("send what is due")

    (question,) = state.approvals.values()
    assert question.origins["to"] == "the result of wo-001.0 (worked out by the model)"
    assert models.facts("work")[0]["work_out"].keys() == {"to"}
    await world.answer("run_1", args={"amount": 3, "to": "Ann"})
    state = await world.take_over("run_1")
    (answered,) = state.approvals.values()
    assert (answered.edited, answered.args["to"], answered.origins["to"]) == (True, "Ann", answered.by)


@pytest.mark.parametrize(
    ("request_", "origin"),
    [
        ("Pay 30 to Ann", "the request"),
        ("Pay $30.", "the request"),
        ("Pay 300 to Ann", "the lead's plan"),
        ("Pay 30.5 to Ann", "the lead's plan"),
        ("Pay Ann", "the lead's plan"),
    ],
)
async def test_an_argument_is_from_the_request_only_if_the_request_says_it(open_world: Any, request_: str, origin: str):
    @tool(effect="once")
    async def pay(amount: float) -> str:
        """Pay."""
        return "paid"

    state = await open_world(FakeModels(plan(ask("pay", "pay", amount=30.0))), [pay]).run(request_)

    (question,) = state.approvals.values()
    assert question.origins == {"amount": origin}
    assert question.asked_at is not None


@pytest.mark.parametrize(
    ("value", "request_", "said"),
    [
        ("bob@x.com", "Write to bob@x.com.", True),
        ("bob@x.com", "Write to alice+bob@x.com", False),
        ("evil.com", "Look at evil.com.example.org", False),
        ("notes.txt", "Delete backup/notes.txt", False),
        ({"to": "Ann", "amounts": [3, 4]}, "Pay Ann 3 and 4", True),
        ({"to": "Ann", "amounts": [3, 5]}, "Pay Ann 3 and 4", False),
        ({}, "Pay", False),
    ],
)
def test_a_part_of_an_address_is_not_what_a_request_says(value: Any, request_: str, said: bool):
    assert is_said(value, request_) is said


async def test_the_origin_of_an_argument_that_is_named_like_a_secret_is_shown(open_world: Any):
    @tool(effect="once")
    async def join(network: str, password: str) -> str:
        """Join a network."""
        return "joined"

    world = open_world(FakeModels(plan(ask("join", "join", network="guests", password=""))), [join])
    (question,) = (await world.run("Join guests")).approvals.values()
    (recorded,) = await world.events(ApprovalRequested)

    assert question.origins == recorded.approval.origins == {"network": "the request", "password": "the lead's plan"}


@pytest.mark.parametrize(
    ("password", "origin"),
    [("open-4711", "a secret of the request, which would be sent to join"), ("shut-4711", "the lead's plan")],
)
async def test_a_secret_that_the_request_says_is_shown_as_one_of_the_request(
    open_world: Any, password: str, origin: str
):
    @tool(effect="once")
    async def join(network: str, password: str) -> str:
        """Join a network."""
        return "joined"

    world = open_world(FakeModels(plan(ask("join", "join", network="guests", password=password))), [join])
    (question,) = (await world.run("Join guests; they use 'open-4711'")).approvals.values()

    assert has_secret(question.args["password"])
    assert question.origins["password"] == origin


async def test_a_secret_of_the_environment_is_never_passed_on_as_if_it_were_the_argument(open_world: Any):
    made: list[str] = []

    @tool
    async def login(user: str, password: str) -> str:
        """Log in."""
        made.append(password)
        return "in"

    models = FakeModels(plan(ask("a", "login", user="ann", password="hunter2-hunter2")), work=GIVE_UP)
    state = await open_world(models, [login], secrets=["hunter2-hunter2"]).run()

    assert made == []
    (gap,) = state.finished.gaps
    assert "is a secret" in gap.reason
    assert "environment" in gap.next_action
