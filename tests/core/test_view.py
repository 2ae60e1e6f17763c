"""The view says what the state says, however it is put together: all at once, or patch by patch from any cut."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from merging import merge

from core.histories import NOON, History, definition
from core.moves import histories, walk
from leadhand.core import events as ev
from leadhand.core.errors import Failure, FailureClass
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
from leadhand.core.ids import step_of
from leadhand.core.limits import Money, Usage
from leadhand.core.run import ENDED, ModelChoice, RunDefinition
from leadhand.core.tool import Todo
from leadhand.core.view import Change, Projection
from leadhand.core.words import WORDS, waits_for, words
from leadhand.core.words.failures import needs_failed
from leadhand.core.work_order import OpenCall, Step, Subtask, WorkOrder
from leadhand.core.work_result import ResultData
from leadhand.core.worker import Worker

OPEN = {"pending", "running", "waiting", "retrying"}

AT = NOON + timedelta(hours=2)


def projected(log: list[ev.Entry]) -> tuple[Projection, list[Change]]:
    projection = Projection("run_1")
    return projection, projection.take_all(log)


def over_the_wire(document: Any) -> Any:
    return json.loads(json.dumps(document))


@given(histories(), st.data())
def test_a_snapshot_at_any_cut_and_the_patches_after_it_make_the_view_of_the_whole_log(
    history: History, data: st.DataObject
):
    cut = data.draw(st.integers(0, len(history.log)))
    whole, every = projected(history.log)
    client, _ = projected(history.log[:cut])
    document = over_the_wire(client.document)
    for change in every[cut:]:
        sent = over_the_wire(asdict(change))
        merge(document, sent["patch"])
        document["last_seq"], document["last_at"] = sent["seq"], sent["at"]

    assert document == over_the_wire(whole.document)


@given(histories())
def test_entries_that_come_twice_change_nothing(history: History):
    projection, _ = projected(history.log)
    before = deepcopy(projection.document)

    assert projection.take_all(history.log) == []
    assert projection.document == before


@given(histories())
def test_a_patch_that_was_sent_is_not_changed_by_later_ones(history: History):
    projection = Projection("run_1")
    sent: list[tuple[Change, Change]] = []
    for change in (projection.take(entry) for entry in history.log):
        assert change is not None
        sent.append((change, deepcopy(change)))
    assert all(change == kept for change, kept in sent)


@pytest.mark.slow
def test_a_run_that_ended_has_nothing_under_way():
    for seed in range(30):
        history = walk(seed, 40, to_the_end=True)
        projection, _ = projected(history.log)
        document = projection.document

        assert document["run"]["status"] in ENDED
        assert not OPEN.intersection(lane["status"] for lane in document["steps"].values())
        assert not any(
            attempt["outcome"] == "running"
            for lane in document["steps"].values()
            for attempt in lane["attempts"].values()
        )
        assert "finished_at" in document["run"]


def long_log(subtasks: int) -> list[ev.Entry]:
    """The log of one order, whose subtasks all run at once and are all reviewed: eight events each."""
    order = WorkOrder(
        work_order_id="wo-001",
        goal="all of it",
        subtasks=tuple(Subtask(name=f"look_{n}", tool="look", args={"n": n}) for n in range(subtasks)),
    )
    keys = order.subtask_keys
    each: list[ev.AnyEvent] = [ev.RunStarted(definition=definition()), ev.OrderIssued(order=order)]
    each += [ev.StepIssued(step=Step(step_id=key, worker="work")) for key in keys]
    each += [ev.AttemptStarted(attempt=f"{key}/a1", host="host-1") for key in keys]
    for number, key in enumerate(keys):
        attempt = f"{key}/a1"
        each += [
            ev.ModelCallBegan(
                attempt=attempt, call_id=f"{key}/t0", model="fake", reserved=Money(requests=1, tokens=9, nanousd=9)
            ),
            ev.ModelCallReturned(
                attempt=attempt, call_id=f"{key}/t0", model="fake", usage=Usage(input_tokens=5, nanousd=5)
            ),
            ev.ToolCallBegan(attempt=attempt, call_id=f"{key}/t0/c0", tool="look", args={"n": number}),
            ev.ToolCallReturned(attempt=attempt, call_id=f"{key}/t0/c0", tool="look", ok=True, summary="seen"),
            ev.AttemptReturned(
                attempt=attempt,
                data=ResultData(summary="seen"),
                used=(f"{key}/t0/c0",),
            ),
            ev.StepSettled(step=step_of(attempt), attempt=attempt, ok=True, final=True),
        ]
    return [ev.Entry(seq=seq, at=NOON, epoch=1, event=event) for seq, event in enumerate(each, 1)]


@pytest.mark.slow
def test_an_entry_changes_as_much_in_a_run_of_a_thousand_steps_as_in_one_of_ten():
    longest: list[int] = []
    for subtasks in (10, 1_000):
        log = long_log(subtasks)
        projection, made = projected(log)
        longest.append(max(len(json.dumps(asdict(change))) for change in made[2:]))
        completed = [lane for lane in projection.document["steps"].values() if lane["status"] == "completed"]
        assert len([lane for lane in completed if lane["counts"]]) == subtasks
    assert longest[1] <= longest[0] + 80, "more digits, and nothing else"


def test_a_snapshot_holds_no_long_text_and_no_argument_twice():
    log = long_log(1)
    long = ev.ToolCallReturned(
        attempt="wo-001.0/a1",
        call_id="wo-001.0/t0/c0",
        tool="look",
        ok=True,
        summary="x" * 9_000,
        raw={"y": "y" * 9_000},
    )
    log = [entry._replace(event=long) if entry.event.type == "tool_call_returned" else entry for entry in log]
    projection, _ = projected(log)
    document = projection.document

    assert len(json.dumps(document)) < 4_000
    call = document["steps"]["wo-001.0"]["attempts"]["1"]["calls"]["7"]
    assert call["kind"] == "tool"
    assert "args" not in call
    assert len(call.get("summary", "")) == 300


def test_a_model_call_has_its_tokens_and_cost():
    log = long_log(1)
    usage = Usage(requests=1, input_tokens=90, cached_tokens=30, output_tokens=10, nanousd=700)
    log = [
        entry._replace(event=entry.event.evolve(usage=usage)) if entry.event.type == "model_call_returned" else entry
        for entry in log
    ]
    projection, _ = projected(log)
    calls = projection.document["steps"]["wo-001.0"]["attempts"]["1"]["calls"].values()
    used = [
        {name: call[name] for name in ("tokens", "output_tokens", "cached_tokens", "nanousd")}
        for call in calls
        if call["kind"] == "model"
    ]
    assert used
    assert all(each == {"tokens": 100, "output_tokens": 10, "cached_tokens": 30, "nanousd": 700} for each in used)


def test_what_a_person_cancelled_is_no_problem():
    failure = Failure.of("cancelled by Ann", "cancelled", FailureClass.REJECTED)
    entry = long_log(1)[0]
    lost = ev.AttemptReturned(attempt="wo-001.0/a1", failure=failure, lost=True)
    settled = ev.StepSettled(step="wo-001.0", attempt="wo-001.0/a1", ok=False, final=True, failure=failure)
    said = [words(entry._replace(event=event)) for event in (lost, settled)]
    assert [(each.title, each.text, each.tone) for each in said] == [
        ("Stopped", "cancelled by Ann", "info"),
        ("Cancelled", "cancelled by Ann", "info"),
    ]


HERE = Path(__file__).parent
SAMPLES = HERE.parent / "stores" / "golden" / "log.jsonl"


def samples() -> Iterable[Entry]:
    """One event of every type, with every field filled in."""
    for line in SAMPLES.read_text().splitlines():
        row = json.loads(line)
        event: Any = EVENT_TYPES[row["type"]].model_validate_json(row["body"])
        yield Entry(seq=row["seq"], at=AT, epoch=row["epoch"], event=event)


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
    made = projection.take_all(Entry(seq=n, at=AT, epoch=1, event=event) for n, event in enumerate(events, 1))
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


def test_whatever_a_call_waits_for_has_words():
    kinds = get_args(OpenCall.model_fields["kind"].annotation)
    assert all(waits_for([OpenCall(call_id="a/t1/c0", kind=kind, tool="send")]) for kind in kinds)
