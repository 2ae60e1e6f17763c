"""What a person says holds for what was asked, in time, and once; what nobody says is no."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from core.histories import NOON, History, failure
from core.own import DELEGATES, Commanded, assigned, current, decided, history_of
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.approval import EFFECT, Approval, Question, args_hash, policy_of
from leadhand.core.decide import due
from leadhand.core.relations import ended_by
from leadhand.core.run import AttemptStatus
from leadhand.core.tool import ApprovalPolicy, Delegate, Effect, ToolSpec
from leadhand.core.work_order import OpenCall
from leadhand.core.work_result import ResultData
from leadhand.core.worker import ALL_TOOLS, Worker

LEAD = Worker(name="lead", tools=(ALL_TOOLS,), counts=True)
MINUTE = timedelta(minutes=1)


def waiting(*calls: str, key: str = "a", history: History | None = None, **more: Any) -> History:
    """A step that waits for approval of calls of these tools, each asked about."""
    history = history or history_of(LEAD)
    attempt = current(history, key) if key in history.state.steps else assigned(history, key, "lead")
    given = {tool: f"{key}/t1/c{number}" for number, tool in enumerate(calls)}
    history.write(
        ev.AttemptParked(
            attempt=attempt.attempt,
            open_calls=tuple(OpenCall(call_id=each, kind="approval", tool=tool) for tool, each in given.items()),
        )
    )
    for tool, call_id in given.items():
        assert asks(history, call_id, attempt.attempt, tool, **more)
    return history


def asks(
    history: History, name: str, attempt: str, tool: str = "send", timeout_s: float | None = None, **more: Any
) -> bool:
    asked = Approval(approval_id=name, attempt=attempt, tool=tool, called=tool, args={}, effect=Effect.ONCE, **more)
    return history.command(do.Ask(asked, timeout_s))


def says(history: History, name: str, approve: bool = True, **more: Any) -> None:
    said = {"approval_id": name, "approve": approve, "by": "ann", "args_hash": args_hash({}), **more}
    history.write(ev.ApprovalAnswered.model_validate(said))


def status(history: History, name: str) -> str:
    return history.state.approvals[name].status


def test_each_attempt_asks_once_and_a_yes_to_one_is_no_yes_to_the_next():
    history = waiting("send")
    assert not asks(history, "a/t1/c0", "a/a1")
    says(history, "a/t1/c0")
    assert history.command(do.Start("a"))

    waiting("send", history=history)
    assert status(history, "a/t1/c0") == "pending"
    assert not history.command(do.Start("a"))


def test_a_no_is_a_no_to_the_next_attempt_too():
    history = waiting("send", "write")
    says(history, "a/t1/c0", approve=False)
    says(history, "a/t1/c1")
    assert history.command(do.Start("a"))
    history.parks(current(history, "a"), ["approval"])
    attempt = history.state.steps["a"].attempt

    assert attempt is not None
    assert attempt.open_calls[0].call_id == "a/t2/c0"
    assert {name: answer.ok for name, answer in attempt.answers.items()} == {"a/t1/c0": False}


def test_a_question_that_nobody_answers_in_time_is_a_no_and_nothing_more_can_be_said():
    history = waiting("send", timeout_s=60)
    assert history.state.asking == {"a/t1/c0": NOON + MINUTE}
    assert history.command(do.Expire("a/t1/c0"))

    assert status(history, "a/t1/c0") == "expired"
    attempt = history.state.steps["a"].attempt
    assert attempt is not None
    assert not attempt.answers["a/t1/c0"].ok
    assert not history.command(do.Expire("a/t1/c0"))
    says(history, "a/t1/c0")
    assert status(history, "a/t1/c0") == "expired"


def test_an_approval_that_was_answered_does_not_expire():
    history = waiting("send", timeout_s=60)
    says(history, "a/t1/c0")

    assert not history.command(do.Expire("a/t1/c0"))


def test_a_question_about_facts_that_nobody_answers_has_its_default():
    history = history_of(LEAD)
    assert history.command(do.Ask(Question(id="q", text="where?", default="here"), timeout_s=60))
    assert history.state.unanswered == {"q": NOON + MINUTE}
    assert history.command(do.Expire("q"))

    assert (history.state.questions["q"].reply, history.state.questions["q"].by) == ("here", "")
    assert not history.command(do.Expire("q"))
    assert not history.command(do.Ask(Question(id="q", text="where?")))


@pytest.mark.parametrize(("late", "expected"), [(timedelta(0), "pending"), (timedelta(seconds=-1), "approved")])
def test_a_yes_counts_only_before_the_time_is_up(late: timedelta, expected: str):
    history = waiting("send", timeout_s=60)
    history.now += MINUTE + late
    says(history, "a/t1/c0")

    assert status(history, "a/t1/c0") == expected


def test_the_first_answer_counts_and_a_call_uses_it_up():
    history = waiting("send")
    says(history, "a/t1/c0")
    says(history, "a/t1/c0", approve=False)
    assert status(history, "a/t1/c0") == "approved"

    assert history.command(do.Start("a"))
    attempt = current(history, "a").attempt
    history.write(ev.ToolCallBegan(attempt=attempt, call_id="a/t1/c0", tool="send", args={}, effect=Effect.ONCE))
    assert status(history, "a/t1/c0") == "consumed"


@pytest.mark.parametrize("approve", [True, False])
def test_a_yes_for_the_whole_run_is_one_to_open_calls_of_this_tool_and_a_no_is_one_to_none(approve: bool):
    history = waiting("send", "write")
    for key, more in {"b": {}, "c": {"by_hand": True}}.items():
        waiting("send", key=key, history=history, **more)
    assigned(history, "d", "lead")
    history.parks(current(history, "d"), ["effect"])
    assert asks(history, f"d/t1/c0{EFFECT}", "d/a1", kind="effect")

    says(history, "a/t1/c0", approve, always=True, args={"to": "bob"})

    assert history.state.allowed == ({"send": "ann"} if approve else {})
    assert {name: status(history, name) for name in history.state.approvals if not name.startswith("a/t1/c0")} == {
        "a/t1/c1": "pending",
        "b/t1/c0": "approved" if approve else "pending",
        "c/t1/c0": "pending",
        "d/t1/c0/effect": "pending",
    }
    assert history.state.approvals["b/t1/c0"].args == {}, "the arguments were changed for one call"


def test_a_yes_to_a_plan_allows_no_tool():
    history = history_of(LEAD)
    assert asks(history, "p", "", "send", kind="plan")
    says(history, "p", always=True)

    assert status(history, "p") == "approved"
    assert history.state.allowed == {}


@pytest.mark.parametrize(("approve", "args"), [(True, {"to": "bob"}), (False, None)])
def test_a_yes_is_one_to_what_a_hook_made_of_the_call(approve: bool, args: Any):
    history = history_of(LEAD)
    attempt = assigned(history, "a", "lead").attempt
    call = OpenCall(call_id="c", kind="approval", tool="send", args={"to": "bob"}, hook="names", changed=("to",))
    history.write(ev.AttemptParked(attempt=attempt, open_calls=(call,)))
    assert asks(history, "c", attempt)
    says(history, "c", approve)

    parked = history.state.steps["a"].attempt
    assert parked is not None
    assert (parked.answers["c"].ok, parked.answers["c"].args) == (approve, args)


# --- whether a call happened -----------------------------------------------------------------------------------------


def unseen(policy: ApprovalPolicy = ApprovalPolicy.ASK, **result: Any) -> History:
    """A step whose call of a tool that acts was not heard of again, though the step returned."""
    history = History(history_of(LEAD).state.definition.evolve(approve=policy), policy=Commanded())
    attempt = assigned(history, "a", "lead")
    history.calls_tool(attempt, history.state.tools["send"], ok=None)
    history.returns(attempt, **(result or {"failure": failure("transient")}))
    return history


@pytest.mark.parametrize("happened", [True, False])
def test_a_person_says_whether_a_call_happened_and_it_is_in_doubt_no_more(happened: bool):
    history = unseen()
    assert history.command(do.Settle("a"))
    (call,) = history.attempts(AttemptStatus.PARKED)[0].open_calls
    assert asks(history, call.call_id, "a/a1", kind="effect")
    says(history, call.call_id, happened)

    step = history.state.steps["a"]
    assert not step.indeterminate_calls
    assert [(each.call_id, each.ok, each.by) for each in step.evidence] == [("a/t0/c0", True, "ann")] * happened
    assert history.command(do.Start("a"))


def test_nobody_is_asked_about_an_unseen_call_once_the_run_is_cancelled():
    history = unseen()
    history.write(ev.RunRequested(what="cancel", by="me"))
    assert history.command(do.Settle("a"))

    _is_doubted(history)


def test_nobody_is_asked_about_an_unseen_call_if_nobody_is_ever_asked():
    history = unseen(ApprovalPolicy.NEVER)
    assert history.command(do.Settle("a"))

    _is_doubted(history)


def test_a_step_that_ends_with_its_run_says_that_its_call_may_have_happened():
    history = history_of(LEAD)
    attempt = assigned(history, "a", "lead")
    history.calls_tool(attempt, history.state.tools["send"], ok=None)
    assert history.command(do.Conclude("a", failure("exhausted", "time")))

    _is_doubted(history)


def test_a_result_beside_an_unseen_call_does_not_count():
    history = unseen(ApprovalPolicy.NEVER, data=ResultData(summary="all done"))
    assert history.command(do.Settle("a"))

    _is_doubted(history)


def _is_doubted(history: History) -> None:
    step = history.state.steps["a"]
    assert step.failure is not None
    assert (step.status, step.failure.type, step.acted) == ("failed", "indeterminate", True)


# --- what is no longer asked -----------------------------------------------------------------------------------------


def test_what_a_person_settles_asks_nobody_any_more_nor_does_what_it_asked_for():
    history = history_of(LEAD)
    assigned(history, "a", "lead")
    decided(history, "a", Delegate(worker="lead"), tool=DELEGATES[0].name)
    waiting("send", key="a/t1/c0", history=history)
    waiting("send", key="b", history=history)
    history.write(ev.StepRequested(what="skip", by="ann", steps=("a",)))
    before = history.state
    assert history.command(due(before)[0])

    assert set(ended_by(before, history.log[-1].event)) == {"a/a1", "a/t1/c0/a1"}
    assert [*history.state.asking] == ["b/t1/c0"]
    assert status(history, "a/t1/c0/t1/c0") == "denied"
    child = history.state.steps["a/t1/c0"]
    assert (child.status, child.attempt) == ("dropped", None)


ASK, AUTO, NEVER = ApprovalPolicy.ASK, ApprovalPolicy.AUTO, ApprovalPolicy.NEVER


def spec(effect: str = "once", approval: ApprovalPolicy | None = None) -> ToolSpec:
    return ToolSpec(
        name="send_mail",
        description="Send a mail.",
        parameters={"type": "object"},
        effect=Effect(effect),
        approval=approval,
        toolset="mail",
        import_path="myshop.mail:send_mail",
    )


@pytest.mark.parametrize(
    ("tool", "policy", "rules", "expected"),
    [
        (spec(), ASK, {}, ASK),
        (spec(), AUTO, {}, AUTO),
        (spec(), NEVER, {}, NEVER),
        (spec("pure"), NEVER, {}, AUTO),
        (spec("idempotent"), ASK, {}, AUTO),
        (spec("pure", ASK), AUTO, {}, AUTO),
        (spec("pure", ASK), ASK, {}, ASK),
        (spec(approval=AUTO), ASK, {}, AUTO),
        (spec(approval=NEVER), AUTO, {"tool:send_mail": AUTO}, NEVER),
        (spec(), ASK, {"tool:send_*": AUTO}, AUTO),
        (spec(), ASK, {"tool:read_*": AUTO}, ASK),
        (spec(), ASK, {"toolset:mail": NEVER}, NEVER),
        (spec(), ASK, {"effect:once": AUTO}, AUTO),
        (spec("pure"), AUTO, {"effect:pure": ASK}, ASK),
        (spec(), ASK, {"origin:myshop.*": AUTO}, AUTO),
        (spec(), ASK, {"origin:other.*": AUTO, "tool:*": NEVER}, NEVER),
        (spec(), ASK, {"tool:*": NEVER, "effect:once": AUTO}, NEVER),
        (spec(approval=AUTO), ASK, {"tool:*": ASK}, ASK),
        (spec(), ASK, {"colour:red": AUTO}, ASK),
    ],
)
def test_the_first_word_that_fits_holds(
    tool: ToolSpec, policy: ApprovalPolicy, rules: dict[str, ApprovalPolicy], expected: ApprovalPolicy
):
    assert policy_of(tool, policy, rules) is expected
