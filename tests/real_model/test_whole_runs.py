"""Whole runs in which a weak model plans, works, reviews and composes: whatever it writes, the run is honest."""

from __future__ import annotations

from leads import leadhand_of

from leadhand import Leadhand, Limits
from leadhand.core.events import ModelCallBegan
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask
from real_model.conftest import Record
from real_model.honesty import check_plans, finished
from real_model.servers import MODEL, ModelServer


def tide(port: str) -> str:
    """Tell when high tide is at a port today."""
    return f"High tide at {port} is at 11:42."


async def test_a_plan_of_a_server_with_grammars_fits_its_schema_or_was_cut_off(server: ModelServer, record: Record):
    recorder = await record(server)
    async with Leadhand(MODEL, tools=[tide], limits=Limits(max_output_tokens=96, max_requests=4)) as lead:
        document, entries = await finished(await lead.start("When is high tide in Dover?"), recorder)

    assert recorder.sent[0]["response_format"]["type"] == "json_schema"
    check_plans(entries)
    assert 1 <= len(recorder.sent) == document["usage"]["requests"] <= 4
    assert recorder.most_at_once <= 2


async def test_a_server_that_refuses_grammars_is_asked_without_one(server: ModelServer, record: Record):
    recorder = await record(server, grammar=False)
    async with Leadhand(MODEL, tools=[tide], limits=Limits(max_output_tokens=48, max_requests=5)) as lead:
        document, _ = await finished(await lead.start("When is high tide in Dover?"), recorder)

    assert recorder.refused == 1, "it is remembered"
    assert recorder.sent
    assert all("response_format" not in body for body in recorder.sent)
    assert document["usage"]["requests"] == recorder.refused + len(recorder.sent) <= 5


async def test_a_window_that_is_too_small_for_a_plan_is_the_reason_of_a_failed_run(
    small_server: ModelServer, record: Record
):
    recorder = await record(small_server)
    async with Leadhand(MODEL, tools=[tide], limits=Limits(max_output_tokens=96)) as lead:
        document, _ = await finished(await lead.start("When is high tide in Dover?"), recorder)

    assert document["status"] == "failed"
    assert document["failure"]["class"] == "too_large"
    assert "--ctx-size" in document["failure"]["next_action"]
    assert recorder.tokens == 0, "the server read none of it"


async def test_a_run_succeeds_only_if_the_real_worker_of_a_given_plan_completed(server: ModelServer, record: Record):
    """The plan, the review and the answer are given. The worker is real."""
    recorder = await record(server)
    script = ScriptedModel(plan=[plans(subtask("tide_dover", "tide", port="Dover"))], lenient=True)
    lead_model = "script:lead"
    async with leadhand_of(
        models={"script": script},
        tools=[tide],
        worker_calls="always",
        model={"default": MODEL, "lead": lead_model, "review": lead_model},
        limits=Limits(max_output_tokens=48, allow_unknown_price=True),
    ) as lead:
        document, entries = await finished(await lead.start("When is high tide in Dover?"))

    called = [entry.event.model for entry in entries if isinstance(entry.event, ModelCallBegan)]
    assert called.count(MODEL) == len(recorder.sent) >= 1
    (state,) = document["work_states"]
    completed = state["subtask_state"]["0"]["status"] == "completed"
    assert (document["status"] != "failed") is completed
