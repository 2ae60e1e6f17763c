"""Time and randomness in an input, beside a step that has acted: nothing is done a second time without a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.seam.killing import Theatre
from flows.seam.lives import Lives, a, cut, log_of
from leadhand import Leadhand, RunStatus, tool
from leadhand.core.evolve import replay
from leadhand.flows import FlowContext, flow
from leadhand.testing.scripted_model import ScriptedModel, says


async def killed_while_it_sends(theatre: Theatre, flow: str) -> str:
    async with theatre.life(flow=flow, mail_s=30.0, delay_s=0.0) as life:
        run_id: str = (await life.said())["run_id"]
        await theatre.until("sent", 1, life)
        await life.kill()
    return run_id


async def replied(theatre: Theatre, run_id: str, text: str) -> None:
    async with Leadhand(home=theatre.folder / "home", models=ScriptedModel()) as lead:
        await lead.reply(run_id, text)


@pytest.mark.parametrize("flow", ["mails", "posts", "orders"])
async def test_what_may_have_acted_is_not_done_again_with_another_input_before_a_person_says_so(
    flow: str, tmp_path: Path
) -> None:
    theatre = Theatre(tmp_path)
    run_id = await killed_while_it_sends(theatre, flow)
    async with theatre.life(resume=run_id, delay_s=0.0) as life:
        await life.said()
        waits = await life.said()
    assert waits["status"] == "waiting"
    assert waits["question"]["choices"] == ["continue", "stop"]
    assert " of child.py" in waits["question"]["text"]
    assert theatre.noted("sent") == ["bob"]

    async with theatre.life(resume=run_id, delay_s=0.0) as life:  # nobody has answered
        await life.said()
        assert (await life.said())["question"] == waits["question"]
    assert theatre.noted("sent") == ["bob"]

    await replied(theatre, run_id, "stop")
    async with theatre.life(resume=run_id, delay_s=0.0) as life:
        await life.said()
        stopped = await life.said()
    assert stopped["failure"]["type"] == "diverged"
    assert theatre.noted("sent") == ["bob"]


@pytest.mark.parametrize("flow", ["mails", "posts", "orders"])
async def test_if_the_person_says_continue_the_new_step_is_carried_out_and_nobody_is_asked_again(
    flow: str, tmp_path: Path
) -> None:
    theatre = Theatre(tmp_path)
    run_id = await killed_while_it_sends(theatre, flow)
    async with theatre.life(resume=run_id, delay_s=0.0) as life:
        await life.said()
        assert (await life.said())["status"] == "waiting"
    await replied(theatre, run_id, "continue")
    async with theatre.life(resume=run_id, delay_s=0.0) as life:
        await life.said()
        ended = await life.said()
    assert ended["status"] == "succeeded"
    assert theatre.noted("sent") == ["bob", "bob"]
    finished = replay(run_id, await theatre.log(run_id)).finished
    assert finished is not None
    assert finished.left_out
    assert not finished.gaps


async def test_steps_without_effects_are_done_again_with_a_note_that_names_the_line(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.life(flow="rolls", delay_s=0.05) as life:
        run_id: str = (await life.said())["run_id"]
        await theatre.until("asked", 3, life)
        await life.kill()
    async with theatre.life(resume=run_id, delay_s=0.0) as life:
        await life.said()
        assert (await life.said())["status"] == "succeeded"
    notes = [each.event.message for each in await theatre.log(run_id) if each.event.type == "note_emitted"]
    (note,) = notes
    assert " of child.py" in note
    assert "researcher-" in note


async def test_a_call_that_is_asked_for_again_with_the_same_input_is_settled_by_a_person(tmp_path: Path) -> None:
    """Without a clock in its input, the question is about the call itself, as in any flow."""

    @tool(effect="once", approval="auto")
    def send(to: str) -> str:
        """Send something."""
        raise SystemExit

    @flow
    async def sends(run: FlowContext) -> Any:
        return f"done: {await run.call('send', to='bob')}"

    lives = Lives(tmp_path, lambda worker, given: says("x"), tools=[send], approve="auto")
    async with lives.life(sends) as lead:
        run = await lead.start("go", flow="sends")
        await run.wait()
        log = await log_of(lead, run.run_id)
        began = next(each.seq for each in log if each.event.type == "tool_call_began")
        await cut(lead, log[:began], "cut")
        again = await lead.resume("cut")
        await again.wait()
        (asked,) = await again.approvals()
        assert asked.approval.kind == "effect"
        await again.settle_effect(asked, happened=True, summary="it was sent")
        answer = await again.answer()
    assert answer.text == "done: it was sent"


async def test_a_changed_flow_that_asks_for_an_interrupted_call_again_leaves_the_question_about_it_open(
    tmp_path: Path,
) -> None:
    @tool(effect="once", approval="auto")
    def send(text: str) -> str:
        """Send something."""
        raise SystemExit

    def sending(**more: str) -> Any:
        @flow(name="sends")
        async def sends(run: FlowContext) -> Any:
            draft = await run.ask(a, **more)
            return f"done: {await run.call('send', text=draft.text)}"

        return sends

    lives = Lives(tmp_path, lambda worker, given: says("the same text"), tools=[send], approve="auto")
    async with lives.life(sending()) as lead:
        run = await lead.start("go", flow="sends")
        await run.wait()
        log = await log_of(lead, run.run_id)
        began = next(each.seq for each in log if each.event.type == "tool_call_began")
        await cut(lead, log[:began], "cut")
    async with lives.life(sending(tone="warm")) as lead:  # one more input before the call
        again = await lead.resume("cut")
        assert (await again.wait()).unanswered
        await again.reply("continue")
        await again.wait()
        (asked,) = await again.approvals()
        assert asked.approval.kind == "effect"
        await again.settle_effect(asked, happened=True, summary="it was sent")
        answer = await again.answer()
    assert (answer.status, answer.text, answer.gaps) == (RunStatus.SUCCEEDED, "done: it was sent", ())


@pytest.mark.parametrize("reply", ["continue", "stop"])
async def test_a_retry_before_a_step_that_has_acted_asks_before_it_acts_with_other_arguments(
    reply: str, tmp_path: Path
) -> None:
    sent: list[str] = []

    @tool(effect="once", approval="auto")
    def send(text: str) -> str:
        """Send something."""
        sent.append(text)
        return f"sent {text}"

    @flow
    async def sends(run: FlowContext) -> Any:
        draft = await run.ask(a)
        return await run.call("send", text=draft.text)

    drafts = iter(["one", "two"])
    async with Lives(tmp_path, lambda worker, given: says(next(drafts)), tools=[send]).life(sends) as lead:
        run = await lead.start("go", flow="sends")
        assert (await run.answer()).text == "sent one"
        await run.retry(["a"])
        waits = await run.answer()
        assert (waits.status, waits.question.choices) == (RunStatus.WAITING, ("continue", "stop"))
        await run.reply(reply)
        answer = await run.answer()
    assert sent == (["one", "two"] if reply == "continue" else ["one"])
    assert answer.status is (RunStatus.SUCCEEDED if reply == "continue" else RunStatus.PARTIAL)
    assert [call.event_id for call in answer.done]
