"""The run document and the line in the list of runs: projections of the log, in the shapes that others rely on."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given

from core.histories import History, definition
from core.invariants import check_list
from core.moves import histories, walk
from leadhand.app.export.run_document import run_document, run_line
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.value import iso
from leadhand.core.work_order import Subtask, WorkOrder
from leadhand.core.work_result import ClaimVerdict, Review, Verdict, VerdictKind
from leadhand.ports.heads import head_of, status_after
from leadhand.ports.runs import RunListing

KEYS = {
    *("run_id", "flow", "request", "status", "answer", "sources", "gaps", "work_orders", "work_states", "work_state"),
    *("value", "evidence", "outcome", "done", "failure", "question", "claims"),
    *("context_store", "artifacts", "approvals", "usage", "limits", "model", "created_at", "finished_at", "last_seq"),
}
"""What is promised of every run of the work-order flow."""
LOOK = Subtask(name="look", tool="look", args={"n": 1})
TAKEN_OVER = walk(18, 60, to_the_end=True)
"""The order of this run takes over the result of a subtask that began and is still running."""
REJECTED = walk(145, 60, to_the_end=True, max_steps=1)
"""A person settles a subtask of this run, whose result the review rejected."""


def document(history: History) -> dict[str, Any]:
    """The document of a history, as JSON has it."""
    return json.loads(run_document(history.state, owner="host-1").model_dump_json())


@pytest.mark.parametrize("status", RunStatus)
def test_a_finished_run_has_no_owner_in_a_list_either(status: RunStatus):
    listing = RunListing(
        run_id="run_1", flow="f", request="r", status=status, model="m", created_at=datetime.now(UTC), head_seq=1,
        epoch=1, owner="host-1",
    )  # fmt: skip
    assert run_line(listing).owner == (None if status in ENDED else "host-1")


@given(histories(most_steps=60))
def test_the_document_has_the_promised_keys_and_is_json(history: History):
    made = document(history)

    assert set(made) >= KEYS
    assert made["status"] == history.state.status
    assert made["last_seq"] == len(history.log)
    assert set(made["usage"]) >= {"requests", "input_tokens", "output_tokens", "cost_usd"}
    assert (made["owner"] is None) == (history.state.status in ENDED)
    assert made["answer"] == (history.state.finished.answer or None if history.state.finished is not None else None)
    ended = history.state.status in ENDED
    asked = [each.id for each in history.state.questions.values() if each.reply is None and not ended]
    assert (made["question"] or {}).get("id") == next(iter(asked), None)
    actions = {action["action"] for action in made["outcome"]["actions"]}
    assert actions <= ({"resume", "retry", "follow_up"} if ended else {"answer", "approve", "resume"})
    verdicts = [claim["verdict"] for claim in made["claims"]]
    assert {verdict.value: made["evidence"][verdict] for verdict in ClaimVerdict} == {
        verdict.value: verdicts.count(verdict) for verdict in ClaimVerdict
    }
    assert {doubt["n"] for doubt in made["evidence"]["doubts"]} <= {claim["n"] for claim in made["claims"]}


@given(histories(most_steps=60))
def test_there_is_one_state_for_each_order_and_the_latest_stands_alone_too(history: History):
    made = document(history)

    assert [order["work_order_id"] for order in made["work_orders"]] == list(history.state.orders)
    assert [state["work_order_id"] for state in made["work_states"]] == list(history.state.orders)
    assert made["work_state"] == (made["work_states"][-1] if made["work_states"] else None)
    for order, state in zip(made["work_orders"], made["work_states"], strict=True):
        assert list(state["subtask_state"]) == [str(index) for index in range(len(order["subtasks"]))]
        assert [shown["name"] for shown in state["subtask_state"].values()] == [s["name"] for s in order["subtasks"]]
        assert state["completed"] == all(s["status"] == "completed" for s in state["subtask_state"].values())
        assert all({"name", "args", "tool"} <= set(subtask) for subtask in order["subtasks"])


@given(histories(most_steps=60))
def test_the_evidence_of_a_subtask_is_in_the_context_store_and_is_about_it(history: History):
    made = document(history)
    kept = {event["event_id"]: event for event in made["context_store"]["events"]}

    cited: list[str] = []
    for state in made["work_states"]:
        for index, subtask in state["subtask_state"].items():
            for event_id in subtask["event_ids"]:
                event = kept[event_id]
                expected = {"work_order_id": state["work_order_id"], "subtask_index": int(index)}
                assert {name: event["refs"][name] for name in expected} == expected
                assert event["refs"].get("step") is None, "a subtask is named by its order and index"
                assert event["task_name"] == subtask["name"]
                cited.append(event_id)
            last = kept[subtask["event_ids"][-1]] if subtask["event_ids"] else None
            if subtask["status"] == "completed":
                assert last is not None
                assert last["result"] == "success"
                assert last["content"]["summary"]
    assert sorted(cited) == sorted(kept), "an event belongs to one subtask"


@given(histories(most_steps=60))
def test_an_event_in_the_context_store_holds_the_arguments_and_the_outcome(history: History):
    for event in document(history)["context_store"]["events"]:
        assert set(event) >= {"event_id", "timestamp", "task_name", "result", "agent", "content", "refs"}
        assert event["result"] in ("success", "failure")
        if event["result"] == "failure":
            assert set(event["content"]["error"]) >= {"message", "type", "class"}
        assert event["timestamp"].endswith("Z")


@given(histories(most_steps=60))
def test_the_document_made_twice_is_the_same(history: History):
    assert document(history) == document(history)


@given(histories(most_steps=60))
@example(TAKEN_OVER)
@example(REJECTED)
def test_a_list_counts_the_same_subtasks_as_the_page_of_the_run_after_every_event(history: History):
    check_list("run_1", history.log)


def test_a_list_counts_what_a_review_drops():
    history = History(definition(max_steps=1))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="g", subtasks=(LOOK, LOOK))))
    history.decide_all()
    for attempt in history.live:
        history.works(attempt)
    for key in list(history.state.unsettled):
        history.command(do.Settle(step=key))
    dropped = Verdict(subtask="wo-001.1", verdict=VerdictKind.DROP, reason="not needed")
    assert history.command(do.Judge("wo-001", Review(verdicts=(dropped,), complete=False)))

    check_list("run_1", history.log)
    assert head_of(history.state)[1:] == (2, 1, 1, 0)


@given(histories(most_steps=60))
def test_a_listing_has_the_status_of_the_run(history: History):
    statuses = [status for entry in history.log if (status := status_after(entry.event)) is not None]
    assert statuses[-1] is history.state.status


def test_times_are_written_in_utc_to_the_millisecond():
    there = timezone(timedelta(hours=2))

    assert iso(datetime(2025, 12, 16, 12, 0, 0, 123_999, tzinfo=there)) == "2025-12-16T10:00:00.123Z"
    assert iso(datetime(2025, 12, 16, 10, tzinfo=UTC)) == "2025-12-16T10:00:00.000Z"


def test_the_evidence_of_an_event_is_counted_from_the_log_itself():
    history = History()
    history.finish()
    made = document(history)

    (event,) = made["context_store"]["events"]
    entry = history.log[int(event["event_id"].removeprefix("e-")) - 1]
    assert isinstance(entry.event, ev.StepSettled)
    assert event["content"]["n"] == 1
    assert event["content"]["raw"] == {"n": 1}
    assert event["agent"] == "worker_look"
