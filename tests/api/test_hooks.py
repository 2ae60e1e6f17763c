"""Hooks: they block, change and ask within the promises, and whatever is wrong with one closes what it guards."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import ConfigurationError, Leadhand, Limits, RunStatus, ToolReturn, UsageError, tool
from leadhand.core.tool import Source, WriteArtifact
from leadhand.flows import FlowAnswer, FlowContext, flow
from leadhand.hooks import (
    AfterModel,
    AfterTool,
    BeforeAnswer,
    BeforeModel,
    BeforeTool,
    Block,
    Change,
    Hook,
    RequireApproval,
    after_model,
    after_tool,
    before_answer,
    before_model,
    before_tool,
)
from leadhand.testing.scripted_model import ScriptedModel
from leadhand.testing.steps import calls, plans, reviews, says, subtask

PAID: list[tuple[str, float]] = []


@tool(effect="once", approval="auto")
async def pay(to: str, amount: float) -> ToolReturn:
    """Pay somebody."""
    PAID.append((to, amount))
    return ToolReturn(summary=f"paid {amount:g} to {to}")


@tool
async def look(what: str) -> ToolReturn:
    """Look at something."""
    return ToolReturn(summary=f"saw {what}", raw={"card": "4111 1111"})


@pytest.fixture(autouse=True)
def _fresh() -> None:
    PAID.clear()


def payer(amount: float = 100, **more: Any) -> ScriptedModel:
    return ScriptedModel(plan=[plans(subtask("pay Ann", "pay", to="Ann", amount=amount))], lenient=True, **more)


def looker(**more: Any) -> ScriptedModel:
    return ScriptedModel(plan=[plans(subtask("look", "look", what="tide"))], lenient=True, **more)


async def events_of(lead: Leadhand, run_id: str) -> list[Any]:
    return [entry.event for entry in await (await lead.runtime()).store.read(run_id)]


@before_tool
def block_payments(call: BeforeTool) -> Block | None:
    return Block("no payments today") if call.tool == "pay" else None


@before_tool
async def cap(call: BeforeTool) -> Change | None:
    if call.tool == "pay" and call.args["amount"] > 50:
        return Change({**call.args, "amount": 50})
    return None


class AskAbove(Hook):
    """Asks a person about large payments."""

    def before_tool(self, call: BeforeTool) -> RequireApproval | None:
        return RequireApproval("more than 10") if call.args.get("amount", 0) > 10 else None


async def test_a_blocked_tool_call_is_not_made_and_its_cause_is_told(home: Path) -> None:
    async with Leadhand(models=payer(), tools=[pay], home=home, hooks=[block_payments]) as lead:
        answer = await lead.run("pay Ann")
        events = await events_of(lead, answer.run_id)
    assert (answer.status, PAID) == (RunStatus.FAILED, [])
    assert "no payments today" in answer.gaps[0].reason
    assert "block_payments" in answer.gaps[0].reason
    assert [each.type for each in events if each.type.startswith("tool_call")] == ["tool_call_returned"]
    assert answer.document["hooks"] == [block_payments.name]


async def test_changed_arguments_are_in_the_log(home: Path) -> None:
    async with Leadhand(models=payer(), tools=[pay], home=home, hooks=[cap]) as lead:
        answer = await lead.run("pay Ann")
        (began,) = [each for each in await events_of(lead, answer.run_id) if each.type == "tool_call_began"]
    assert PAID == [("Ann", 50)]
    assert (began.args["amount"], began.changed_by) == (50, cap.name)
    assert answer.document["work_orders"][0]["subtasks"][0]["args"]["amount"] == 100
    assert answer.status is RunStatus.SUCCEEDED
    assert [each.args for each in answer.done] == [{"to": "Ann", "amount": 50}]


async def test_a_hook_can_ask_a_person_about_a_call_that_needs_no_approval(home: Path) -> None:
    async with Leadhand(models=payer(), tools=[pay], home=home, hooks=[AskAbove]) as lead:
        run = await lead.start("pay Ann")
        assert (await run.wait()).status is RunStatus.WAITING
        (asked,) = await lead.approvals()
        assert (asked.approval.hook_reason, PAID) == ("more than 10", [])
        assert asked.card().hook.endswith("AskAbove")
        await lead.approve(asked)
        assert (await run.answer()).status is RunStatus.SUCCEEDED
        assert PAID == [("Ann", 100)]


async def test_a_hook_asks_about_a_call_although_its_tool_is_approved_for_the_whole_run(home: Path) -> None:
    payments = plans(subtask("Ann", "pay", to="Ann", amount=20), subtask("Ben", "pay", needs=[0], to="Ben", amount=100))
    models = ScriptedModel(plan=[payments], lenient=True)
    async with Leadhand(models=models, tools=[pay], home=home, hooks=[AskAbove]) as lead:
        run = await lead.start("pay Ann, then Ben")
        await run.wait()
        (first,) = await lead.approvals()
        await lead.approve(first, always=True)
        await run.wait()
        (second,) = await lead.approvals()
    assert second.approval.args["to"] == "Ben"
    assert PAID == [("Ann", 20)]


async def test_a_person_approves_what_the_hooks_made_of_a_call(home: Path) -> None:
    async with Leadhand(models=payer(), tools=[pay], home=home, hooks=[cap, AskAbove]) as lead:
        run = await lead.start("pay Ann")
        await run.wait()
        (asked,) = await lead.approvals()
        assert asked.approval.args == {"to": "Ann", "amount": 50}
        assert "test_hooks:" in asked.approval.origins["amount"]
        await lead.approve(asked)
        await run.answer()
    assert PAID == [("Ann", 50)]


async def test_no_hook_changes_what_a_person_approved(home: Path) -> None:
    @before_tool
    def more(call: BeforeTool) -> Change:
        return Change({**call.args, "amount": call.args["amount"] + 1})

    async with Leadhand(models=payer(), tools=[pay], home=home, hooks=[more, AskAbove]) as lead:
        run = await lead.start("pay Ann")
        await run.wait()
        (asked,) = await lead.approvals()
        assert asked.approval.args["amount"] == 101
        await lead.approve(asked)
        await run.answer()
    assert PAID == []


async def test_approve_never_denies_what_a_hook_wants_approved(home: Path) -> None:
    async with Leadhand(models=payer(), tools=[pay], home=home, hooks=[AskAbove], approve="never") as lead:
        answer = await lead.run("pay Ann")
    assert (answer.status, PAID) == (RunStatus.FAILED, [])


def raising(call: Any) -> None:
    raise RuntimeError("the list of hotels is empty")


def hanging(call: Any) -> None:
    time.sleep(30)


async def hanging_async(call: Any) -> None:
    while True:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            continue


def lying(call: Any) -> Any:
    return "all is well"


def unfit(call: Any) -> Any:
    return Change({"amount": "much"})


@pytest.mark.slow
@pytest.mark.parametrize("decorator", [before_model, after_model, before_tool, after_tool, before_answer])
@pytest.mark.parametrize(
    ("function", "said"),
    [(raising, "RuntimeError"), (hanging, "0.1"), (hanging_async, "0.1"), (lying, ""), (unfit, "")],
)
async def test_a_broken_hook_closes_what_it_guards(home: Path, decorator: Any, function: Any, said: str) -> None:
    hook = decorator(function)
    hook.timeout = 0.1 if function in (hanging, hanging_async) else 10.0
    async with Leadhand(models=looker(), tools=[look], home=home, hooks=[hook], limits=Limits(max_requests=30)) as lead:
        async with asyncio.timeout(20):
            answer = await lead.run("look")
    assert answer.status in (RunStatus.FAILED, RunStatus.PARTIAL)
    told = str(answer.document["gaps"]) + str(answer.document["failure"]) + answer.text
    assert said in told
    assert function.__name__ in told
    assert "4111" not in answer.text


async def test_a_reply_that_a_hook_blocks_is_not_in_the_log_and_its_cost_is(home: Path) -> None:
    @after_model
    def no_secrets(call: AfterModel) -> Block | None:
        return Block("a secret") if "hunter2" in call.text else None

    model = ScriptedModel(plan=[plans(subtask("hunter2", "look", what="x")).costing(input_tokens=10, nanousd=7)])
    async with Leadhand(models=model, tools=[look], home=home, hooks=[no_secrets]) as lead:
        answer = await lead.run("look")
        events = await events_of(lead, answer.run_id)
    assert answer.status is RunStatus.FAILED
    assert answer.failure is not None
    assert "a secret" in answer.failure.message
    assert "hunter2" not in str(events)
    assert answer.document["usage"]["input_tokens"] == 10
    assert len(model.requests) == 1


async def test_a_prompt_that_a_hook_blocks_is_not_sent(home: Path) -> None:
    @before_model
    def no_secrets(call: BeforeModel) -> Block | None:
        return Block("a card number") if "4111" in call.text else None

    model = looker()
    async with Leadhand(models=model, tools=[look], home=home, hooks=[no_secrets]) as lead:
        answer = await lead.run("look at 4111 1111")
    assert (answer.status, model.requests) == (RunStatus.FAILED, [])
    assert answer.failure is not None
    assert "a card number" in answer.failure.message
    assert answer.document["usage"]["requests"] == 0


async def test_the_result_of_an_irreversible_call_can_be_withheld_but_not_undone(home: Path) -> None:
    @after_tool
    def hide(call: AfterTool) -> Block:
        return Block("confidential")

    async with Leadhand(models=payer(), tools=[pay], home=home, hooks=[hide]) as lead:
        answer = await lead.run("pay Ann")
    assert PAID == [("Ann", 100)]
    assert "paid 100" not in str(answer.document)
    assert [(each.tool, each.ok) for each in answer.done] == [("pay", True)]


async def test_an_irreversible_call_stays_in_doubt_although_its_result_is_withheld(home: Path) -> None:
    @tool(effect="once", approval="auto", name="pay")
    async def cut(to: str, amount: float) -> None:
        """Pay somebody."""
        raise ConnectionError("the line is dead")

    @after_tool
    def hide(call: AfterTool) -> Block:
        return Block("confidential")

    async with Leadhand(models=payer(), tools=[cut], home=home, hooks=[hide]) as lead:
        state = await (await lead.start("pay Ann")).wait()
    assert state.status is RunStatus.WAITING
    assert [each.kind for each in state.approvals.values()] == ["effect"]


async def test_a_hook_sees_a_result_that_was_cached_before(home: Path) -> None:
    @tool(cache="1h", name="look")
    async def cached(what: str) -> ToolReturn:
        """Look at something."""
        return ToolReturn(summary="saw it")

    @after_tool
    def hide(call: AfterTool) -> Block:
        return Block("confidential")

    for hooks, ok in (([], True), ([hide], False)):
        async with Leadhand(models=looker(), tools=[cached], home=home, hooks=hooks) as lead:
            answer = await lead.run("look at the tide")
        assert (answer.status is RunStatus.SUCCEEDED) is ok


async def test_hooks_see_the_sources_and_the_asks_of_a_result(home: Path) -> None:
    seen: list[AfterTool] = []

    @after_tool
    def read(call: AfterTool) -> Block | None:
        seen.append(call)
        secret = any(isinstance(each, WriteArtifact) and "4111" in (each.content or "") for each in call.asks)
        return Block("a card number") if secret else None

    @tool
    def file(text: str) -> ToolReturn:
        """Write a file."""
        sources = (Source(title="The shop", url="https://shop.example"),)
        return ToolReturn(summary="written", sources=sources, asks=(WriteArtifact(path="a.md", content=text),))

    plan = plans(subtask("one", "file", text="plain"), subtask("two", "file", text="card 4111"))
    model = ScriptedModel(plan=[plan], lenient=True, work=lambda _: calls("give_up", reason="blocked"))
    async with Leadhand(models=model, tools=[file], home=home, hooks=[read]) as lead:
        answer = await lead.run("write")
    assert {(each.sources[0].title, len(each.asks)) for each in seen} == {("The shop", 1)}
    assert [each["path"] for each in answer.document["artifacts"]] == ["a.md"]
    assert "4111" not in str(answer.document["artifacts"])
    assert "a card number" in str(answer.gaps)


@pytest.mark.parametrize("flow", ["work-order", "research", "report"])
async def test_a_run_whose_planning_a_hook_blocks_has_a_failure_that_names_it(home: Path, flow: str) -> None:
    @before_model
    def never(call: BeforeModel) -> Block:
        return Block("no models today")

    async with Leadhand(model="offline", home=home, hooks=[never]) as lead:
        answer = await lead.run("Weather in Paris?", flow=flow)
    assert answer.status is RunStatus.FAILED
    assert answer.failure is not None
    assert (answer.failure.class_, "no models today" in answer.failure.message) == ("rejected", True)
    assert answer.document["answer"] is None


class NoCards(Hook):
    """Blocks answers with card numbers."""

    def before_answer(self, answer: BeforeAnswer) -> Block | None:
        return Block("it names a card") if "4111" in answer.answer else None


async def test_a_blocked_answer_is_asked_for_again(home: Path) -> None:
    model = looker(
        review=[reviews(accept=["wo-001.0"])], compose=[says("saw tide with 4111"), says("It is done: saw tide.")]
    )
    async with Leadhand(models=model, tools=[look], home=home, hooks=[NoCards]) as lead:
        answer = await lead.run("look")
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.text.startswith("It is done")
    assert "it names a card" in model.requests[-1].messages[-1].text


async def test_an_answer_that_is_blocked_twice_is_replaced_by_the_plain_list(home: Path) -> None:
    model = looker(review=[reviews(accept=["wo-001.0"])], compose=[says("saw tide 4111"), says("saw tide, 4111")])
    async with Leadhand(models=model, tools=[look], home=home, hooks=[NoCards]) as lead:
        answer = await lead.run("look")
    assert answer.status is RunStatus.PARTIAL
    assert "4111" not in answer.text
    assert "saw tide" in answer.text
    assert any("it names a card" in gap.reason for gap in answer.gaps)


async def test_an_answer_of_the_review_is_guarded_too(home: Path) -> None:
    model = looker(
        review=[reviews(accept=["wo-001.0"], answer="saw tide, 4111")],
        compose=[says("saw tide, 4111"), says("saw tide")],
    )
    async with Leadhand(models=model, tools=[look], home=home, hooks=[NoCards]) as lead:
        answer = await lead.run("look")
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "saw tide")


async def test_a_list_that_is_blocked_too_is_withheld(home: Path) -> None:
    @before_answer
    def never(answer: BeforeAnswer) -> Block:
        return Block("never")

    model = payer(review=[reviews(accept=["wo-001.0"])], compose=[says("paid 100 to Ann"), says("paid 100 to Ann!")])
    async with Leadhand(models=model, tools=[pay], home=home, hooks=[never]) as lead:
        answer = await lead.run("pay Ann")
    assert answer.status is RunStatus.FAILED
    assert "paid 100" not in answer.text
    assert [(each.tool, each.ok) for each in answer.done] == [("pay", True)]
    assert answer.document["failure"]["type"] == "hook_blocked"


async def test_a_text_that_a_flow_joined_is_withheld_if_a_hook_blocks_it(home: Path) -> None:
    @flow
    async def joined(run: FlowContext) -> FlowAnswer:
        return FlowAnswer("card 4111", value={"card": "4111"})

    async with Leadhand(models=looker(), tools=[look], home=home, hooks=[NoCards], flows=[joined]) as lead:
        answer = await lead.run("look", flow="joined")
    assert (answer.status, answer.value) == (RunStatus.FAILED, None)
    assert "4111" not in str(answer.document)
    assert "it names a card" in answer.text


@after_model
def read_replies(reply: AfterModel) -> None:
    """Let every reply pass."""


@pytest.mark.parametrize("hook", [NoCards, read_replies], ids=["its answer", "its replies"])
async def test_no_draft_of_a_guarded_answer_is_shown(home: Path, hook: Any) -> None:
    pieces: list[str] = []
    model = looker(review=[reviews(accept=["wo-001.0"])], compose=[says("saw tide")])
    async with leadhand_of(models=model, tools=[look], home=home, hooks=[hook]) as lead:
        (await lead.runtime()).texts.on_text = lambda *said: pieces.append(said[2])
        await lead.run("look")
    assert pieces == []


async def test_a_process_without_the_hooks_of_a_run_does_not_continue_it(home: Path) -> None:
    async with Leadhand(models=payer(), tools=[pay], home=home, hooks=[AskAbove]) as lead:
        run = await lead.start("pay Ann")
        await run.wait()
        await lead.approve((await lead.approvals())[0])
    async with Leadhand(models=payer(), tools=[pay], home=home) as other:
        with pytest.raises(ConfigurationError, match="AskAbove"):
            await other.resume(run.run_id)
        await (await other.get(run.run_id)).cancel()
        answer = await (await other.get(run.run_id)).answer()
    assert (answer.status, PAID) == (RunStatus.CANCELLED, [])


async def test_a_hook_is_asked_again_only_about_calls_that_are_made_again(home: Path) -> None:
    seen: list[str] = []

    class Counts(Hook):
        name = "counts"

        def before_tool(self, call: BeforeTool) -> RequireApproval | None:
            seen.append(call.tool)
            return RequireApproval() if call.tool == "pay" else None

    plan = plans(subtask("look", "look", what="x"), subtask("pay", "pay", to="Ann", amount=1))
    async with Leadhand(
        models=ScriptedModel(plan=[plan], lenient=True), tools=[look, pay], home=home, hooks=[Counts]
    ) as lead:
        run = await lead.start("look and pay")
        await run.wait()
        assert sorted(seen) == ["look", "pay"]
        await lead.approve((await lead.approvals())[0])
    async with Leadhand(models=ScriptedModel(lenient=True), tools=[look, pay], home=home, hooks=[Counts]) as other:
        await (await other.resume(run.run_id)).answer()
    assert sorted(seen) == ["look", "pay", "pay"]
    assert PAID == [("Ann", 1)]


class Above(Hook):
    def __init__(self, amount: float) -> None:
        self.amount = amount


class Typo(Hook):
    def before_tols(self, call: BeforeTool) -> Block:
        return Block("never asked")


@pytest.mark.parametrize(
    ("hooks", "named"),
    [
        ("x", "hooks"),
        ([3], "3"),
        ([lambda call: None], "lambda"),
        ({"a": 1}, "hooks"),
        ([Above], "Above"),
        ([Typo], "Typo"),
    ],
)
def test_what_is_not_a_hook_checks_nothing_or_needs_arguments_is_refused(hooks: Any, named: str) -> None:
    with pytest.raises(UsageError, match=named) as refused:
        Leadhand(model="offline", hooks=hooks)
    assert refused.value.how


async def test_two_hooks_of_one_name_are_refused(home: Path) -> None:
    with pytest.raises(UsageError, match="AskAbove"):
        async with Leadhand(model="offline", home=home, hooks=[AskAbove, AskAbove]):
            pass
