"""The function is changed while its run is parked: what runs again is what has another input, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.seam.lives import Lives, begun_again, cut, log_of
from leadhand import RunStatus, Worker
from leadhand.core.evolve import replay
from leadhand.flows import FlowContext, flow
from leadhand.testing.scripted_model import says

researcher = Worker("researcher", "Research.")
summarizer = Worker("summarizer", "Summarize.")
writer = Worker("writer", "Write.")
critic = Worker("critic", "Criticise.")
QUESTIONS = ["one", "two", "three"]


async def report(run: FlowContext) -> Any:
    async def research(question: str) -> Any:
        return await run.ask(summarizer, of=await run.ask(researcher, question=question))

    found = await run.gather(research(each) for each in QUESTIONS)
    draft = await run.ask(writer, findings=found)
    verdict = await run.ask(critic, draft=draft)
    return await run.ask(writer, findings=found, draft=draft, verdict=verdict, final=True)


async def with_a_new_line(run: FlowContext) -> Any:
    async def research(question: str) -> Any:
        raw = await run.ask(researcher, question=question)
        _ = len(raw.text)
        return await run.ask(summarizer, of=raw)

    found = list(await run.gather(research(each) for each in QUESTIONS))

    draft = await run.ask(writer, findings=found)
    verdict = await run.ask(critic, draft=draft)
    return await run.ask(writer, findings=found, draft=draft, verdict=verdict, final=True)


async def with_a_step_in_the_middle(run: FlowContext) -> Any:
    async def research(question: str) -> Any:
        return await run.ask(summarizer, of=await run.ask(researcher, question=question))

    found = await run.gather(research(each) for each in QUESTIONS)
    await run.ask(critic, findings=found)
    draft = await run.ask(writer, findings=found)
    verdict = await run.ask(critic, draft=draft)
    return await run.ask(writer, findings=found, draft=draft, verdict=verdict, final=True)


async def with_another_input(run: FlowContext) -> Any:
    async def research(question: str) -> Any:
        return await run.ask(summarizer, of=await run.ask(researcher, question=question))

    found = await run.gather(research(each) for each in QUESTIONS)
    draft = await run.ask(writer, findings=found, style="short")
    verdict = await run.ask(critic, draft=draft)
    return await run.ask(writer, findings=found, draft=draft, verdict=verdict, final=True)


async def with_other_instructions(run: FlowContext) -> Any:
    writes = Worker("writer", "Write well.")

    async def research(question: str) -> Any:
        raw = await run.ask(Worker("researcher", "Research well."), question=question)
        return await run.ask(summarizer, of=raw)

    found = await run.gather(research(each) for each in QUESTIONS)
    draft = await run.ask(writes, findings=found)
    verdict = await run.ask(critic, draft=draft)
    return await run.ask(writes, findings=found, draft=draft, verdict=verdict, final=True)


async def in_another_order(run: FlowContext) -> Any:
    async def research(question: str) -> Any:
        return await run.ask(summarizer, of=await run.ask(researcher, question=question))

    found = await run.gather(research(each) for each in reversed(QUESTIONS))
    draft = await run.ask(writer, findings=found)
    verdict = await run.ask(critic, draft=draft)
    return await run.ask(writer, findings=found, draft=draft, verdict=verdict, final=True)


async def with_a_new_option(run: FlowContext, tone: str = "plain", most: int = 3) -> Any:
    async def research(question: str) -> Any:
        return await run.ask(summarizer, of=await run.ask(researcher, question=question))

    found = await run.gather(research(each) for each in QUESTIONS[:most])
    draft = await run.ask(writer, findings=found)
    verdict = await run.ask(critic, draft=draft)
    return await run.ask(writer, findings=found, draft=draft, verdict=verdict, final=True)


async def with_one_question_less(run: FlowContext) -> Any:
    async def research(question: str) -> Any:
        return await run.ask(summarizer, of=await run.ask(researcher, question=question))

    found = await run.gather(research(each) for each in QUESTIONS[:2])
    draft = await run.ask(writer, findings=found)
    verdict = await run.ask(critic, draft=draft)
    return await run.ask(writer, findings=found, draft=draft, verdict=verdict, final=True)


def written(worker: str, given: dict[str, Any]) -> Any:
    worker = worker.removesuffix(" well")
    match worker:
        case "Research":
            return says(f"raw {given['question']}")
        case "Summarize":
            return says(f"sum of {given['of']}")
        case "Criticise":
            return says(f"fine: {given.get('draft', '')}")
        case _:
            return says(f"draft {given.get('style', '')} of {given['findings']} {given.get('verdict', '')}")


@pytest.mark.parametrize(
    ("changed", "again", "left_out"),
    [
        (report, ["Write"], ()),
        (with_a_new_line, ["Write"], ()),
        (with_a_step_in_the_middle, ["Criticise", "Write"], ()),
        (with_another_input, ["Write", "Criticise", "Write"], ("writer", "critic")),
        (with_other_instructions, ["Write well"], ()),
        (in_another_order, ["Write", "Criticise", "Write"], ("writer", "critic")),
        (with_a_new_option, ["Write"], ()),
        (
            with_one_question_less,
            ["Write", "Criticise", "Write"],
            ("researcher-3", "summarizer", "writer", "critic"),
        ),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
async def test_only_steps_with_another_input_run_again_when_the_source_has_changed(
    changed: Callable[..., Any], again: list[str], left_out: tuple[str, ...], tmp_path: Path
) -> None:
    lives = Lives(tmp_path, written)
    async with lives.life(flow(name="parked")(report)) as lead:
        run = await lead.start("go", flow="parked")
        await run.wait()
        log = await log_of(lead, run.run_id)
        parked = next(each.seq for each in log if each.event.type == "step_settled" and each.event.step == "critic")
        await cut(lead, log[:parked], "parked-run")
    lives.new()
    async with lives.life(flow(name="parked")(changed)) as lead:
        answer = await (await lead.resume("parked-run")).answer()
        entries = await log_of(lead, "parked-run")
    assert answer.status is RunStatus.SUCCEEDED, answer.document["failure"]
    assert lives.new() == again
    assert not begun_again(entries)
    finished = replay("parked-run", entries).finished
    assert finished is not None
    assert sorted(
        each.replace("summarizer-2", "summarizer").replace("summarizer-3", "summarizer") for each in finished.left_out
    ) == sorted(left_out)
    assert not finished.gaps
    noted = [each.event.message for each in entries if each.event.type == "note_emitted"]
    if left_out:  # the first new step is named, with its line
        assert any(" of test_changed_sources.py" in each and "writer-2" in each for each in noted)


async def test_a_step_that_nobody_asks_for_any_more_does_not_keep_the_next_batch_from_its_start(tmp_path: Path) -> None:
    lives = Lives(tmp_path, written, batch_size=1)
    async with lives.life(flow(name="parked")(report)) as lead:
        run = await lead.start("go", flow="parked")
        await run.wait()
        log = await log_of(lead, run.run_id)
        begun = next(
            each.seq for each in log if each.event.type == "attempt_started" and "writer/" in each.event.attempt
        )
        await cut(lead, log[:begun], "cut")
    lives.new()
    async with lives.life(flow(name="parked")(with_another_input)) as lead:
        answer = await (await lead.resume("cut")).answer()
    assert answer.status is RunStatus.SUCCEEDED, answer.document["failure"]
    assert lives.new() == ["Write", "Criticise", "Write"]


async def test_a_person_repeats_a_step_with_the_worker_as_it_is_today_and_the_rest_stays(tmp_path: Path) -> None:
    lives = Lives(tmp_path, written)
    async with lives.life(flow(name="parked")(report)) as lead:
        run = await lead.start("go", flow="parked")
        first = await run.answer()
        log = await log_of(lead, run.run_id)
        await cut(lead, log[:-1], "cut")
    lives.new()
    async with lives.life(flow(name="parked")(with_other_instructions)) as lead:
        assert (await (await lead.resume("cut")).answer()).text == first.text
        assert lives.new() == []
        run = await lead.get(run.run_id)
        await run.retry(["researcher", "writer"])
        assert (await run.answer()).status is RunStatus.SUCCEEDED
        assert sorted(lives.new()) == ["Research well", "Write well"]
        await run.retry(["researcher"])
        await run.answer()
        assert lives.new() == ["Research well"]
