"""A follow-up continues an earlier run: with its settings, its answer as data, and the files that it wrote."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, Limits, RunStatus, ToolReturn, UsageError, Worker, tool
from leadhand.app.steering import follow_ups
from leadhand.app.steering.questions import delete_runs
from leadhand.core.conversation import AssistantMessage, ToolCall
from leadhand.core.errors import ConfigurationError
from leadhand.core.limits import Usage
from leadhand.core.run import RunDefinition
from leadhand.core.tool import WriteArtifact
from leadhand.flows import FlowContext, flow
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

LIE = "The tower is 9,999 m high."


@tool
def look(n: int) -> ToolReturn:
    """Look at a tower."""
    return ToolReturn(summary=f"Tower {n} is 324 m high.")


class Liar:
    """A model that answers the first request by itself, and repeats that whatever a tool finds."""

    def __init__(self) -> None:
        self.briefs: list[dict[str, Any]] = []
        self.judged: list[dict[str, Any]] = []

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, free=True)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        facts = json.loads(request.messages[1].text)
        value: dict[str, Any] | None = None
        if request.output is not None and request.output.name == "plan":
            self.briefs.append(facts)
            value = {"answer": LIE}
            if facts["request"] != "How high?":
                value = {"goal": "look", "subtasks": [{"name": "look", "tool": "look", "args": {"n": 1}}]}
        elif "evidence" in facts:
            self.judged.append(facts["evidence"])
            value = {"verdicts": {"1": "unconfirmed"}, "doubts": [], "missing": []}
        elif request.output is not None:
            verdicts = [{"subtask": each["subtask"], "verdict": "accept"} for each in facts["subtasks"]]
            value = {"verdicts": verdicts, "complete": True, "answer": LIE}
        return ModelReply(message=AssistantMessage(text=LIE), value=value, usage=Usage(nanousd=0))

    async def aclose(self) -> None:
        """Nothing to close."""


async def test_the_plan_knows_the_earlier_answer_and_it_proves_nothing(home: Path) -> None:
    model = Liar()
    async with Leadhand(models=model, tools=[look], home=home, check="judge") as lead:
        first = await lead.start("How high?")
        said = await first.answer()
        answer = await (await first.follow_up("Are you sure?")).answer()
        again = await lead.run("Are you sure?")

    ordinary, brief, other = model.briefs
    assert brief["earlier"]["request"] == "How high?"
    assert said.text.startswith(LIE)
    assert brief["earlier"]["answer"] == said.text
    assert list(ordinary) == list(other) == [name for name in brief if name != "earlier"]
    assert answer.text == again.text
    evidence, without = model.judged
    assert evidence.pop("earlier answer") == {"asked": "How high?", "written": LIE}
    assert evidence == without


async def test_both_runs_name_each_other_and_the_follow_up_keeps_the_settings(home: Path) -> None:
    async with Leadhand(
        models=Liar(), tools=[look], home=home, approve="auto", limits=Limits(budget=0.5, max_workers=7)
    ) as lead:
        first = await lead.start("How high?")
        with pytest.raises(UsageError, match=first.run_id):
            await first.follow_up("And now?")
        await first.answer()
    async with Leadhand(models=Liar(), tools=[look], home=home) as lead:
        run = await lead.follow_up(first.run_id, "Look again", limits=Limits(max_workers=9, timeout=60))
        await run.answer()
        second = run.state.definition
        before, after = await (await lead.attach(first.run_id)).document(), await run.document()
        with pytest.raises(UsageError, match="max_worker"):
            await run.follow_up("And now?", limits=Limits(max_worker=1))
        with pytest.raises(UsageError) as refused:
            await run.follow_up("And now?", depth=1)
        assert refused.value.field == "options.depth"

    assert second.limits == first.state.definition.limits.evolve(max_workers=9, timeout=60)
    assert (second.approve, second.models) == ("ask", first.state.definition.models)
    assert before["followed_by"] == [run.run_id]
    assert after["follows"] == {"run_id": first.run_id, "request": "How high?"}
    assert (before["follows"], after["followed_by"]) == (None, [])


async def test_a_follow_up_needs_the_tools_of_the_earlier_run(home: Path) -> None:
    first = Leadhand(models=Liar(), tools=[look], home=home).run_sync("How high?")
    other = Leadhand(models=Liar(), tools=[], home=home)
    with pytest.raises(ConfigurationError, match="look"):
        other.follow_up_sync(first.run_id, "Are you sure?")
    answer = Leadhand(models=Liar(), tools=[look], home=home).follow_up_sync(first.run_id, "Are you sure?")
    assert answer.document["follows"]["run_id"] == first.run_id


# --- files ---------------------------------------------------------------------------------------------------------


@tool(name="note")
def note_of(path: str, text: str) -> ToolReturn:
    """Write a file."""
    return ToolReturn(raw="written", asks=(WriteArtifact(path=path, content=text),))


WRITER = Worker("writer", "Write.", tools=("note",))


@flow(name="notes", reads_artifacts=True)
async def writes_notes(run: FlowContext, path: str = "memory/a.md") -> str:
    """Writes one file with a tool, and can read those of earlier runs."""
    await run.ask(WRITER, path=path, text=run.request)
    return "written"


class Writer(Liar):
    """Calls the tool with its input, and then answers."""

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        facts = json.loads(request.messages[1].text)
        calls = (ToolCall(id="1", name="note", arguments=facts),) if len(request.messages) == 2 else ()
        return ModelReply(
            message=AssistantMessage(text="" if calls else "written", tool_calls=calls), usage=Usage(nanousd=0)
        )


def notes(home: Path) -> Leadhand:
    return Leadhand(models=Writer(), tools=[note_of], flows=[writes_notes], home=home)


def files(definition: RunDefinition) -> list[tuple[str, str]]:
    return [(file.path, file.run_id) for file in definition.earlier]


async def test_a_run_can_read_the_newest_files_of_earlier_runs_of_its_flow(home: Path) -> None:
    async with notes(home) as lead:
        runs = []
        for request in ("one", "two"):
            runs.append(await lead.start(request, flow="notes"))
            assert (await runs[-1].answer()).status is RunStatus.SUCCEEDED
        outside = await lead.start("not shared", flow="notes", path="drafts/x.md")
        await outside.answer()
        third = await lead.start("three", flow="notes", path="memory/b.md")
        await third.answer()
        last = await lead.start("four", flow="notes")
        follow_up = await runs[0].follow_up("five")
        ordinary = await lead.start("six")

        assert files(runs[0].state.definition) == []
        assert files(runs[1].state.definition) == [("memory/a.md", runs[0].run_id)]
        assert files(last.state.definition) == [("memory/b.md", third.run_id), ("memory/a.md", runs[1].run_id)]
        assert files(follow_up.state.definition)[0] == ("memory/a.md", runs[0].run_id)
        assert len(follow_up.state.definition.earlier) == 2
        assert files(ordinary.state.definition) == []


def in_database(home: Path, sql: str) -> None:
    with closing(sqlite3.connect(home / "leadhand.db")) as database, database:
        database.execute(sql)


AN_OLD_STORE = "UPDATE blobs SET used_at = 0"


async def test_what_a_run_may_read_outlives_the_run_that_wrote_it(home: Path) -> None:
    async with notes(home) as lead:
        first = await lead.start("one", flow="notes")
        await first.answer()
        run = await first.follow_up("two", path="memory/b.md")
        await run.answer()
        (file,) = run.state.definition.earlier
        runtime = await lead.runtime()
        in_database(home, AN_OLD_STORE)  # the content is older than that whose event may still follow
        await delete_runs(runtime, [first.run_id])
        assert await runtime.store.blob(file.digest) == b"one"
        third = await lead.start("three", flow="notes")
        assert files(third.state.definition) == [("memory/b.md", run.run_id)], "the deleted run offers nothing"
        await third.answer()
        await delete_runs(runtime, [run.run_id])
        in_database(home, AN_OLD_STORE)
        await delete_runs(runtime, [third.run_id])
        assert not await runtime.store.keep_blobs([file.digest])


async def test_a_file_whose_content_is_gone_is_left_out_with_one_line(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with notes(home) as lead:
        first = await lead.start("one", flow="notes")
        await first.answer()
        in_database(home, "DELETE FROM blobs")
        run = await first.follow_up("two")
        assert (await run.answer()).status is RunStatus.SUCCEEDED
        assert files(run.state.definition) == []
    (line,) = [record.message for record in caplog.records if record.name == "leadhand"]
    assert "memory/a.md" in line
    assert first.run_id in line


def test_models_by_use_are_kept_and_replaced_one_by_one(tmp_path: Path) -> None:
    lead = Leadhand(home=tmp_path)
    earlier = RunDefinition.model_validate(
        {"request": "x", "flow": "work-order", "models": {"default": "a:1", "by_use": {"plan": "b:1", "work": "c:1"}}}
    )
    kept = follow_ups.continued(earlier, lead.settings)
    assert (kept.model, dict(kept.models)) == (
        "a:1",
        {"lead": "b:1", "compose": "a:1", "review": "a:1", "worker": "c:1"},
    )
    one = follow_ups.continued(earlier, lead.settings, models={"lead": "d:1"})
    assert dict(one.models) == {"lead": "d:1", "review": "a:1", "worker": "c:1"}
    all_ = follow_ups.continued(earlier, lead.settings, model="e:1")
    assert (all_.model, dict(all_.models)) == ("e:1", {})
