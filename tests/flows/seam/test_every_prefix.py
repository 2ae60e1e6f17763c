"""A run can be cut after any event: a new pass over what is left asks for the same steps, and nothing is done twice."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from flows.seam.lives import Lives, a, b, begun_again, c, cut, log_of, steps_of, wrong_prefixes
from leadhand import RunStatus, Worker
from leadhand.flows import FlowContext, StepFailed, flow
from leadhand.testing.scripted_model import fails, gives, says


@flow
async def equal(run: FlowContext, n: int = 5) -> str:
    """Equal first steps in concurrent branches, whose results differ; the rest depends on them."""

    async def branch(i: int) -> Any:
        first = await run.ask(a)
        second = await run.ask(b, of=first)
        return await run.ask(c, of=second, mine=i)

    return " ".join(map(str, await run.gather(branch(i) for i in range(n))))


@flow
async def loops(run: FlowContext, n: int = 4) -> str:
    """The number of equal steps depends on results; branches in branches."""

    async def inner() -> Any:
        found = await run.ask(a)
        while found.text.endswith(("0", "5")):
            found = await run.ask(a)
        return found

    async def branch() -> Any:
        return await run.ask(b, of=await run.gather(inner() for _ in range(2)))

    return " ".join(map(str, await run.gather([*(branch() for _ in range(n)), run.ask(a), run.ask(a)])))


@flow
async def late(run: FlowContext, n: int = 5) -> str:
    """Each branch: a step of its own, then an equal step, then one that depends on both."""

    async def branch(i: int) -> Any:
        own = await run.ask(a, mine=i)
        dice = await run.ask(b)
        return await run.ask(c, of=own, dice=dice)

    return " ".join(map(str, await run.gather(branch(i) for i in range(n))))


@flow
async def shared(run: FlowContext, n: int = 5) -> str:
    """Branches that add to one list: what each asks for depends on what the others have found before."""
    found: list[str] = []

    async def branch(i: int) -> Any:
        found.append((await run.ask(a, mine=i)).text)
        return await run.ask(b, so_far=list(found))

    return " ".join(map(str, await run.gather(branch(i) for i in range(n))))


@flow
async def stumbling(run: FlowContext, n: int = 4) -> str:
    """Steps fail, are waived or optional, and others are asked for instead."""

    async def branch(i: int) -> Any:
        try:
            return await run.ask(a, mine=i)
        except StepFailed as failed:
            failed.waive()
            instead = await run.ask(b, optional=True)
            return await run.ask(c, of=instead, at=run.now().isoformat(), roll=run.random())

    run.note("off it goes")
    return " ".join(map(str, await run.gather((branch(i) for i in range(n)), return_failures=True)))


FLOWS = [equal, loops, late, shared, stumbling]


@pytest.mark.parametrize("which", FLOWS, ids=lambda each: each.name)
@pytest.mark.parametrize("seed", range(3))
async def test_a_new_pass_over_any_prefix_asks_for_the_steps_of_the_log(which: Any, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)

    def answer(worker: str, given: dict[str, Any]) -> Any:
        if which is stumbling and worker in "AB" and rng.random() < 0.4:
            return fails("rejected", "refused", "no").after(rng.random() * 0.01)
        return says(str(rng.randrange(10**6))).after(rng.random() * 0.01)

    async with Lives(tmp_path, answer, max_workers=4).life(*FLOWS) as lead:
        run = await lead.start("go", flow=which.name)
        await run.wait()
        entries = await log_of(lead, run.run_id)
    assert len(steps_of(entries)) > 3
    assert wrong_prefixes(which, entries, run.run_id) == []


class Sections(BaseModel):
    sections: list[str]


planner = Worker("planner", "Plan.", output=Sections, loop="reply")


@flow
async def early(run: FlowContext) -> str:
    """Research begins while the plan is being written; the sealed plan claims it."""
    async with run.asking(planner, elements="sections", topic=run.request) as reply:
        async for section in reply:
            run.begin(a, section=section)
        plan = await reply.result()
    found = await run.gather(run.ask(a, section=each) for each in plan.value.sections)
    return (await run.ask(b, found=found)).text


async def test_the_same_holds_while_the_elements_of_an_answer_are_read(tmp_path: Path) -> None:
    def answer(worker: str, given: dict[str, Any]) -> Any:
        if worker == "Plan":
            return gives({"sections": ["one", "two", "three"]}).slowly(0.02)
        return says(f"{worker} {given.get('section')}")

    lives = Lives(tmp_path, answer)
    async with lives.life(early) as lead:
        run = await lead.start("go", flow="early")
        assert (await run.answer()).text == "B None"
        entries = await log_of(lead, run.run_id)
    assert lives.new().count("A") == 3
    assert wrong_prefixes(early, entries, run.run_id) == []


@flow
async def branches(run: FlowContext, n: int = 50) -> str:
    """Look up, draft and check each item, side by side."""

    async def item(i: int) -> Any:
        found = await run.ask(a, item=i)
        draft = await run.ask(b, found=found)
        checked = await run.ask(c, draft=draft)
        while "bad" in checked.text:
            draft = await run.ask(b, found=found, problem=checked)
            checked = await run.ask(c, draft=draft)
        return draft

    return "\n".join(map(str, await run.gather(item(i) for i in range(n))))


def drafted(worker: str, given: dict[str, Any]) -> Any:
    if worker == "A":
        return says(f"fact {given['item']}")
    if worker == "B":
        again = " again" if "problem" in given else ""
        return says(f"draft of {given['found']}{again}")
    number = int(given["draft"].split()[3])
    return says("bad" if number % 7 == 0 and "again" not in given["draft"] else "good")


async def test_branches_cut_after_any_event_come_to_one_answer_and_one_set_of_steps(tmp_path: Path) -> None:
    await check_branches(tmp_path, n=50, every=211)


@pytest.mark.slow
async def test_branches_cut_after_each_event_come_to_one_answer_and_one_set_of_steps(tmp_path: Path) -> None:
    await check_branches(tmp_path, n=20, every=3)


async def check_branches(home: Path, *, n: int, every: int) -> None:
    lives = Lives(home, drafted, max_workers=8)
    async with lives.life(branches) as lead:
        run = await lead.start("go", flow="branches", n=n)
        whole = await run.answer()
        entries = await log_of(lead, run.run_id)
        assert whole.status is RunStatus.SUCCEEDED
        assert whole.text.splitlines()[7] == "draft of fact 7 again"
        assert len(lives.new()) == len(steps_of(entries))
        for length in range(1 + random.Random(n).randrange(every), len(entries), every):
            key = f"run-{length}"
            await cut(lead, entries[:length], key)
            answer = await (await lead.resume(key)).answer()
            assert (answer.status, answer.text) == (whole.status, whole.text), f"cut after {length}"
            log = await log_of(lead, key)
            assert steps_of(log).keys() == steps_of(entries).keys(), f"cut after {length}"
            assert not begun_again(log), f"cut after {length}"
