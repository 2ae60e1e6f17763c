"""Every event has words, and its part of the view."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leadhand.core.errors import Failure
from leadhand.core.events import (
    EVENT_TYPES,
    ArtifactWritten,
    AttemptReturned,
    AttemptStarted,
    Entry,
    NoteEmitted,
    RequestDecided,
    RunStarted,
    StepIssued,
    StepSettled,
    TodosSet,
    WorkerDefined,
)
from leadhand.core.run import ModelChoice, RunDefinition
from leadhand.core.tool import Todo
from leadhand.core.view import Projection
from leadhand.core.words import WORDS, words
from leadhand.core.words.failures import needs_failed
from leadhand.core.work_order import Step
from leadhand.core.worker import Worker

HERE = Path(__file__).parent
SAMPLES = HERE.parent / "stores" / "golden" / "log.jsonl"
NOON = datetime(2025, 12, 16, 12, tzinfo=UTC)


def samples() -> Iterable[Entry]:
    """One event of every type, with every field filled in."""
    for line in SAMPLES.read_text().splitlines():
        row = json.loads(line)
        event: Any = EVENT_TYPES[row["type"]].model_validate_json(row["body"])
        yield Entry(seq=row["seq"], at=NOON, epoch=row["epoch"], event=event)


def test_every_type_of_event_has_words() -> None:
    assert {kind.partition(" ")[0] for kind in WORDS} == set(EVENT_TYPES)


@pytest.mark.parametrize("sample", tuple(samples()), ids=lambda sample: sample.event.type)
def test_words_are_short_and_on_one_line(sample: Entry) -> None:
    said = words(sample)

    assert said.title[0].isupper()
    assert len(said.title.split()) <= 5
    assert len(said.text) <= 300
    assert "\n" not in said.text
    assert set(said.topics) <= {"work", "tools", "models", "people"}


def test_titles_use_the_words_of_the_glossary() -> None:
    banned = {"told", "stand", "wish", "whoever", "anew", "mend", "blot", "nobody", "yes", "no"}
    titles = {word.lower() for sample in samples() for word in words(sample).title.split()}

    assert not banned & titles


def test_new_kinds_of_events_have_words_and_parts_of_the_view() -> None:
    definition = RunDefinition(request="write it", flow="notes", models=ModelChoice(default="fake"))
    todos = (Todo(id="1", content="Read"), Todo(id="2", content="Write", status="completed", priority="high"))
    events = [
        RunStarted(definition=definition),
        StepIssued(step=Step(step_id="lead", worker="lead", title="Lead")),
        TodosSet(attempt="lead/a1", todos=todos),
        ArtifactWritten(attempt="lead/a1", path="memory/a.md", digest="sha256:00", size=1_200),
        ArtifactWritten(attempt="lead/a1", path="memory/a.md", digest="sha256:01", size=7),
        NoteEmitted(attempt="lead/a1", message="Reading"),
        WorkerDefined(attempt="lead/a1", worker=Worker(name="critic"), description="finds faults"),
        TodosSet(attempt="lead/a1", todos=todos[1:]),
    ]
    projection = Projection("run_1")
    made = projection.take_all(Entry(seq=n, at=NOON, epoch=1, event=event) for n, event in enumerate(events, 1))
    view = projection.document

    assert view["todos"] == [{"id": "2", "content": "Write", "status": "completed", "priority": "high"}]
    assert view["artifacts"] == {
        "memory/a.md": {
            "version": 2,
            "bytes": 7,
            "by": "lead",
            "at": "2025-12-16T12:00:00.000Z",
            "seq": 5,
        }
    }
    assert [(change.words.title, change.words.text, change.words.subject) for change in made[2:]] == [
        ("Todos updated", "1 of 2 completed", "lead"),
        ("File written", "memory/a.md (1,200 bytes)", "lead"),
        ("File written", "memory/a.md (7 bytes)", "lead"),
        ("Note", "Reading", "lead"),
        ("Worker defined", "critic: finds faults", "lead"),
        ("Todos updated", "1 of 1 completed", "lead"),
    ]


def test_a_step_that_is_retried_under_its_own_id_is_open_again() -> None:
    definition = RunDefinition(request="translate", flow="translate", models=ModelChoice(default="fake"))
    failure = Failure.model_validate({"message": "time is up", "type": "timeout", "class": "transient"})
    given = Step(step_id="to-0", worker="translator", title="French", input={"text": "a"}, counts=True)
    needs = given.evolve(step_id="to-1", title="Dutch", needs=("to-0",))
    log = [
        RunStarted(definition=definition),
        StepIssued(step=given),
        StepIssued(step=needs),
        AttemptStarted(attempt="to-0/a1", host="here"),
        AttemptReturned(attempt="to-0/a1", failure=failure),
        StepSettled(step="to-0", attempt="to-0/a1", ok=False, final=True, failure=failure),
        StepSettled(step="to-1", ok=False, failure=needs_failed("to-0")),
    ]
    projection = Projection("run_1")
    projection.take_all(Entry(seq=n, at=NOON, epoch=1, event=event) for n, event in enumerate(log, 1))
    lanes = projection.document["steps"]

    assert (lanes["to-0"]["label"], lanes["to-0"]["status"]) == ("French", "failed")
    assert (lanes["to-1"]["status"], lanes["to-1"]["attempts"]) == ("failed", {})
    again = RequestDecided(what="retry", steps=("to-0",), args={"language": "fr"}, by="ann")
    projection.take(Entry(seq=8, at=NOON, epoch=1, event=again))
    assert [(lane["status"], "failure" in lane) for lane in lanes.values()] == [("pending", False), ("pending", False)]
    assert lanes["to-0"]["args"] == {"language": "fr"}
