"""Questions of runs in Python: a run that asks waits, and a reply from any process continues it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from refusals import refused

from leadhand import Leadhand, NoSuchRun, RunStatus, ToolReturn, UsageError, tool
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, gives, plans, subtask

QUESTION = "Which city do you mean?"


@tool
async def measure(place: str) -> ToolReturn:
    """Measure the noise at a place."""
    return ToolReturn(summary=f"{place}: 40 dB")


def plan(request: ModelRequest) -> Step:
    """Ask which city is meant, and whether that is certain; then measure there."""
    answers = brief_of(request).get("answered", [])
    if len(answers) < 2:
        return gives({"question": "Are you sure?" if answers else QUESTION})
    return plans(subtask("measure", "measure", place=answers[0]["answer"]))


def asking(home: Path, model: ScriptedModel | None = None, **settings: Any) -> Leadhand:
    scripted = model or ScriptedModel(plan=plan, lenient=True)
    return leadhand_of(models=scripted, tools=[measure], home=home, **settings)


async def test_replies_continue_a_run_that_asks_and_the_plan_has_all_of_them(home: Path) -> None:
    model = ScriptedModel(plan=plan, lenient=True)
    async with asking(home, model) as lead:
        run = await lead.start("How loud is it there?")
        waiting = await run.answer()
        assert (waiting.status, waiting.text) == (RunStatus.WAITING, "")
        assert waiting.question is not None
        assert waiting.question.text == QUESTION
        assert QUESTION in str(waiting)
        assert [each.action for each in waiting.outcome.actions] == ["answer"]
        await run.reply(" Lyon ")
        second = await run.answer()
        assert second.question is not None
        assert second.question.id != waiting.question.id
        await lead.reply(run.run_id, "Yes")
        answer = await run.answer()
    assert (answer.status, answer.text, answer.question) == (RunStatus.SUCCEEDED, "Lyon: 40 dB", None)
    answered = brief_of(model.asked("plan")[-1])["answered"]
    assert answered == [{"question": QUESTION, "answer": "Lyon"}, {"question": "Are you sure?", "answer": "Yes"}]


async def test_a_reply_from_another_process_counts_and_the_run_continues_where_it_is_resumed(home: Path) -> None:
    async with asking(home) as lead:
        run_id = (await lead.run("How loud is it there?")).run_id
    async with Leadhand(home=home, model="offline") as without_the_tools:
        await without_the_tools.reply(run_id, "Lyon")
        with refused(UsageError, run_id):
            await without_the_tools.reply(run_id, "Nice")
    async with asking(home) as lead:
        assert (await (await lead.resume(run_id)).answer()).question is not None, "the second question"
        await lead.reply(run_id, "Yes")
        answer = await (await lead.get(run_id)).answer()
    assert answer.text == "Lyon: 40 dB"


async def test_what_cannot_be_answered_is_refused(home: Path) -> None:
    async with asking(home) as lead:
        run = await lead.start("How loud is it there?")
        await run.wait()
        for given in ("", " \n", "x" * 10_001, 5):
            with refused(UsageError):
                await run.reply(given)  # type: ignore[arg-type]
        with pytest.raises(NoSuchRun):
            await lead.reply("run_none", "Lyon")
        await run.cancel()
        assert (await run.answer()).outcome.actions == ()
        with refused(UsageError, run.run_id, "cancelled"):
            await run.reply("Lyon")
