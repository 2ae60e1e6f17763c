"""A log of release 0.1 makes the view that it made then; and every event has words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leadhand.domain.asks import Todo
from leadhand.domain.errors import Failure
from leadhand.domain.events import (
    EVENT_TYPES,
    ArtifactWritten,
    AssignmentIssued,
    AttemptReturned,
    AttemptScheduled,
    AttemptSettled,
    AttemptStarted,
    Entry,
    NoteEmitted,
    RetryGranted,
    RunFinished,
    RunStarted,
    SubtaskBlocked,
    TodosSet,
    WorkerDefined,
    WorkOrderIssued,
    upcast,
)
from leadhand.domain.run import ModelChoice, Role, RunDefinition, RunStatus
from leadhand.domain.view import WORDS, Level, Projection, Tone, words
from leadhand.domain.work_order import Assignment, Subtask, WorkOrder
from leadhand.domain.work_result import WorkResult

HERE = Path(__file__).parent
SAMPLES = HERE.parent / "stores" / "golden"
NOON = datetime(2025, 12, 16, 12, tzinfo=UTC)


def entry(seq: int, at: datetime, epoch: int, type_: str, version: int, body: dict[str, Any]) -> Entry:
    """An entry that an older release wrote."""
    event: Any = EVENT_TYPES[type_].model_validate(upcast(type_, version, body))
    return Entry(seq=seq, at=at, epoch=epoch, event=event)


def recorded() -> Iterable[Entry]:
    """A run of 0.1 with its own tools, long strings cut: retries, an approved payment, a child, a repair order, a
    reopening."""
    for line in (HERE / "golden" / "run-0.1.jsonl").read_text().splitlines():
        row = json.loads(line)
        at = datetime.fromisoformat(row["at"])
        yield entry(row["seq"], at, row["epoch"], row["type"], row["version"], row["body"])


def samples() -> Iterable[Entry]:
    """One event of every type that a release wrote, with every field filled in."""
    for path in sorted(SAMPLES.glob("log-*.jsonl")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            yield entry(row["seq"], NOON, row["epoch"], row["type"], row["version"], json.loads(row["body"]))


def test_a_log_of_0_1_makes_the_view_of_its_run() -> None:
    projection = Projection("run_1")
    projection.take_all(recorded())
    view = projection.view.document

    assert (view["last_seq"], view["run"]["status"], view["run"]["model"]) == (177, "partial", "fake")
    assert [*view["run"]["answers"]] == ["1", "2"]
    assert view["run"]["unsupported"] == [{"what": "book a flight", "reason": "no tool books flights"}]
    assert view["run"].get("first_problem") == 8
    assert view["spend"] == {
        "requests": 10,
        "tokens": 9_070,
        "input_tokens": 8_120,
        "output_tokens": 950,
        "nanousd": 14_500_000,
        "reserved_nanousd": 0,
        "unpriced": False,
        "budget_nanousd": 1_000_000_000,
    }
    assert view["counts"]["current"] == {"total": 12, "completed": 11, "failed": 0, "dropped": 1, "retriable": 1}
    orders = {key: (order["total"], order["completed"], order.get("by")) for key, order in view["orders"].items()}
    assert orders == {"wo-001": (12, 8, None), "wo-002": (1, 1, None), "wo-003": (3, 2, "ann")}
    asked = view["approvals"]["wo-001.9/t0/c0"]
    assert (asked["tool"], asked["args"], asked["status"]) == ("pay_tool", {"amount": 30, "to": "Bob"}, "approved")
    lanes = view["assignments"]
    assert {key: (lane["label"], lane["status"]) for key, lane in lanes.items() if key.startswith("wo-")} == {
        "wo-001.0": ("check_weather · Paris", "completed"),
        "wo-001.1": ("check_weather · Lyon", "completed"),
        "wo-001.2": ("check_weather · Lille", "failed"),
        "wo-001.3": ("check_weather · Nice", "completed"),
        "wo-001.4": ("check_weather · Nantes", "completed"),
        "wo-001.5": ("check_weather · Bordeaux", "completed"),
        "wo-001.6": ("find_hotel · Oslo", "failed"),
        "wo-001.7": ("find_hotel · Rome", "dropped"),
        "wo-001.8": ("call_up · Brest", "completed"),
        "wo-001.9": ("pay_guide · 30, Bob", "completed"),
        "wo-001.10": ("ask_around", "completed"),
        "wo-001.11": ("summarise · Metz", "dropped"),
        "wo-001.10/t1/c0": ("helper · tea (for ask_around)", "completed"),
        "wo-002.0": ("check_rain · Lille, Nord", "completed"),
        "wo-003.0": ("find_hotel · Oslo", "completed"),
        "wo-003.1": ("find_hotel · Rome", "dropped"),
        "wo-003.2": ("summarise · Metz", "completed"),
    }
    assert {key: lane["superseded_by"] for key, lane in lanes.items() if "superseded_by" in lane} == {
        "wo-001.2": "wo-002.0",
        "wo-001.6": "wo-003.0",
        "wo-001.7": "wo-003.1",
        "wo-001.11": "wo-003.2",
    }
    assert lanes["wo-001.10/t1/c0"].get("parent") == "wo-001.10"
    assert [each["outcome"] for each in lanes["wo-001.8"]["attempts"].values()] == ["failed", "failed", "ok"]
    assert [each["outcome"] for each in lanes["wo-001.9"]["attempts"].values()] == ["parked", "ok"]


def test_every_type_of_event_has_words() -> None:
    assert set(WORDS) == set(EVENT_TYPES.values())


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


def settled(**about: Any) -> Entry:
    event = AttemptSettled.model_validate({"attempt": "wo-001.0/a1", **about})
    return Entry(seq=2, at=NOON, epoch=1, event=event)


def test_words_tell_success_from_failure_and_from_what_is_retried() -> None:
    failure = Failure.model_validate({"message": "time is up", "type": "timeout", "class": "transient"})

    assert words(settled(ok=True, final=True)) == ("Completed", "", "wo-001.0", Tone.GOOD, Level.STEP, ("work",))
    failed = words(settled(ok=False, final=True, failure=failure))
    assert (failed.title, failed.text, failed.tone) == ("Failed", "time is up (transient)", Tone.PROBLEM)
    assert failed.level is Level.PHASE
    again = words(settled(ok=False, final=False, failure=failure))
    assert (again.title, again.level) == ("Will be retried", Level.DETAIL)
    paused = words(settled(ok=False, final=False, failure=failure.evolve(type="interrupted")))
    assert paused.tone is Tone.INFO


def test_words_say_when_a_retry_comes_and_why() -> None:
    def scheduled(**about: Any) -> str:
        event = AttemptScheduled.model_validate(about)
        return words(Entry(seq=2, at=NOON, epoch=1, event=event)).text

    later = NOON.replace(second=2)
    assert scheduled(attempt="wo-001.0/a2", not_before=later) == "in 2.0 s"
    assert scheduled(attempt="wo-001.0/a2", feedback="no sources") == "no sources"
    assert scheduled(attempt="wo-001.0/a2", continues="wo-001.0/a1") == "continues wo-001.0/a1"


@pytest.mark.parametrize(
    ("status", "title", "tone"),
    [
        ("succeeded", "Run succeeded", "good"),
        ("partial", "Run finished with gaps", "attention"),
        ("cancelled", "Run cancelled", "attention"),
        ("failed", "Run failed", "problem"),
    ],
)
def test_words_say_how_a_run_ended(status: str, title: str, tone: str) -> None:
    said = words(Entry(seq=2, at=NOON, epoch=1, event=RunFinished(status=RunStatus(status), answer="")))

    assert (said.title, said.tone, said.level) == (title, tone, "phase")


def test_words_of_an_order_count_its_subtasks() -> None:
    def issued(number: int, **about: Any) -> str:
        order = WorkOrder(
            work_order_id="wo-002", goal="both", subtasks=tuple(Subtask(name=str(n)) for n in range(number)), **about
        )
        return words(Entry(seq=2, at=NOON, epoch=1, event=WorkOrderIssued(order=order, by="ann"))).text

    assert issued(1) == "1 subtask: both"
    assert issued(1_200, repairs="wo-001") == "1,200 subtasks: both (repairs wo-001, requested by ann)"


def test_new_kinds_of_events_have_words_and_parts_of_the_view() -> None:
    definition = RunDefinition(request="write it", flow="notes", models=ModelChoice(default="fake"))
    todos = (Todo(id="1", content="Read"), Todo(id="2", content="Write", status="completed", priority="high"))
    events = [
        RunStarted(definition=definition),
        AssignmentIssued(assignment=Assignment(assignment_id="lead", role="lead", title="Lead")),
        TodosSet(attempt="lead/a1", todos=todos),
        ArtifactWritten(
            attempt="lead/a1", path="memory/a.md", digest="sha256:00", size=1_200, media_type="text/markdown"
        ),
        ArtifactWritten(attempt="lead/a1", path="memory/a.md", digest="sha256:01", size=7, media_type="text/markdown"),
        NoteEmitted(attempt="lead/a1", message="Reading"),
        WorkerDefined(attempt="lead/a1", role=Role(name="critic"), description="finds faults"),
        TodosSet(attempt="lead/a1", todos=todos[1:]),
    ]
    projection = Projection("run_1")
    made = projection.take_all(Entry(seq=n, at=NOON, epoch=1, event=event) for n, event in enumerate(events, 1))
    view = projection.view.document

    assert view["todos"] == {"2": {"content": "Write", "status": "completed", "priority": "high", "position": 0}}
    assert view["artifacts"] == {
        "memory/a.md": {
            "version": 2,
            "bytes": 7,
            "digest": "sha256:01",
            "media_type": "text/markdown",
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


def test_an_assignment_that_is_retried_under_its_own_id_is_open_again() -> None:
    definition = RunDefinition(request="translate", flow="translate", models=ModelChoice(default="fake"))
    failure = Failure.model_validate({"message": "time is up", "type": "timeout", "class": "transient"})
    given = Assignment(assignment_id="to-0", role="translator", title="French", input={"text": "a"}, counts=True)
    needs = given.evolve(assignment_id="to-1", title="Dutch", needs=("to-0",))
    log = [
        RunStarted(definition=definition),
        AssignmentIssued(assignment=given),
        AssignmentIssued(assignment=needs),
        AttemptStarted(attempt="to-0/a1", host="here"),
        AttemptReturned(attempt="to-0/a1", result=WorkResult.failed("French", failure)),
        AttemptSettled(attempt="to-0/a1", ok=False, final=True, counts=True, failure=failure),
        SubtaskBlocked(subtask="to-1", cause="to-0"),
    ]
    projection = Projection("run_1")
    projection.take_all(Entry(seq=n, at=NOON, epoch=1, event=event) for n, event in enumerate(log, 1))
    lanes, counts = projection.view.document["assignments"], projection.view.document["counts"]

    assert (lanes["to-0"]["label"], lanes["to-0"]["status"]) == ("French", "failed")
    assert (lanes["to-1"]["status"], lanes["to-1"]["attempts"]) == ("failed", {})
    assert counts["current"] == {"total": 2, "completed": 0, "failed": 2, "dropped": 0, "retriable": 1}
    again = RetryGranted(subtasks=("to-0",), args={"language": "fr"}, by="ann")
    projection.take(Entry(seq=8, at=NOON, epoch=1, event=again))
    assert [(lane["status"], "failure" in lane) for lane in lanes.values()] == [("pending", False), ("pending", False)]
    assert lanes["to-0"]["args"] == {"language": "fr"}
    assert counts["current"] == {"total": 2, "completed": 0, "failed": 0, "dropped": 0, "retriable": 0}
