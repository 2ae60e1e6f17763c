"""A tool gets the same context whether it is a coroutine or runs on a thread."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, RunStatus, ToolContext, ToolError, ToolReturn, tool
from leadhand.core.events import NoteEmitted
from leadhand.core.tool import WriteArtifact
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask


@tool
def keep() -> ToolReturn:
    """Keep a file."""
    return ToolReturn(summary="kept", asks=(WriteArtifact(path="notes.md", content="The boiler is from 2019."),))


async def used(context: ToolContext) -> dict[str, Any]:
    """Use everything that the context has."""
    assert context.library is not None
    with pytest.raises(ToolError) as offline:
        await context.web.get("open-meteo", "https://api.open-meteo.com/v1/forecast", {"latitude": 48.9})
    found = await context.library.search("caffeine in coffee", 1)
    return {
        "file": (await context.files.read("notes.md")).decode(),
        "web": offline.value.failure.type,
        "found": len(found),
        "page": (await context.library.fetch(found[0].url)).url == found[0].url,
        "caller": context.caller().name,
        "time": context.now().isoformat() != "",
    }


@tool
def on_a_thread(context: ToolContext) -> dict[str, Any]:
    """Use the context on a thread."""
    context.emit("on a thread")
    return asyncio.run(used(context))


@tool
async def in_a_coroutine(context: ToolContext) -> dict[str, Any]:
    """Use the context in a coroutine."""
    context.emit("in a coroutine")
    return await used(context)


@tool
async def on_a_thread_of_its_own(context: ToolContext) -> dict[str, Any]:
    """Use the context on a thread that the tool starts."""
    await asyncio.to_thread(context.emit, "on its own thread")
    return await asyncio.to_thread(asyncio.run, used(context))


@pytest.mark.parametrize("each", [on_a_thread, in_a_coroutine, on_a_thread_of_its_own], ids=lambda each: each.name)
async def test_every_method_of_the_context_works_on_a_thread_and_in_a_coroutine(tmp_path: Path, each: Any) -> None:
    plan = plans(subtask("keep", "keep"), subtask("use", each.name, needs=[0]))
    model = ScriptedModel(plan=[plan], work=lambda _: "used", lenient=True)
    async with Leadhand(models=model, tools=[keep, each], model="offline", home=tmp_path) as lead:
        answer = await lead.run("use it")
        entries = await (await lead.runtime()).store.read(answer.run_id)

    assert answer.status is RunStatus.SUCCEEDED, [each.reason for each in answer.gaps]
    (used_it,) = [event for event in answer.document["context_store"]["events"] if event["task_name"] == "use"]
    assert used_it["content"]["raw"] == {
        "file": "The boiler is from 2019.",
        "web": "offline",
        "found": 1,
        "page": True,
        "caller": "use",
        "time": True,
    }
    (note,) = [entry.event for entry in entries if isinstance(entry.event, NoteEmitted)]
    assert "thread" in note.message or "coroutine" in note.message
