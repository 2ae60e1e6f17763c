"""The Python door: people have subtasks done again, left out or answered by hand, and runs forked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from leadhand import (
    ConfigurationError,
    FailureClass,
    Leadhand,
    NoSuchRun,
    RunStatus,
    ToolError,
    ToolReturn,
    UsageError,
    tool,
)
from leadhand.core.events import RunStatusSet, StepRequested


class Shop:
    """A tool that works for some numbers only, and for one only when a gate is open."""

    def __init__(self, *works: int, waits: int | None = None) -> None:
        self.works = set(works)
        self.asked: list[int] = []
        self.gate = asyncio.Event()
        self._waits = waits

    @property
    def tool(self) -> Any:
        @tool(retries=0)
        async def shop(n: int) -> ToolReturn:
            """Ask a shop."""
            self.asked.append(n)
            if n == self._waits:
                await self.gate.wait()
            if n not in self.works:
                raise ToolError("closed", type="closed", class_=FailureClass.UNAVAILABLE)
            return ToolReturn(raw=n, summary=f"got {n}")

        return shop


@tool(effect="once")
def pay(amount: int) -> ToolReturn:
    """Pay an amount."""
    return ToolReturn(raw=amount, summary=f"paid {amount}")


@pytest.mark.slow
async def test_after_the_end_a_run_goes_on_here_and_has_another_answer(home: Path, lead_of: Any, url: str) -> None:
    shop = Shop(1)
    models = lead_of("shop", [{"n": 1}, {"n": 2}])
    async with Leadhand(models=models, tools=[shop.tool], home=home, store=url) as lead:
        run = await lead.start("both")
        assert (await run.answer()).status is RunStatus.PARTIAL
        first = [entry async for entry in run]
        shop.works.add(2)
        await run.retry()
        entries = [entry async for entry in run]
        answer = await run.answer()

    assert answer.status is RunStatus.SUCCEEDED
    assert answer.text == "got 1; got 2"
    assert sorted(shop.asked) == [1, 2, 2]
    assert [earlier["number"] for earlier in answer.document["earlier_answers"]] == [1]
    assert entries[: len(first)] == first
    assert entries[-1].event.type == "run_finished"


@pytest.mark.slow
async def test_a_run_of_another_process_is_steered_and_driven_where_it_was(home: Path, lead_of: Any, url: str) -> None:
    shop = Shop(1, waits=1)
    models = lead_of("shop", [{"n": 1}, {"n": 2}])
    async with (
        Leadhand(models=models, tools=[shop.tool], home=home, store=url) as driving,
        Leadhand(model="offline", home=home, store=url) as other,
    ):
        run = await driving.start("both")
        async for entry in run:
            if entry.event.type == "step_settled" and entry.event.subject.startswith("wo-001.1"):
                break
        attached = await other.attach(run.run_id)
        await attached.supply("wo-001.1", "by hand", raw={"n": 2})
        with pytest.raises(UsageError, match=r"wo-001\.1"):
            await attached.supply("wo-001.1", "again")
        shop.gate.set()
        assert (await run.answer()).text == "got 1; by hand"
        assert (await attached.answer()).text == "got 1; by hand"
    assert sorted(shop.asked) == [1, 2]


async def test_what_the_driver_has_only_just_finished_is_reopened(home: Path, lead_of: Any) -> None:
    """The wish comes in the moment between the end and its process letting go: it is not lost."""
    shop = Shop()
    async with Leadhand(models=lead_of("shop", [{"n": 1}]), tools=[shop.tool], home=home) as lead:
        run = await lead.start("one")
        async for entry in run:
            if entry.event.type == "run_finished":
                shop.works.add(1)
                await run.retry(["wo-001.0"])
                break
        assert (await run.answer()).text == "got 1"


async def test_a_paused_run_grants_it_when_it_is_resumed(home: Path, lead_of: Any) -> None:
    shop = Shop(1, waits=1)
    async with Leadhand(models=lead_of("shop", [{"n": 1}, {"n": 2}]), tools=[shop.tool], home=home) as lead:
        run = await lead.start("both")
        async for entry in run:
            if entry.event.type == "step_settled" and entry.event.subject.startswith("wo-001.1"):
                await run.pause()
        await run.supply("wo-001.1", "by hand")
        assert (await run.answer()).status is RunStatus.PAUSED
        shop.gate.set()
        answer = await (await lead.resume(run.run_id)).answer()
    assert answer.text == "got 1; by hand"


async def test_a_run_that_waits_can_be_followed_after_one_of_two_was_left_out(home: Path, lead_of: Any) -> None:
    """The run is taken over, and waits again."""
    async with Leadhand(models=lead_of("pay", [{"amount": 1}, {"amount": 2}]), tools=[pay], home=home) as lead:
        run = await lead.start("pay")
        assert (await run.answer()).status is RunStatus.WAITING
        await run.skip("wo-001.0", reason="too dear")
        assert (await run.answer()).status is RunStatus.WAITING
        again = await lead.attach(run.run_id)
        entries = [entry async for entry in again]
        assert isinstance(entries[-1].event, RunStatusSet)
        assert entries[-1].event.status is RunStatus.WAITING
        await run.skip("wo-001.1")
        answer = await run.answer()
    assert answer.status is RunStatus.FAILED
    assert "too dear" in answer.gaps[0].reason


async def test_a_wish_that_comes_too_late_is_declined_and_the_run_stays_over(home: Path, lead_of: Any) -> None:
    shop = Shop(1)
    async with Leadhand(models=lead_of("shop", [{"n": 1}]), tools=[shop.tool], home=home) as lead:
        run = await lead.start("one")
        before = await run.answer()
        runtime = await lead.runtime()
        await runtime.log(run.run_id).append(StepRequested(what="skip", by="me", steps=("wo-001.0",)))
        await runtime.drive(await runtime.take_over(run.run_id, ended=True))
        again = await lead.attach(run.run_id)
        last = [entry.event async for entry in again][-1]
        assert last.type == "request_decided"
        assert last.declined
        assert (await again.answer()).text == before.text


async def test_a_fork_goes_on_from_the_event(home: Path, lead_of: Any) -> None:
    shop = Shop(1)
    async with Leadhand(models=lead_of("shop", [{"n": 1}, {"n": 2}]), tools=[shop.tool], home=home) as lead:
        run = await lead.start("both")
        (ordered,) = [entry.seq async for entry in run if entry.event.type == "order_issued"]
        shop.works.add(2)
        fork = await lead.fork(run.run_id, ordered)
        answer = await fork.answer()
        assert (await run.answer()).status is RunStatus.PARTIAL
    assert fork.run_id != run.run_id
    assert answer.status is RunStatus.SUCCEEDED
    assert sorted(shop.asked) == [1, 1, 2, 2]


async def test_a_fork_that_may_do_again_what_cannot_be_taken_back_is_confirmed(home: Path, lead_of: Any) -> None:
    models = lead_of("pay", [{"amount": 1}])
    async with Leadhand(models=models, tools=[pay], home=home, approve="auto") as lead:
        answer = await lead.run("pay")
        with pytest.raises(UsageError, match=r"event 1 .*pay \(event \d+\)"):
            await lead.fork(answer.run_id, 1)
        assert (await (await lead.fork(answer.run_id, 1, confirmed=True)).answer()).text == "paid 1"


async def test_what_cannot_be_is_refused_before_anything_is_on_record(home: Path, lead_of: Any) -> None:
    shop = Shop(1)
    async with Leadhand(models=lead_of("shop", [{"n": 1}, {"n": 2}]), tools=[shop.tool], home=home) as lead:
        run = await lead.start("both")
        seq = (await run.answer()).document["last_seq"]
        for wrong, said in (
            (run.retry("wo-001.7"), "wo-001.7"),
            (run.retry(["wo-001.0"]), "wo-001.0"),
            (run.retry(args={"n": 1}), ""),
            (run.retry(["wo-001.1"], args={"m": 1}), "shop"),
            (run.retry(["wo-001.1"], args=[1]), "arguments"),  # pyright: ignore[reportArgumentType]
            (run.retry(["wo-001.1"], args={"n": float("nan")}), "arguments"),
            (run.retry([1]), "1"),  # pyright: ignore[reportArgumentType]
            (run.skip("wo-001.0"), "wo-001.0"),
            (run.skip("wo-001.1", reason=b"x"), "reason"),  # pyright: ignore[reportArgumentType]
            (run.supply("wo-001.1", ""), "summary"),
            (run.supply("wo-001.1", "x", raw=float("inf")), "result"),
            (lead.fork(run.run_id, True), "True"),
            (lead.fork(run.run_id, 0), "0"),
            (lead.fork(run.run_id, seq), str(seq)),
        ):
            with pytest.raises(UsageError) as refused:
                await wrong
            assert said in refused.value.what
            assert refused.value.how
        with pytest.raises(NoSuchRun):
            await lead.fork("run_nobody", 1)
        assert (await run.document())["last_seq"] == seq

    async with Leadhand(models=lead_of("pay", []), tools=[pay], home=home) as lead:
        run = await lead.attach(run.run_id)
        for wanted in (run.retry(), lead.fork(run.run_id, 1)):
            with pytest.raises(ConfigurationError, match="shop"):
                await wanted
        assert (await run.document())["last_seq"] == seq


async def test_a_process_needs_only_the_tools_of_what_is_left(home: Path, lead_of: Any) -> None:
    """One subtask has finished and another one waits: the tool of the first one is not needed any more."""
    shop, models = Shop(1), lead_of("shop", [{"n": 1}])
    models._plan["subtasks"].append({"name": "bill", "tool": "pay", "args": {"amount": 3}})
    async with Leadhand(models=models, tools=[shop.tool, pay], home=home) as lead:
        run = await lead.start("both")
        assert (await run.wait()).status is RunStatus.WAITING
        (asked,) = await run.approvals()

    async with Leadhand(models=models, tools=[shop.tool], home=home) as lead:
        with pytest.raises(ConfigurationError, match="pay"):
            await lead.resume(run.run_id)
    async with Leadhand(models=models, tools=[pay], home=home) as lead:
        await lead.approve(asked.id)
        answer = await (await lead.resume(run.run_id)).answer()
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "got 1; paid 3")


@pytest.mark.parametrize("want", ["retry", "skip", "supply"])
async def test_a_request_needs_only_the_tools_of_what_it_does_again(home: Path, lead_of: Any, want: str) -> None:
    shop, models = Shop(), lead_of("shop", [{"n": 1}])
    models._plan["subtasks"].append({"name": "note", "tool": "note", "args": {"what": "x"}})

    @tool
    def note(what: str) -> ToolReturn:
        """Note something."""
        return ToolReturn(summary=f"noted {what}")

    async with Leadhand(models=models, tools=[shop.tool, note], home=home) as lead:
        run = await lead.start("both")
        assert (await run.answer()).status is RunStatus.PARTIAL
    shop.works.add(1)
    async with Leadhand(models=models, tools=[note], home=home) as lead:
        run = await lead.attach(run.run_id)
        if want == "retry":
            with pytest.raises(ConfigurationError, match="shop"):
                await run.retry()
        elif want == "skip":
            await run.skip("wo-001.0")
        else:
            await run.supply("wo-001.0", "by hand")
            assert (await run.answer()).text == "by hand; noted x"
    async with Leadhand(models=models, tools=[shop.tool], home=home) as lead:
        run = await lead.attach(run.run_id)
        if want == "retry":
            await run.retry()
            assert (await run.answer()).text == "got 1; noted x"
