"""Runs that ended and go on: with higher limits, with another typed answer, with what a person enters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from flows.seam.lives import Lives, a, b, begun_again, c, finished, log_of
from leadhand import Limits, RunStatus, UsageError, Worker
from leadhand.core.evolve import replay
from leadhand.flows import FlowContext, flow
from leadhand.testing.scripted_model import fails, gives, says


class Weather(BaseModel):
    town: str
    warm: bool = False


reporter = Worker("reporter", "Report.", output=Weather, loop="reply")


@flow
async def digest(run: FlowContext) -> Any:
    """Find out as much as the limits allow, and write the answer with what is held back for it."""
    found = await run.gather((run.ask(a, n=n) for n in range(8)), return_failures=True)
    return await run.ask(c, found=[each for each in found if each.ok], final=True)


async def test_with_a_higher_limit_only_what_the_limit_ended_is_done_and_the_answer_is_written_again(
    tmp_path: Path,
) -> None:
    lives = Lives(tmp_path, lambda worker, given: says(f"{worker} {len(given.get('found', ()))}"), max_workers=1)
    async with lives.life(digest, max_requests=6) as lead:
        run, answer = await finished(lead, digest)
        done = lives.new().count("A")
        assert (answer.status, answer.text) == (RunStatus.PARTIAL, f"C {done}")
        await run.retry(limits=Limits(max_requests=50))
        answer = await run.answer()
        assert not begun_again(await log_of(lead, run.run_id))
    assert (answer.status, answer.text, answer.gaps) == (RunStatus.SUCCEEDED, "C 8", ())
    assert lives.new() == ["A"] * (8 - done) + ["C"]


async def test_a_typed_answer_is_made_again_when_the_text_is_another(tmp_path: Path) -> None:
    @flow
    async def plain(run: FlowContext) -> Any:
        return await run.ask(b, of=await run.ask(a))

    towns = iter(["Oslo", "Rome"])

    def answer(worker: str, given: dict[str, Any]) -> Any:
        if worker == "A":
            return says(next(towns))
        return says(f"It is {given['of']}") if worker == "B" else gives({"town": str(given).partition("It is ")[2][:4]})

    async with Lives(tmp_path, answer).life(plain) as lead:
        run = await lead.start("go", flow="plain", output=Weather)
        assert (await run.answer()).value == Weather(town="Oslo")
        await run.retry(["a"])
        assert (await run.answer()).value == Weather(town="Rome")


async def test_a_result_that_is_entered_for_a_typed_step_has_to_fit(tmp_path: Path) -> None:
    @flow
    async def typed(run: FlowContext) -> str:
        found = await run.ask(reporter)
        return f"{type(found.value).__name__} {found.value.town}"

    lives = Lives(tmp_path, lambda *_: fails("rejected", "refused", "no"))
    async with lives.life(typed) as lead:
        run, answer = await finished(lead, typed)
        assert answer.status is RunStatus.FAILED
        for raw in (None, {"warm": True}):
            with pytest.raises(UsageError):
                await run.supply("reporter", "warm in Oslo", raw)
        await run.supply("reporter", "warm in Oslo", {"town": "Oslo", "warm": True})
        answer = await run.answer()
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "Weather Oslo")


async def test_a_finished_result_that_does_not_fit_the_output_any_more_is_asked_for_again(tmp_path: Path) -> None:
    class Colder(BaseModel):
        town: str
        degrees: int

    def of(output: Any) -> Any:
        worker = Worker("reporter", "Report.", output=output, loop="reply")

        async def typed(run: FlowContext) -> Any:
            found = await run.ask(worker)
            return await run.ask(a, of=found)

        return flow(name="typed")(typed)

    reported: dict[str, Any] = {"town": "Oslo"}
    lives = Lives(tmp_path, lambda worker, given: gives(reported) if worker != "A" else says("x"))
    async with lives.life(of(Weather)) as lead:
        run, _ = await finished(lead, of(Weather))
    assert lives.new() == ["Report", "A"]
    reported["degrees"] = 3
    async with lives.life(of(Colder)) as lead:
        run = await lead.get(run.run_id)
        await run.retry(["a"])
        answer = await run.answer()
        state = replay(run.run_id, await log_of(lead, run.run_id))
    assert answer.status is RunStatus.SUCCEEDED
    assert "reporter-2" in state.steps


async def test_plan_only_ends_with_the_plan_and_resuming_carries_it_out(tmp_path: Path) -> None:
    @flow
    async def planned(run: FlowContext) -> Any:
        plan = await run.ask(a)
        await run.approve(plan)
        return await run.ask(b, plan=plan)

    lives = Lives(tmp_path, lambda worker, given: says(worker))
    async with lives.life(planned) as lead:
        run = await lead.start("go", flow="planned", plan_only=True)
        assert (await run.answer()).status is RunStatus.WAITING
        assert lives.new() == ["A"]
        answer = await (await lead.resume(run.run_id)).answer()
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "B")
    assert lives.new() == ["B"]


async def test_a_follow_up_sees_the_run_before_it_and_the_program_its_own_objects(tmp_path: Path) -> None:
    @flow
    async def following(run: FlowContext) -> str:
        return f"{run.deps['name']}: {run.earlier.answer if run.earlier is not None else 'first'}"

    async with Lives(tmp_path).life(following) as lead:
        run, answer = await finished(lead, following, deps={"name": "me"})
        assert answer.text == "me: first"
        later = await (await run.follow_up("and then?", deps={"name": "you"})).answer()
    assert later.text == "you: me: first"
