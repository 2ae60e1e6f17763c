"""The Python door: run, run_sync, start, iterate, attach, resume; on both databases."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from kept import kept_in
from leads import leadhand_of

from leadhand import Answer, ConfigurationError, Leadhand, NoSuchRun, RunStatus, ToolReturn, UsageError, tool
from leadhand.app.export.run_document import run_document
from leadhand.testing.scripted_model import ScriptedModel
from leadhand.testing.steps import plans, reviews, says, subtask

QUESTION = "What's the weather in Paris tomorrow, and how do I get from the Louvre to Orly airport?"


def test_run_sync_answers_both_questions_offline_with_their_sources(home: Path) -> None:
    answer = Leadhand(model="offline", home=home).run_sync(QUESTION)
    assert answer.status is RunStatus.SUCCEEDED
    assert "Paris" in str(answer)
    assert "Orly" in str(answer)
    assert "offline" in str(answer)
    assert len(answer.sources) == 2
    events = {event["event_id"]: event for event in answer.document["context_store"]["events"]}
    assert {source.event_id for source in answer.sources} <= set(events)


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        ("What is the weather in Paris?", 1),
        ("How do I get from the Louvre to Orly airport?", 1),
        (QUESTION, 2),
        ("Weather in Paris, Lyon, Nice, Lille and Marseille", 5),
        (
            (
                "Directions from Paris to Lyon, from Berlin to Munich and from Rome to Milan,"
                " and the weather in Oslo, Madrid, Vienna and Prague"
            ),
            7,
        ),
    ],
)
def test_a_question_becomes_as_many_subtasks_as_it_has_parts(home: Path, request_: str, count: int) -> None:
    document = Leadhand(model="offline", home=home).run_sync(request_).document
    assert [len(order["subtasks"]) for order in document["work_orders"]] == [count]
    assert document["work_state"]["completed"] is True


@pytest.mark.parametrize(
    ("request_", "status"),
    [("Weather in Paris, and book me a table", RunStatus.PARTIAL), ("Book me a table", RunStatus.FAILED)],
)
def test_what_no_tool_covers_is_a_gap_and_the_rest_is_answered(home: Path, request_: str, status: RunStatus) -> None:
    answer = Leadhand(model="offline", home=home).run_sync(request_)
    assert answer.status is status
    assert [gap.class_ for gap in answer.gaps] == ["unavailable"]
    assert answer.gaps[0].next_action
    assert bool(answer.sources) is (status is RunStatus.PARTIAL)


async def test_run_sync_works_where_a_loop_is_running_as_in_a_notebook(home: Path) -> None:
    answer = Leadhand(model="offline", home=home).run_sync("What is the weather in Oslo?")
    assert answer.status is RunStatus.SUCCEEDED


async def test_iterating_over_a_run_yields_every_event_once_and_ends_with_it(home: Path) -> None:
    async with Leadhand(model="offline", home=home) as lead:
        run = await lead.start(QUESTION)
        seen = [entry async for entry in run]
        assert [entry.seq for entry in seen] == list(range(1, len(seen) + 1))
        assert seen[0].event.type == "run_started"
        assert seen[-1].event.type == "run_finished"
        again = await lead.attach(run.run_id)
        assert [entry async for entry in again] == seen


async def test_attaching_to_a_finished_run_gives_its_answer_again(home: Path) -> None:
    async with Leadhand(model="offline", home=home) as lead:
        first = await lead.run(QUESTION)
        again = await (await lead.attach(first.run_id)).answer()
        assert again.document == first.document
        with pytest.raises(UsageError):
            await lead.resume(first.run_id)
        with pytest.raises(NoSuchRun):
            await lead.attach("run_nobody_made")


async def test_a_paused_run_keeps_what_is_finished_and_goes_on_when_resumed(home: Path, lead_of: Any, url: str) -> None:
    """A pause costs no retry, and a finished subtask is not run again, here or in the process that resumes."""
    made: list[int] = []
    go_on = asyncio.Event()

    @tool
    async def step(n: int) -> ToolReturn:
        """One step; the second waits for a sign."""
        made.append(n)
        if n == 1:
            await go_on.wait()
        return ToolReturn(raw=n, summary=f"step {n}")

    models = lead_of("step", [{"n": 0}, {"n": 1}])
    async with Leadhand(models=models, tools=[step], home=home, store=url) as lead:
        run = await lead.start("two steps")
        async for entry in run:
            if entry.event.type == "step_settled" and entry.event.subject.startswith("wo-001.0"):
                await run.pause("for the test")
        answer = await run.answer()
        assert answer.status is RunStatus.PAUSED
        assert answer.document["owner"] is None
    go_on.set()
    async with Leadhand(models=models, tools=[step], home=home, store=url) as lead:
        answer = await (await lead.resume(answer.run_id)).answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert sorted(made) == [0, 1, 1]
    assert answer.text == "step 0; step 1"


async def test_a_run_whose_process_let_go_of_it_is_an_orphan_and_attaching_goes_on_with_it(
    home: Path, lead_of: Any
) -> None:
    made: list[int] = []
    begun = asyncio.Event()

    @tool
    async def step(n: int) -> ToolReturn:
        """One step; the second hangs the first time."""
        made.append(n)
        if n == 1 and made.count(1) == 1:
            begun.set()
            await asyncio.Event().wait()
        return ToolReturn(raw=n, summary=f"step {n}")

    models = lead_of("step", [{"n": 0}, {"n": 1}])
    async with Leadhand(models=models, tools=[step], home=home) as lead:
        run = await lead.start("two steps")
        async for entry in run:
            if entry.event.type == "step_settled" and entry.event.subject.startswith("wo-001.0"):
                await begun.wait()
                break
        run_id = run.run_id
    async with Leadhand(models=models, tools=[step], home=home) as lead:
        listing = await (await lead.runtime()).store.run(run_id)
        assert listing.orphan
        assert listing.owner is None
        answer = await (await lead.attach(run_id)).answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert sorted(made) == [0, 1, 1]


async def test_cancelling_ends_the_run_at_once_and_keeps_what_is_finished(home: Path, lead_of: Any) -> None:
    @tool
    async def hang(n: int) -> ToolReturn:
        """The first is quick, the others never end."""
        if n:
            await asyncio.Event().wait()
        return ToolReturn(raw=n, summary="quick")

    models = lead_of("hang", [{"n": 0}, {"n": 1}, {"n": 2}])
    async with Leadhand(models=models, tools=[hang], home=home) as lead:
        run = await lead.start("three steps")
        async for entry in run:
            if entry.event.type == "step_settled" and entry.event.subject.startswith("wo-001.0"):
                await run.cancel()
        answer = await run.answer()
    assert answer.status is RunStatus.CANCELLED
    assert "quick" in answer.text


async def test_work_order_json_says_what_the_log_says(home: Path) -> None:
    async with Leadhand(model="offline", home=home) as lead:
        answer = await lead.run(QUESTION)
    written = json.loads((home / "runs" / answer.run_id / "work_order.json").read_text())
    assert written["work_orders"] == answer.document["work_orders"]
    assert written["work_states"] == answer.document["work_states"]
    assert written["status"] == "succeeded"


async def test_a_secret_of_the_environment_never_reaches_the_log(
    home: Path, lead_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_API_KEY", "canary-value-4711-hidden")

    @tool
    async def leak(n: int) -> dict[str, Any]:
        """Return a secret."""
        return {"note": "the key is canary-value-4711-hidden", "password": "hunter2-hunter2", "pad": "x" * 6_000}

    async with Leadhand(models=lead_of("leak", [{"n": 0}]), tools=[leak], home=home) as lead:
        await lead.run("use canary-value-4711-hidden")
    kept = kept_in(home)
    assert b"[redacted]" in kept
    assert b"canary-value-4711-hidden" not in kept_in(home, "meta")
    assert b"hunter2-hunter2" not in kept


async def test_no_part_of_a_secret_of_the_environment_reaches_on_text(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_API_KEY", "canary-value-4711-hidden")
    model = ScriptedModel(
        plan=[plans(subtask("look", "look", n=1))],
        review=[reviews(accept=["wo-001.0"])],
        compose=[says("Saw canary-value-4711-hidden, and 1")],
        lenient=True,
    )

    @tool
    async def look(n: int) -> ToolReturn:
        """Look at a thing."""
        return ToolReturn(summary=f"Saw canary-value-4711-hidden, and {n}")

    pieces: list[str] = []
    async with leadhand_of(models=model, tools=[look], home=home) as lead:
        (await lead.runtime()).texts.on_text = lambda *said: pieces.append(said[2])
        answer = await lead.run("look")
    assert "".join(pieces) == "Saw [redacted], and 1"
    assert len(pieces) > 1, "it came as one piece"
    assert "".join(pieces) in answer.text


async def test_a_document_is_a_projection_of_the_log(home: Path) -> None:
    async with Leadhand(model="offline", home=home) as lead:
        answer: Answer = await lead.run(QUESTION)
        runtime = await lead.runtime()
        shown = run_document(await runtime.load(answer.run_id), owner=None)
        assert shown.as_json() == answer.document


async def test_resuming_where_a_tool_is_missing_leaves_the_run_as_it_is_and_says_where_the_tool_came_from(
    home: Path, lead_of: Any
) -> None:
    @tool
    async def wait_here(n: int) -> ToolReturn:
        """Never ends."""
        await asyncio.Event().wait()
        return ToolReturn(raw=n)

    async with Leadhand(models=lead_of("wait_here", [{"n": 0}]), tools=[wait_here], home=home) as lead:
        run = await lead.start("wait")
        async for entry in run:
            if entry.event.type == "tool_call_began":
                await run.pause()
        await run.answer()
    async with Leadhand(model="offline", home=home) as lead:
        with pytest.raises(ConfigurationError, match="wait_here"):
            await lead.resume(run.run_id)
        listing = await (await lead.runtime()).store.run(run.run_id)
        assert listing.status is RunStatus.PAUSED
        assert listing.failed == 0
