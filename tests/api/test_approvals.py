"""What runs ask, through the Python door: listed over all runs, answered from any process, bound to what was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import ConfigurationError, Leadhand, Limits, RunStatus, ToolReturn, UsageError, tool
from leadhand.app.arguments import approvals
from leadhand.app.settings import user
from leadhand.core.relations import approval_note
from leadhand.core.tool import ApprovalPolicy
from leadhand.ports.models import ModelProfile


class Bank:
    """Tools that pay, and what they paid."""

    def __init__(self) -> None:
        self.paid: list[tuple[str, float]] = []
        self.gate = asyncio.Event()
        bank = self

        @tool(effect="once")
        async def pay(to: str, amount: float = 1) -> ToolReturn:
            """Pay somebody."""
            bank.paid.append((to, amount))
            return ToolReturn(summary=f"paid {amount:g} to {to}")

        @tool(effect="once", approval="auto", timeout=0.05)
        async def wire(to: str) -> ToolReturn:
            """Pay somebody, at length."""
            bank.paid.append((to, 1))
            await bank.gate.wait()
            return ToolReturn(summary=f"wired to {to}")

        @tool
        async def look() -> ToolReturn:
            """Look, for as long as it takes."""
            await bank.gate.wait()
            return ToolReturn(summary="looked")

        self.pay, self.wire, self.look = pay, wire, look


@pytest.fixture
def bank() -> Bank:
    return Bank()


async def until(look: Callable[[], Awaitable[Any]], holds: Callable[[Any], object]) -> Any:
    """What is seen once it is as it should be."""
    for _ in range(1_000):
        seen = await look()
        if holds(seen):
            return seen
        await asyncio.sleep(0.01)
    raise AssertionError("waited in vain")


async def asking(lead: Leadhand, request: str = "pay them") -> str:
    """A run that waits; its id."""
    run = await lead.start(request)
    assert (await run.wait()).status is RunStatus.WAITING
    return run.run_id


async def test_questions_of_all_runs_are_listed_newest_first_and_answered(lead_of: Any, home: Path, bank: Bank) -> None:
    models = lead_of("pay", [{"to": "Ann"}])
    async with Leadhand(models=models, tools=[bank.pay], home=home) as lead:
        first, second = await asking(lead), await asking(lead)
        asked = await lead.approvals()
        assert [each.run_id for each in asked] == [second, first]
        assert asked[0].approval.args == {"to": "Ann"}
        assert (asked[0].request, asked[0].expired) == ("pay them", False)

        await lead.approve(asked[0], reason="go on")
        await lead.deny(asked[1].id, reason="no")
        assert await lead.approvals() == []
        answers = [await (await lead.resume(run_id)).answer() for run_id in (second, first)]

    assert [answer.status for answer in answers] == [RunStatus.SUCCEEDED, RunStatus.FAILED]
    assert bank.paid == [("Ann", 1)]
    (approval,) = answers[0].document["approvals"]
    assert (approval["by"], approval["reason"]) == (user(), "go on")


async def test_the_process_that_drives_a_run_goes_on_when_another_answers(lead_of: Any, home: Path, bank: Bank) -> None:
    models = lead_of("pay", [{"to": "Ann"}])
    models._plan["subtasks"].append({"name": "look", "tool": "look", "args": {}})
    async with (
        Leadhand(models=models, tools=[bank.pay, bank.look], home=home) as driver,
        Leadhand(model="offline", home=home) as other,
    ):
        run = await driver.start("pay and look")
        (asked,) = await until(other.approvals, bool)
        await other.approve(asked.id)
        await until(run.approvals, lambda left: not left)
        bank.gate.set()
        answer = await run.answer()

    assert answer.status is RunStatus.SUCCEEDED
    assert bank.paid == [("Ann", 1)]


async def test_an_answer_is_bound_to_what_was_shown(lead_of: Any, home: Path, bank: Bank) -> None:
    models = lead_of("pay", [{"to": "Ann"}])
    async with Leadhand(models=models, tools=[bank.pay], home=home) as lead:
        run = await lead.attach(await asking(lead))
        (asked,) = await run.approvals()
        changed = replace(asked, approval=asked.approval.evolve(args={"to": "Eve"}))
        earlier = replace(asked, approval=asked.approval.evolve(attempt="wo-001.0/a9"))
        for wrong in (changed, earlier, "nope", "", f"{run.run_id}:wo-009"):
            with pytest.raises(UsageError):
                await lead.approve(wrong)
        with pytest.raises(UsageError, match="run_1"):
            await run.approve(replace(asked, run_id="run_1"))
        with pytest.raises(UsageError, match=asked.approval.tool):
            await run.settle_effect(asked, happened=True)

        await run.approve(asked.approval.approval_id)
        with pytest.raises(UsageError, match=f"{asked.id} .* by {user()}"):
            await run.deny(asked)
        await (await lead.resume(run.run_id)).wait()
        with pytest.raises(UsageError, match=run.run_id):
            await run.approve(asked)

    assert bank.paid == [("Ann", 1)]


async def test_a_call_is_named_in_its_run_only_since_every_run_has_one_with_its_id(
    lead_of: Any, home: Path, bank: Bank
) -> None:
    async with Leadhand(models=lead_of("pay", [{"to": "Ann"}]), tools=[bank.pay], home=home) as lead:
        run = await lead.attach(await asking(lead))
        (asked,) = await run.approvals()
        call = asked.approval.approval_id
        for vague in ("run", "run_", call, call[:-1]):
            with pytest.raises(UsageError, match="no open approval"):
                await lead.approve(vague)
        await lead.approve(run.run_id[:-1])


async def test_of_two_answers_at_once_one_counts_and_the_other_is_told(lead_of: Any, home: Path, bank: Bank) -> None:
    models = lead_of("pay", [{"to": "Ann"}])
    async with Leadhand(models=models, tools=[bank.pay], home=home) as lead:
        await asking(lead)
        (asked,) = await lead.approvals()
        said = await asyncio.gather(lead.approve(asked), lead.deny(asked), return_exceptions=True)

    assert len([each for each in said if isinstance(each, UsageError)]) == 1


async def test_changed_arguments_are_checked_before_anything_is_written(lead_of: Any, home: Path, bank: Bank) -> None:
    models = lead_of("pay", [{"to": "Ann"}])
    async with Leadhand(models=models, tools=[bank.pay], home=home) as lead:
        run_id = await asking(lead)
        (asked,) = await lead.approvals()
        for wrong in ({}, {"to": 5}, {"to": "Ann", "more": 1}, {"to": object()}, {"to": "\ud800"}, ["Ann"]):
            with pytest.raises(UsageError):
                await lead.approve(asked, args=wrong)  # pyright: ignore[reportArgumentType]
        await lead.approve(asked, args={"to": "Eve", "amount": 7})
        await (await lead.resume(run_id)).wait()

    assert bank.paid == [("Eve", 7)]


@pytest.mark.parametrize("happened", [True, False])
async def test_what_became_of_a_call_is_settled(lead_of: Any, home: Path, bank: Bank, happened: bool) -> None:
    models = lead_of("wire", [{"to": "Ann"}])
    async with Leadhand(models=models, tools=[bank.wire], home=home) as lead:
        run_id = await asking(lead)
        (asked,) = await lead.approvals()
        assert asked.approval.kind == "effect"
        with pytest.raises(UsageError, match=asked.approval.tool):
            await lead.approve(asked)
        if happened:
            await lead.settle_effect(asked, happened=True, summary="it arrived", raw={"big": "x" * 9_000})
        else:
            with pytest.raises(UsageError):
                await lead.settle_effect(asked, happened=False, summary="x")
            bank.gate.set()
            await lead.settle_effect(asked.id, happened=False)
        answer = await (await lead.resume(run_id)).answer()

    assert answer.status is RunStatus.SUCCEEDED
    assert len(bank.paid) == (1 if happened else 2)
    assert ("it arrived" if happened else "wired to Ann") in answer.text


async def test_a_question_stands_as_long_as_was_said(lead_of: Any, home: Path, bank: Bank) -> None:
    models = lead_of("pay", [{"to": "Ann"}])
    async with Leadhand(models=models, tools=[bank.pay], home=home, limits=Limits(approval_timeout=0.3)) as lead:
        run_id = await asking(lead)
        (asked,) = await lead.approvals()
        await until(lead.approvals, lambda left: not left)
        assert asked.expired
        with pytest.raises(UsageError, match=asked.id):
            await lead.approve(asked)
        await (await lead.resume(run_id)).wait()

    assert bank.paid == []


@pytest.mark.parametrize(
    ("settings", "paid"),
    [
        ({"approve": {"effect:once": "auto"}}, True),
        ({"approve": {"tool:p?y": "never", "*": "auto"}}, False),
        ({"approve": "auto"}, True),
        ({"approve": "never"}, False),
    ],
)
async def test_rules_are_kept_with_the_run(
    lead_of: Any, home: Path, bank: Bank, settings: dict[str, Any], paid: bool
) -> None:
    models = lead_of("pay", [{"to": "Ann"}])
    async with leadhand_of(models=models, tools=[bank.pay], home=home, **settings) as lead:
        run = await lead.start("pay")
        state = await run.wait()

    assert state.status is not RunStatus.WAITING
    assert bool(bank.paid) is paid
    assert bool(state.definition.approve_rules) is isinstance(settings["approve"], dict)


@pytest.mark.parametrize("rule", ["tool:pey_*", "origin:openapi:shop:*", "toolset:mail"])
async def test_a_rule_that_forbids_and_matches_nothing_is_named_in_the_log(
    lead_of: Any, home: Path, bank: Bank, caplog: pytest.LogCaptureFixture, rule: str
) -> None:
    approve = {"tool:pay": "auto", rule: "never", "origin:other.*": "auto"}
    async with leadhand_of(
        models=lead_of("pay", [{"to": "Ann"}]), tools=[bank.pay], home=home, approve=approve
    ) as lead:
        await lead.run("pay")
    assert [each.args for each in caplog.records if each.levelname == "WARNING"] == [(rule,)]


async def test_models_are_told_what_a_person_approved(lead_of: Any, home: Path, bank: Bank) -> None:
    models = lead_of("pay", [{"to": "Ann"}])
    async with leadhand_of(models=models, tools=[bank.pay], home=home) as lead:
        run = await lead.start("pay")
        await run.wait()
        (asked,) = await lead.approvals()
        await lead.approve(asked)
        state = await run.wait()
    (call,) = state.steps["wo-001.0"].made
    assert approval_note(state, call)


def test_rules_are_read_in_their_order() -> None:
    rules = {"tool:send_*": "auto", "toolset:mail": "ask", "effect:*": "never", "origin:shop.*": "auto"}
    found = approvals({**rules, "*": "never"})
    assert list(found["approve_rules"]) == list(rules)
    assert {*found["approve_rules"].values()} == {*ApprovalPolicy}
    assert (found["approve"], approvals("auto")) == (ApprovalPolicy.NEVER, {"approve": ApprovalPolicy.AUTO})


# --- money -----------------------------------------------------------------------------------------------------------


def priced(lead_of: Any, **profile: Any) -> Any:
    """A lead whose model costs something, and what it was asked."""

    class Priced(lead_of):
        asked = 0

        def profile(self, model: str) -> ModelProfile:
            return ModelProfile(name=model, **profile)

        async def ask(self, request: Any, on_text: Any = None) -> Any:
            type(self).asked += 1
            return await super().ask(request, on_text)

    return Priced("pay", [])


@pytest.mark.parametrize("budget", [0.5, 0])
async def test_a_budget_that_cannot_bind_is_refused_unless_that_is_allowed(
    lead_of: Any, home: Path, budget: float
) -> None:
    for bounded in ({"budget": budget}, {"budget": None, "budget_per_day": budget}):
        with pytest.raises(ConfigurationError) as refused:
            async with leadhand_of(models=priced(lead_of), home=home, **bounded):
                pass
        assert "custom" in refused.value.what
        assert "allow_unknown_price=True" in refused.value.how
    for allowed in ({"budget": budget, "allow_unknown_price": True}, {"budget": None}, {}):
        async with leadhand_of(models=priced(lead_of), home=home, **allowed):
            pass


async def test_without_money_no_model_that_costs_any_is_asked(lead_of: Any, home: Path) -> None:
    models = priced(lead_of, input_nanousd=1, output_nanousd=1)
    async with Leadhand(models=models, home=home, limits=Limits(budget=0)) as lead:
        answer = await lead.run("pay")

    assert models.asked == 0
    assert answer.status is RunStatus.FAILED
    assert answer.document["failure"]["class"] == "exhausted"
    assert answer.cost_usd == 0


def test_the_usual_budget_is_told_from_one_that_was_asked_for(home: Path) -> None:
    assert not Leadhand(model="offline", home=home).settings.needs_prices
    assert Leadhand(model="offline", home=home, limits=Limits(budget=1.0)).settings.needs_prices
    answer = Leadhand(model="offline", home=home, limits=Limits(budget=0)).run_sync("Weather in Paris?")
    assert answer.status is RunStatus.SUCCEEDED


def test_a_rule_for_a_tool_that_is_not_there_is_a_slip_and_refused(tmp_path: Path) -> None:
    lead = Leadhand(model="offline", home=tmp_path, approve={"tool:weather_tol": "never"})
    with pytest.raises(UsageError, match="weather_tol") as refused:
        lead.run_sync("Weather in Paris?")
    assert "weather_tool" in refused.value.how
    anything = Leadhand(model="offline", home=tmp_path, approve={"tool:send_*": "never"})
    assert anything.run_sync("Weather in Paris?").status is RunStatus.SUCCEEDED
