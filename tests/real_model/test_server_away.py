"""The server of a model is killed in the middle of a run, or starts late: the run waits for it, and goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from leadhand import Leadhand, Limits
from leadhand.core.events import AttemptReturned, Entry, ModelCallBegan, NoteEmitted
from leadhand.runs import Run
from real_model.commands import leadhand
from real_model.flows import ask
from real_model.honesty import check_document, finished
from real_model.servers import MODEL, PATIENCE_S, ModelServer

FLOWS = str(Path(__file__).with_name("flows.py"))


async def seen(run: Run, what: Callable[[object], bool]) -> None:
    """Wait until an event of the run is as ``what`` says."""
    async with asyncio.timeout(PATIENCE_S):
        async for entry in run:
            if what(entry.event):
                return


def is_away(event: object) -> bool:
    return (
        isinstance(event, NoteEmitted) and f"waiting for {MODEL}: away" in event.message and event.waits_s is not None
    )


def is_done(event: object) -> bool:
    return isinstance(event, AttemptReturned) and event.failure is None


def done(entries: Sequence[Entry]) -> set[str]:
    """The steps whose attempts had a result."""
    events = [each.event for each in entries]
    return {
        each.attempt.partition("/")[0] for each in events if isinstance(each, AttemptReturned) and each.failure is None
    }


def called(entries: Sequence[Entry]) -> set[str]:
    """The steps whose attempts called the model."""
    events = [each.event for each in entries]
    return {each.attempt.partition("/")[0] for each in events if isinstance(each, ModelCallBegan)}


async def test_after_the_server_was_killed_and_restarted_the_rest_is_done_and_nothing_is_done_twice(
    own_server: ModelServer,
):
    own_server.start()
    async with Leadhand(MODEL, flows=[ask], limits=Limits(max_workers=2, max_output_tokens=48)) as lead:
        run = await lead.start("Choose a colour", flow="ask", times=6)
        await seen(run, is_done)
        own_server.kill()
        await seen(run, is_away)
        own_server.start()
        document, entries = await finished(run)

    away = next(n for n, entry in enumerate(entries) if is_away(entry.event))
    before = done(entries[:away])
    assert 1 <= len(before) < 6
    assert not before & called(entries[away:]), "what was done is not asked for again"
    assert document["status"] == "succeeded"
    assert [each["attempts"] for each in document["steps"]] == [1] * 6, "the kill is no fault of an attempt"


async def test_a_server_that_starts_late_is_waited_for(own_server: ModelServer):
    async with Leadhand(MODEL, flows=[ask], limits=Limits(max_output_tokens=48)) as lead:
        run = await lead.start("Choose a colour", flow="ask")
        await seen(run, is_away)
        own_server.start()
        document, entries = await finished(run)

    notes = [entry.event.message for entry in entries if isinstance(entry.event, NoteEmitted)]
    assert notes[-1] == f"no longer waiting for {MODEL}"
    assert document["status"] == "succeeded"


async def test_a_run_whose_server_stays_away_says_so_and_the_retry_that_it_names_succeeds(own_server: ModelServer):
    how = ("--model", MODEL, "--flows", FLOWS, "--flow", "ask", "--max-output-tokens", "48", "--model-patience", "4")
    run = await leadhand("run", "Choose a colour", *how, "--json")

    assert run.code == 1, run.err
    check_document(run.json)
    assert run.json["status"] == "failed"
    (gap,) = run.json["gaps"]
    assert "was away for 4 s" in gap["reason"]
    assert "retry the run" in gap["next_action"]
    assert f"waiting for {MODEL}: away" in run.err.lower()

    own_server.start()
    again = await leadhand("runs", "retry", run.json["run_id"], "--flows", FLOWS, "--json")
    assert again.code == 0, again.err
    check_document(again.json)
    assert again.json["status"] == "succeeded"
