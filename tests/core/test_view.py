"""The view says what the state says, however it is put together: all at once, or patch by patch from any cut."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from merging import merge

from core.histories import NOON, History, definition
from core.moves import histories, walk
from leadhand.core import events as ev
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.ids import step_of
from leadhand.core.limits import Money, Usage
from leadhand.core.run import ENDED
from leadhand.core.view import Change, Projection
from leadhand.core.words import words
from leadhand.core.work_order import Step, Subtask, WorkOrder
from leadhand.core.work_result import ResultData

OPEN = {"pending", "running", "waiting", "retrying"}


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
