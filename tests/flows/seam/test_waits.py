"""Timers, signals, and questions with a time limit: they survive restarts, and what waits for them costs no time."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.seam.lives import Lives, a, cut, finished, log_of, wrong_prefixes
from leadhand import RunStatus, UsageError
from leadhand.core.evolve import replay
from leadhand.flows import FlowContext, flow


@flow
async def sleepy(run: FlowContext, seconds: float = 0.3) -> Any:
    """Ask, wait, and ask again."""
    first = await run.ask(a, n=1)
    before = run.now()
    await run.sleep(seconds)
    return await run.ask(a, n=2, of=first, waited=run.now() - before >= timedelta(seconds=seconds))


async def test_a_flow_sleeps_and_goes_on(tmp_path: Path) -> None:
    lives = Lives(tmp_path)
    async with lives.life(sleepy) as lead:
        began = time.monotonic()
        run, answer = await finished(lead, sleepy)
        assert time.monotonic() - began >= 0.3
        log = await log_of(lead, run.run_id)
    assert answer.status is RunStatus.SUCCEEDED
    assert lives.asked[-1][1]["waited"] is True
    assert answer.question is None
    assert wrong_prefixes(sleepy, log, run.run_id) == []
    assert "run_status_set" not in {each.event.type for each in log}


async def test_a_run_that_sleeps_is_taken_up_after_a_restart_and_its_time_does_not_begin_again(tmp_path: Path) -> None:
    lives = Lives(tmp_path)
    async with lives.life(sleepy) as lead:
        run, _ = await finished(lead, sleepy)
        log = await log_of(lead, run.run_id)
        asleep = next(each.seq for each in log if each.event.type == "question_asked")
        await cut(lead, log[:asleep], "cut")
        assert (await lead.get("cut")).state.status is RunStatus.RUNNING
    lives.new()
    async with lives.life(sleepy) as lead:
        began = time.monotonic()
        answer = await (await lead.resume("cut")).answer()
        assert time.monotonic() - began < 5
    assert answer.status is RunStatus.SUCCEEDED
    assert lives.new() == ["A"]


async def test_a_sleep_until_a_time_and_a_sleep_beside_work(tmp_path: Path) -> None:
    @flow
    async def beside(run: FlowContext) -> Any:
        async def late() -> Any:
            await run.sleep(datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1))
            return await run.ask(a, n=2)

        found = await run.gather([late(), run.ask(a, n=1), run.sleep(timedelta(seconds=0.1))], return_failures=True)
        return f"{found[2]} {len(found)}"

    async with Lives(tmp_path).life(beside) as lead:
        _, answer = await finished(lead, beside)
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "None 3")


async def test_time_in_which_a_run_only_sleeps_does_not_count_towards_its_limit(tmp_path: Path) -> None:
    async with Lives(tmp_path, timeout=1.5).life(sleepy) as lead:
        _, answer = await finished(lead, sleepy, seconds=2.0)
    assert answer.status is RunStatus.SUCCEEDED, answer.document["failure"]


async def test_a_run_that_sleeps_can_be_paused_and_cancelled(tmp_path: Path) -> None:
    async with Lives(tmp_path).life(sleepy) as lead:
        run = await lead.start("go", flow="sleepy", seconds=60)
        async for entry in run:
            if entry.event.type == "question_asked":
                break
        await run.pause()
        assert (await run.answer()).status is RunStatus.PAUSED
        run = await lead.resume(run.run_id)
        await run.cancel()
        assert (await run.answer()).status is RunStatus.CANCELLED


# --- signals ---------------------------------------------------------------------------------------------------------


@flow
async def paying(run: FlowContext, timeout: float | None = None) -> str:
    """Wait for two payments."""
    first = await run.wait_for("paid", timeout)
    second = await run.wait_for("paid", timeout)
    return json.dumps([first, second])


async def until_it_waits(run: Any, count: int = 1) -> None:
    async for entry in run:
        count -= entry.event.type == "question_asked"
        if not count:
            return


async def test_each_signal_is_received_once_in_order(tmp_path: Path) -> None:
    async with Lives(tmp_path).life(paying) as lead:
        run = await lead.start("go", flow="paying")
        await until_it_waits(run)
        await lead.signal(run.run_id, "other", 1)
        await lead.signal(run.run_id, "paid", {"amount": 12.5})
        await run.signal("paid")
        answer = await run.answer()
        assert (answer.status, json.loads(answer.text)) == (RunStatus.SUCCEEDED, [{"amount": 12.5}, None])
        with pytest.raises(UsageError):
            await run.signal("paid")
        log = await log_of(lead, run.run_id)
    assert wrong_prefixes(paying, log, run.run_id) == []


async def test_a_signal_that_comes_before_the_flow_waits_is_kept_for_it(tmp_path: Path) -> None:
    @flow
    async def later(run: FlowContext) -> str:
        await run.ask(a)
        found = await run.gather([run.wait_for("paid"), run.wait_for("paid")])
        return json.dumps(found)

    from leadhand.testing.scripted_model import says

    lives = Lives(tmp_path, lambda worker, given: says("x").after(0.2))
    async with lives.life(later) as lead:
        run = await lead.start("go", flow="later")
        await lives.until_asked()
        for number in (1, 2, 3):
            await run.signal("paid", number)
        answer = await run.answer()
        state = replay(run.run_id, await log_of(lead, run.run_id))
    assert json.loads(answer.text) == [1, 2]
    assert state.signals["paid"] == (3,)


async def test_a_signal_is_sent_while_no_process_drives_the_run(tmp_path: Path) -> None:
    lives = Lives(tmp_path)
    async with lives.life(paying) as lead:
        run = await lead.start("go", flow="paying")
        await until_it_waits(run)
    async with lives.life(paying) as lead:
        await lead.signal(run.run_id, "paid", 1)
        await lead.signal(run.run_id, "paid", 2)
    async with lives.life(paying) as lead:
        answer = await (await lead.resume(run.run_id)).answer()
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "[1, 2]")


async def test_a_signal_that_does_not_come_in_time_is_none(tmp_path: Path) -> None:
    async with Lives(tmp_path).life(paying) as lead:
        run = await lead.start("go", flow="paying", timeout=0.3)
        await until_it_waits(run)
        await run.signal("paid", 1)
        assert (await run.answer()).text == "[1, null]"


# --- people ----------------------------------------------------------------------------------------------------------


@flow
async def patient(run: FlowContext, timeout: float = 0.5) -> str:
    """Ask a person who may be away."""
    return await run.person("Where?", ["Oslo", "Rome"], timeout=timeout, default="Oslo")


async def test_a_question_that_nobody_answers_in_time_has_its_default(tmp_path: Path) -> None:
    lives = Lives(tmp_path)
    async with lives.life(patient) as lead:
        run = await lead.start("go", flow="patient")
        assert (await run.answer()).status is RunStatus.WAITING
    await asyncio.sleep(0.5)
    async with lives.life(patient) as lead:
        run = await lead.resume(run.run_id)
        answer = await run.answer()
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "Oslo")


async def test_a_question_that_is_answered_in_time_has_the_answer(tmp_path: Path) -> None:
    async with Lives(tmp_path).life(patient) as lead:
        run = await lead.start("go", flow="patient", timeout=60)
        await run.wait()
        with pytest.raises(UsageError, match="Choose from: Oslo, Rome"):
            await run.reply("Bergen")
        await run.reply("rome")
        assert (await run.answer()).text == "Rome"


async def test_a_timer_goes_on_while_a_person_is_asked(tmp_path: Path) -> None:
    @flow
    async def both(run: FlowContext) -> Any:
        async def reminded() -> Any:
            await run.sleep(0.2)
            return await run.ask(a, n=1)

        return str(await run.gather([run.person("Where?"), reminded()]))

    lives = Lives(tmp_path)
    async with lives.life(both) as lead:
        run = await lead.start("go", flow="both")
        await lives.until_asked()
        assert (await run.answer()).status is RunStatus.WAITING
        await run.reply("Oslo")
        assert (await run.answer()).status is RunStatus.SUCCEEDED
