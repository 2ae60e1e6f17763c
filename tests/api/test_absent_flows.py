"""Runs whose flow is not in the process: they can be stopped, and nothing that is refused stays in their log."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from api.absent import orphaned, three
from server.doors import door

from leadhand import ConfigurationError, Leadhand, RunStatus, UsageError
from leadhand.app.steering import operator
from leadhand.cli.app import main
from leadhand.core.events import RunRequested, StepRequested
from leadhand.core.run import ENDED
from leadhand.flows import FlowContext, flow
from leadhand.hooks import BeforeAnswer, Block, before_answer
from leadhand.testing.scripted_model import ScriptedModel


async def types(lead: Leadhand, run_id: str) -> list[str]:
    return [entry.event.type for entry in await (await lead.runtime()).store.read(run_id)]


@pytest.mark.parametrize("verb", ["retry", "skip", "supply", "resume", "attach", "fork"])
async def test_a_request_that_needs_the_flow_is_refused_before_it_is_recorded(tmp_path: Path, verb: str) -> None:
    run_id = await orphaned(tmp_path)
    async with Leadhand(models=ScriptedModel([]), home=tmp_path) as lead:
        before, runtime = await types(lead, run_id), await lead.runtime()
        asked = {
            "retry": partial(operator.want, runtime, run_id, operator.retry(by="me", subtasks=["bad"])),
            "skip": partial(operator.want, runtime, run_id, operator.skip(by="me", subtask="slow")),
            "supply": partial(operator.want, runtime, run_id, operator.supply(by="me", subtask="slow", summary="text")),
            "resume": partial(lead.resume, run_id),
            "attach": partial(lead.attach, run_id),
            "fork": partial(lead.fork, run_id, len(before)),
        }
        with pytest.raises(ConfigurationError, match="the flow three"):
            await asked[verb]()
        assert await types(lead, run_id) == before
        assert (await runtime.store.run(run_id)).owner is None


async def document(run_id: str, home: Path) -> dict[str, Any]:
    async with Leadhand(models=ScriptedModel([]), home=home) as lead:
        return (await (await lead.runtime()).document(run_id)).as_json()


async def test_a_run_is_cancelled_from_the_command_line_without_its_flow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = await orphaned(tmp_path)
    assert await asyncio.to_thread(main, ["runs", "cancel", run_id, "--home", str(tmp_path)]) == 0
    assert run_id in capsys.readouterr().err
    ended = await document(run_id, tmp_path)
    assert (ended["status"], ended["owner"]) == ("cancelled", None)
    assert "the good answer" in ended["answer"]
    assert {gap["step"]: gap["class"] for gap in ended["gaps"]} == {"bad": "invalid", "slow": "rejected"}


@before_answer
def no_answers(answer: BeforeAnswer) -> Block:
    return Block("confidential")


@pytest.mark.parametrize("here", [True, False])
async def test_a_run_that_is_cancelled_without_its_flow_does_not_show_what_its_hooks_block(
    tmp_path: Path, here: bool
) -> None:
    """A hook that is not in this process either blocks everything."""
    run_id = await orphaned(tmp_path, hooks=[no_answers])
    async with Leadhand(models=ScriptedModel([]), home=tmp_path, hooks=[no_answers] if here else []) as lead:
        runtime = await lead.runtime()
        listing = await runtime.store.run(run_id)
        assert (
            await operator.stop(runtime, listing, RunRequested(what="cancel", by="me"), until=ENDED)
            is RunStatus.CANCELLED
        )
        ended = (await runtime.document(run_id)).as_json()
    assert "the good answer" not in ended["answer"]
    assert ("confidential" in ended["answer"]) is here
    assert no_answers.name in ended["answer"]


async def test_a_run_is_paused_without_its_flow_and_resumed_with_it(tmp_path: Path) -> None:
    run_id = await orphaned(tmp_path)
    assert await asyncio.to_thread(main, ["runs", "pause", run_id, "--home", str(tmp_path)]) == 0
    assert (await document(run_id, tmp_path))["status"] == "paused"

    models = ScriptedModel(["the slow answer"])
    async with Leadhand(models=models, flows=[three], home=tmp_path) as lead:
        answer = await (await lead.resume(run_id)).answer()
    assert answer.status is RunStatus.PARTIAL
    assert answer.text.split("\n\n")[:2] == ["the good answer", "the slow answer"]
    assert [gap.step for gap in answer.gaps] == ["bad"]


@pytest.mark.parametrize(("what", "status"), [("cancel", RunStatus.CANCELLED), ("pause", RunStatus.PAUSED)])
async def test_an_undecided_request_does_not_keep_a_run_without_its_flow_from_being_stopped(
    tmp_path: Path, what: Literal["cancel", "pause"], status: RunStatus
) -> None:
    run_id = await orphaned(tmp_path)
    async with Leadhand(models=ScriptedModel([]), home=tmp_path) as lead:
        runtime = await lead.runtime()
        await runtime.log(run_id).append(StepRequested(what="skip", steps=("slow",), by="me"))
        listing = await runtime.store.run(run_id)
        asked = RunRequested(what=what, by="me")
        assert await operator.stop(runtime, listing, asked, until={*ENDED, RunStatus.PAUSED}) is status


async def test_a_paused_run_is_cancelled_from_python_at_once_even_without_its_flow(tmp_path: Path) -> None:
    run_id = await orphaned(tmp_path)
    assert await asyncio.to_thread(main, ["runs", "pause", run_id, "--home", str(tmp_path)]) == 0
    async with Leadhand(models=ScriptedModel([]), home=tmp_path) as lead:
        run = await lead.attach(run_id)
        await run.cancel()
        assert (await run.document())["status"] == "cancelled"


async def test_a_run_whose_flow_no_longer_takes_its_options_can_be_cancelled(tmp_path: Path) -> None:
    run_id = await orphaned(tmp_path)

    @flow(name="three")
    async def changed(run: FlowContext) -> str:
        return ""

    async with Leadhand(models=ScriptedModel([]), flows=[changed], home=tmp_path) as lead:
        with pytest.raises(UsageError) as refused:
            await lead.resume(run_id)
        assert refused.value.field == "options.style"
        runtime = await lead.runtime()
        listing = await runtime.store.run(run_id)
        assert listing.owner is None
        status = await operator.stop(runtime, listing, RunRequested(what="cancel", by="me"), until=ENDED)
    assert status is RunStatus.CANCELLED


async def test_over_http_a_run_without_its_flow_is_not_steered_but_cancelled(tmp_path: Path) -> None:
    run_id = await orphaned(tmp_path)
    async with door(tmp_path, models=ScriptedModel([])) as api:
        before = len(await api.events(run_id))
        refused = await api.post(f"/api/runs/{run_id}/skip", {"subtask": "slow"})
        assert (refused.status_code, refused.json()["code"]) == (409, "configuration")
        assert len(await api.events(run_id)) == before
        cancelled = await api.post(f"/api/runs/{run_id}/cancel")
        assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelled")
        assert "the good answer" in cancelled.json()["answer"]
