"""``map``: one worker for many inputs, in one run; the results have the order of the inputs."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from pydantic import BaseModel

from leadhand import Leadhand, Limits, RunStatus, UsageError, Worker, tool
from leadhand.core.events import StepIssued
from leadhand.core.evolve import replay
from leadhand.flows.seam.run import FunctionRun
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, all_confirmed, brief_of, calls, fails, gives, says


class Length(BaseModel):
    length: int


@tool
def count(text: str) -> int:
    """Count the letters of a text."""
    return len(text)


ECHO = Worker("echo", "Repeat it.", tools=())


def repeated(request: ModelRequest) -> Step:
    """The input, after a moment of another length for each; what begins with "bad" fails for good."""
    given = brief_of(request)["input"]
    if str(given).startswith("bad"):
        return fails("invalid", "refused", f"{given} is bad")
    return says(f"<{given}>").after(random.random() * 0.01)


def lead_of(home: Path, models: Any = None, **settings: Any) -> Leadhand:
    return leadhand_of(models=models or ScriptedModel().on(lambda _: True, always=repeated), home=home, **settings)


def texts(results: Iterable[Any]) -> list[str | None]:
    return [each.text if each.ok else None for each in results]


async def last(lead: Leadhand) -> Any:
    (run,) = await lead.runs(limit=1)
    return await lead.get(run.run_id)


def test_results_have_the_order_of_the_inputs_and_failed_ones_are_not_ok(tmp_path: Path) -> None:
    results = lead_of(tmp_path).map_sync(ECHO, ["one", "bad", "three"])
    assert texts(results) == ["<one>", None, "<three>"]
    assert results[1].failure is not None
    assert results[1].failure.type == "refused"


async def test_a_run_without_a_single_result_has_failed(tmp_path: Path) -> None:
    async with lead_of(tmp_path) as lead:
        for items, status in ((["bad", "bad 2"], RunStatus.FAILED), (["bad", "one"], RunStatus.PARTIAL)):
            assert len([each async for each in lead.map(ECHO, items)]) == len(items)
            (run,) = await lead.runs(limit=1)
            assert run.status is status
            assert len((await (await lead.get(run.run_id)).answer()).gaps) == sum(
                each.startswith("bad") for each in items
            )


async def test_they_arrive_while_the_others_are_at_work(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def late(request: ModelRequest) -> Step:
        if brief_of(request)["input"] == "three":
            await gate.wait()
        return repeated(request)

    async with lead_of(tmp_path, ScriptedModel().on(lambda _: True, always=late)) as lead:
        found: list[str] = []
        async for each in lead.map(ECHO, _asynchronous("one", "two", "three")):
            found.append(each.text)
            if len(found) == 2:
                gate.set()
    assert found == ["<one>", "<two>", "<three>"]


async def _asynchronous(*items: str) -> AsyncIterator[str]:
    for each in items:
        yield each


async def test_it_is_one_run_in_which_each_input_is_a_step(tmp_path: Path) -> None:
    async with lead_of(tmp_path) as lead:
        _ = [each async for each in lead.map(ECHO, ["one", "bad", "one"], name="nightly")]
        document = await (await last(lead)).document()
    assert (document["flow"], document["status"], document["name"]) == ("map", "partial", "nightly")
    assert [each["title"] for each in document["steps"]] == ["echo 1", "echo 2", "echo 3"]
    assert document["value"] == ["<one>", None, "<one>"]
    assert [each["step"] for each in document["gaps"]] == ["echo-2"]


async def test_values_are_typed_and_tools_are_the_workers_own(tmp_path: Path) -> None:
    def measured(request: ModelRequest) -> Step:
        text = brief_of(request)["input"]
        return gives({"length": len(text)}) if len(request.messages) > 2 else calls("count", text=text)

    worker = Worker("ruler", "Measure it.", tools=[count], output=Length)
    async with lead_of(tmp_path, ScriptedModel().on(lambda _: True, always=measured), tools=[]) as lead:
        results = [each async for each in lead.map(worker, ["a", "bbb"])]
        document = await (await last(lead)).document()
    assert [each.value for each in results] == [Length(length=1), Length(length=3)]
    assert document["value"] == [{"length": 1}, {"length": 3}]


async def test_objects_are_the_fields_of_the_input(tmp_path: Path) -> None:
    models = ScriptedModel().on(lambda _: True, always=says("Done."))
    async with lead_of(tmp_path, models, max_workers=1) as lead:
        _ = [each async for each in lead.map(ECHO, [{"city": "Paris"}, Length(length=3), 7, [1], {}])]
    shown = [brief_of(each) for each in models.requests]
    assert shown == [{"city": "Paris"}, {"length": 3}, {"input": 7}, {"input": [1]}, {"input": {}}]


@pytest.mark.parametrize("items", [[], "text", 5, {"a": 1}, [object()], [float("nan")]])
async def test_inputs_that_cannot_be_used_are_refused(tmp_path: Path, items: Any) -> None:
    async with lead_of(tmp_path, ScriptedModel()) as lead:
        with pytest.raises(UsageError):
            _ = [each async for each in lead.map(ECHO, items)]
        assert await lead.runs() == []


async def test_inputs_have_to_fit_the_input_schema_of_the_worker(tmp_path: Path) -> None:
    worker = Worker("own", "Grade it.", input={"type": "object", "required": ["deck"]}, tools=())
    async with lead_of(tmp_path, ScriptedModel()) as lead:
        with pytest.raises(UsageError, match="input 2"):
            _ = [each async for each in lead.map(worker, [{"deck": "a"}, {"dek": "b"}])]


@pytest.mark.parametrize("judged", [True, False])
async def test_results_are_judged_only_if_that_is_asked_for(tmp_path: Path, judged: bool) -> None:
    models = ScriptedModel(judge=all_confirmed, lenient=True)
    models.on(lambda request: request.worker == "ruler" and len(request.messages) < 3, always=calls("count", text="ab"))
    models.on(lambda request: request.worker == "ruler", always=says("It has 2 letters."))
    worker = Worker("ruler", "Measure it.", tools=[count])
    async with lead_of(tmp_path, models, check="judge") as lead:
        given: dict[str, Any] = {"check": "judge"} if judged else {}
        _ = [each async for each in lead.map(worker, ["ab", "cd"], **given)]
        document = await (await last(lead)).document()
    assert bool(models.asked("judge")) is judged
    assert (document["evidence"]["judged_by"] is not None) is judged


async def test_what_a_limit_ends_has_no_result(tmp_path: Path) -> None:
    async with lead_of(tmp_path, max_workers=1) as lead:
        results = [each async for each in lead.map(ECHO, ["a", "b", "c", "d"], limits=Limits(max_requests=2))]
        assert [each.ok for each in results].count(True) <= 2
        assert all(each.failure is not None for each in results if not each.ok)
        with pytest.raises(UsageError, match="max_request"):
            _ = [each async for each in lead.map(ECHO, ["a"], limits=Limits(max_request=2))]


async def test_a_failed_input_can_be_retried(tmp_path: Path) -> None:
    failing = [fails("invalid", "refused", "bad")]
    models = ScriptedModel().on(lambda request: brief_of(request)["input"] == "b", *failing, always=repeated)
    models.on(lambda _: True, always=repeated)
    async with lead_of(tmp_path, models) as lead:
        results = [each async for each in lead.map(ECHO, ["a", "b", "c"])]
        run = await last(lead)
        await run.retry()
        answer = await run.answer()
    assert texts(results) == ["<a>", None, "<c>"]
    assert (answer.status, answer.document["value"]) == (RunStatus.SUCCEEDED, ["<a>", "<b>", "<c>"])
    assert len(models.requests) == 4


async def test_a_thousand_inputs(tmp_path: Path) -> None:
    items = [f"input {number}" for number in range(1_000)]
    async with lead_of(tmp_path) as lead:
        results = [each async for each in lead.map(ECHO, items)]
    assert texts(results) == [f"<{each}>" for each in items]


async def test_wherever_the_log_ends_a_new_pass_asks_for_exactly_its_steps(tmp_path: Path) -> None:
    """Equal inputs are told apart by their place."""
    async with lead_of(tmp_path, max_workers=3) as lead:
        _ = [each async for each in lead.map(ECHO, ["a", "b", "a", "bad", "a", "b"])]
        run = await last(lead)
        entries = [each async for each in run]
        flow: Any = (await lead.runtime()).flows.of(run.state.definition)
    issued = [each.event.step.step_id for each in entries if isinstance(each.event, StepIssued)]
    assert issued == ["echo", *(f"echo-{number}" for number in range(2, 7))]
    for end in range(1, len(entries) + 1):
        state = replay(run.run_id, entries[:end])
        asked = FunctionRun(flow, state.definition).advanced(state)
        assert (list(asked.steps), asked.strays) == (issued, []), f"after {end} events"
        asked.close()


def test_it_is_json_that_can_be_given_on(tmp_path: Path) -> None:
    results = lead_of(tmp_path).map_sync(ECHO, ["a"])
    assert json.loads(json.dumps([each.value or each.text for each in results])) == ["<a>"]
