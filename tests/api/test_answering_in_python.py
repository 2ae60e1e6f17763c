"""Approvals answered by a program, runs listed and read without taking them over, and what tools are given."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from api.conftest import LeadOf
from leads import leadhand_of

from leadhand import Leadhand, NoSuchRun, RunStatus, ToolContext, ToolReturn, UsageError, tool
from leadhand.app.steering.approvals import OpenApproval


class Bank:
    """A tool that pays, and what it paid."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        bank = self

        @tool(effect="once")
        async def pay(to: str) -> ToolReturn:
            """Pay somebody."""
            bank.paid.append(to)
            return ToolReturn(summary=f"paid {to}")

        self.pay = pay


@pytest.fixture
def bank() -> Bank:
    return Bank()


def lead(home: Path, bank: Bank, *people: str, **more: Any) -> Leadhand:
    models = LeadOf("pay", [{"to": each} for each in people])
    return leadhand_of(models=models, tools=[bank.pay], home=home, **more)


@pytest.mark.parametrize("door", ["run", "lead"])
async def test_the_answer_goes_on_after_an_approval(home: Path, bank: Bank, door: str) -> None:
    async with lead(home, bank, "Ann", "Bob") as leadhand:
        run = await leadhand.start("pay them")
        assert (await run.answer()).status is RunStatus.WAITING
        first, second = await run.approvals()
        answering: Any = run if door == "run" else leadhand

        await answering.approve(first)
        assert (await run.answer()).status is RunStatus.WAITING  # the other one is still open
        await answering.deny(second)
        answer = await run.answer()

    assert answer.status is RunStatus.PARTIAL
    assert len(bank.paid) == 1


async def test_a_run_that_still_waits_is_not_driven_in_circles(home: Path, bank: Bank) -> None:
    async with lead(home, bank, "Ann") as leadhand:
        run = await leadhand.start("pay her")
        await run.answer()
        before = run.state.seq
        assert (await run.answer()).status is RunStatus.WAITING
        assert run.state.seq == before


def by_name(question: OpenApproval) -> bool | None:
    return {"Ann": True, "Bob": False}.get(question.approval.args["to"])


async def by_name_later(question: OpenApproval) -> bool | None:
    await asyncio.sleep(0)
    return by_name(question)


@pytest.mark.parametrize("on_approval", [by_name, by_name_later, lambda question: by_name_later(question)])
async def test_a_function_answers_what_it_knows(home: Path, bank: Bank, on_approval: Any) -> None:
    async with lead(home, bank, "Ann", "Bob", "Carl", on_approval=on_approval) as leadhand:
        run = await leadhand.start("pay them")
        answer = await run.answer()
        left = await run.approvals()

    assert answer.status is RunStatus.WAITING
    assert bank.paid == ["Ann"]
    assert [each.approval.args for each in left] == [{"to": "Carl"}]


@pytest.mark.parametrize("happened", [True, False, None])
async def test_a_function_answers_whether_a_call_happened(home: Path, happened: bool | None) -> None:
    sent: list[str] = []

    @tool(effect="once", approval="auto")
    async def wire(to: str) -> ToolReturn:
        """Pay somebody, over a line that breaks the first time."""
        sent.append(to)
        if len(sent) == 1:
            raise ConnectionError("the line is dead")
        return ToolReturn(summary=f"wired to {to}")

    def answer(question: OpenApproval) -> bool | None:
        assert question.approval.kind == "effect"
        return happened

    models = LeadOf("wire", [{"to": "Ann"}])
    async with Leadhand(models=models, tools=[wire], home=home, on_approval=answer) as leadhand:
        outcome = await leadhand.run("pay her")

    assert outcome.status is (RunStatus.WAITING if happened is None else RunStatus.SUCCEEDED)
    assert len(sent) == (2 if happened is False else 1)


@pytest.mark.parametrize("returned", [object(), "x" * 2_000_001, "\ud800"], ids=["object", "too large", "surrogate"])
async def test_a_call_whose_result_cannot_be_used_was_made_and_is_not_repeated(home: Path, returned: Any) -> None:
    sent: list[str] = []

    @tool(effect="once", approval="auto")
    def wire(to: str) -> Any:
        """Pay somebody."""
        sent.append(to)
        return returned

    async with Leadhand(models=LeadOf("wire", [{"to": "Ann"}]), tools=[wire], home=home) as leadhand:
        run = await leadhand.start("pay her")
        answer = await run.answer()

    assert answer.status is RunStatus.FAILED
    assert sent == ["Ann"]
    assert answer.document["approvals"] == []
    (made,) = run.state.steps["wo-001.0"].made
    assert made.acted
    assert made.seen
    (gap,) = answer.gaps
    assert gap.reason.startswith("wire was called")
    assert [(each.tool, each.ok) for each in answer.done] == [("wire", False)]


async def test_an_error_of_the_function_reaches_who_waits(home: Path, bank: Bank) -> None:
    def broken(_: OpenApproval) -> bool:
        raise RuntimeError("no form")

    async with lead(home, bank, "Ann", on_approval=broken) as leadhand:
        with pytest.raises(RuntimeError, match="no form"):
            await leadhand.run("pay her")
    assert bank.paid == []


@pytest.mark.parametrize("said", ["no", "yes", 1, 0])
async def test_only_true_approves_and_only_false_denies(home: Path, bank: Bank, said: Any) -> None:
    async with lead(home, bank, "Ann", on_approval=lambda _: said) as leadhand:
        with pytest.raises(UsageError, match="on_approval"):
            await leadhand.run("pay her")
    assert bank.paid == []


async def test_what_waits_is_asked_again_when_it_is_resumed(home: Path, bank: Bank) -> None:
    async with lead(home, bank, "Ann") as leadhand:
        run_id = (await leadhand.run("pay her")).run_id
    async with lead(home, bank, "Ann", on_approval=lambda _: True) as leadhand:
        assert (await (await leadhand.resume(run_id)).answer()).status is RunStatus.SUCCEEDED
    assert bank.paid == ["Ann"]


async def test_runs_are_listed_and_read_without_being_taken_over(home: Path, bank: Bank) -> None:
    async with lead(home, bank, "Ann") as leadhand:
        first = (await leadhand.run("pay Ann")).run_id
        second = (await leadhand.run("pay her again")).run_id
        await leadhand.approve((await leadhand.approvals())[0])  # of the second one

    async with lead(home, bank, "Ann") as other:
        assert [each.run_id for each in await other.runs()] == [second, first]
        assert [each.run_id for each in await other.runs(text="AGAIN")] == [second]
        assert [each.run_id for each in await other.runs(limit=1, before=second)] == [first]
        run = await other.get(second)
        assert (await run.document())["status"] == "waiting"
        assert (await run.answer()).status is RunStatus.WAITING
        assert (await other.runs())[0].owner is None
        said: Any = "waiting"
        assert {each.status for each in await other.runs(status=said)} == {RunStatus.WAITING}
        for wrong in ({"status": "nope"}, {"limit": 0}, {"limit": "x"}):
            with pytest.raises(UsageError):
                await other.runs(**wrong)
        with pytest.raises(NoSuchRun):
            await other.get("run_unknown")
    assert bank.paid == []


async def test_tools_get_what_the_program_gives_them(home: Path) -> None:
    @tool
    async def greet(context: ToolContext) -> ToolReturn:
        """Greet the user."""
        return ToolReturn(summary=f"hello {context.deps['user']}")

    given = {"user": "Ann"}
    async with Leadhand(models=LeadOf("greet", [{}]), tools=[greet], home=home) as leadhand:
        answer = await leadhand.run("greet", deps=given)
    assert "hello Ann" in answer.text
    async with Leadhand(models=LeadOf("greet", [{}]), tools=[greet], home=home) as leadhand:
        assert (await leadhand.run("greet")).status is RunStatus.FAILED


async def test_answers_do_not_read_the_whole_log_each_time(home: Path, bank: Bank) -> None:
    people = [f"person {n}" for n in range(30)]
    async with lead(home, bank, *people, on_approval=lambda _: True) as leadhand:
        store: Any = (await leadhand.runtime()).store
        reads, read = Counter[str](), store.read

        async def counted(run_id: str, after: int = 0, *more: Any) -> Any:
            reads["whole" if after == 0 else "part"] += 1
            return await read(run_id, after, *more)

        store.read = counted
        answer = await leadhand.run("pay them")
    assert answer.status is RunStatus.SUCCEEDED
    assert sorted(bank.paid) == sorted(people)
    assert reads["whole"] < 10, reads


async def test_a_list_counts_what_is_open_when_two_processes_answer_at_once(home: Path, bank: Bank) -> None:
    people = [f"person {n}" for n in range(9)]
    async with lead(home, bank, *people) as here, lead(home, bank) as there:
        run_id = (await here.run("pay them")).run_id
        asked = await (await there.get(run_id)).approvals()
        first, *rest = [there.approve(each) if n % 2 else here.deny(each) for n, each in enumerate(asked[1:])]
        refused = await asyncio.gather(first, *rest, here.approve(asked[1]), return_exceptions=True)
        assert [isinstance(each, UsageError) for each in refused].count(True) == 1, "one was answered twice"
        assert [(run.run_id, run.asking) for run in await here.runs(asking=True)] == [(run_id, 1)]
        await there.approve(asked[0])
        assert await here.runs(asking=True) == []


async def test_a_process_keeps_nothing_of_the_runs_that_have_finished(home: Path, bank: Bank) -> None:
    async with lead(home, bank, "Ann", on_approval=lambda _: True) as leadhand:
        runtime = await leadhand.runtime()

        def kept() -> int:
            values = [*vars(runtime).values(), *vars(runtime.dispatcher).values()]
            return sum(len(each) for each in values if isinstance(each, dict | list | set))

        for _ in range(3):
            await leadhand.run("pay her")
            async with asyncio.timeout(30):
                while kept():  # noqa: ASYNC110 – its last tasks may end a moment after its answer
                    await asyncio.sleep(0.005)
