"""What 0.1 wrote is read in today's shape: its events, its logs, and its runs, which can be resumed at any point.

``golden/runs-0.1.jsonl`` holds four runs that 0.1 made (histories of its own property tests), each with the state that
0.1 folded its log to. It is never written again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.histories import History
from domain.invariants import check_log, reserved_total
from leadhand.domain.events import EVENT_TYPES, AnyEvent, Entry, upcast
from leadhand.domain.events.decisions import (
    AssignmentIssued,
    AttemptSettled,
    ResultsJudged,
    RunStarted,
    WorkOrderIssued,
)
from leadhand.domain.events.upcasters import RENAMED
from leadhand.domain.evolve import fold, replay, start
from leadhand.domain.rights import tools_of
from leadhand.domain.run import ForkPoint
from leadhand.domain.state import RunState
from leadhand.domain.work_order import Subtask, WorkOrder
from leadhand.flows.flow import FlowPolicy, with_roles
from leadhand.flows.work_order.flow import WorkOrderFlow
from leadhand.flows.work_order.roles import roles

SAMPLES = Path(__file__).parents[1] / "stores" / "golden" / "log-0.1.jsonl"
RUNS = [json.loads(line) for line in (Path(__file__).parent / "golden" / "runs-0.1.jsonl").read_text().splitlines()]
DEFINITION = {"request": "r", "flow": "work-order", "models": {"default": "offline"}}


def read(type_: str, body: dict[str, Any], version: int = 1) -> AnyEvent:
    """An event as a store reads it."""
    return EVENT_TYPES[type_].model_validate_json(json.dumps(upcast(type_, version, body)))  # pyright: ignore[reportReturnType]


# --- events ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "body"),
    [
        ("parts_refused", {"parts": [{"what": "fly", "reason": "no tool"}]}),
        ("order_reviewed", {"work_order_id": "wo-001", "review": {"verdicts": [], "complete": True}}),
        ("child_answered", {"by": "", "call_id": "a/t1/c0", "ok": True, "content": "seen"}),
        (
            "attempt_held",
            {
                "attempt": "a/a1",
                "open_calls": [{"call_id": "a/t1/c0/effect", "kind": "effect", "tool": "send", "args": {}}],
            },
        ),
    ],
)
def test_an_event_that_was_renamed_is_read_under_its_new_name(old: str, body: dict[str, Any]):
    event = read(old, body)

    assert event.type == RENAMED[old]
    assert event.model_dump(mode="json", exclude={"type"}, exclude_unset=True) == {
        name: value for name, value in body.items() if name != "by"
    }


def test_a_run_of_0_1_has_the_roles_of_its_flow_with_the_instructions_that_were_kept():
    started = read("run_started", {"definition": {**DEFINITION, "instructions": {"work": "Be brief."}}})
    assert isinstance(started, RunStarted)

    told = {role.name: role.instructions for role in started.definition.roles}
    assert told == {"plan": "", "work": "Be brief.", "review": "", "compose": ""}
    definition = with_roles(WorkOrderFlow(), started.definition)
    shipped = {role.name: role for role in roles()}
    assert {role.name for role in definition.roles} == set(shipped)
    for role in definition.roles:
        expected = "Be brief." if role.name == "work" else shipped[role.name].instructions
        assert role == shipped[role.name].evolve(instructions=expected)


def test_a_fork_of_0_1_knows_where_it_began_and_keeps_its_other_options():
    options = {"forked_from": {"run_id": "run_0", "seq": 7}, "max_revisions": 2}
    started = read("run_started", {"definition": {**DEFINITION, "options": options}})
    assert isinstance(started, RunStarted)

    assert started.definition.forked_from == ForkPoint(run_id="run_0", seq=7)
    assert started.definition.options == {"max_revisions": 2}


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        (
            {"assignment_id": "wo-001.0", "role": "work", "covers": ["wo-001.0"]},
            {"input": {}, "title": "", "answers": False},
        ),
        ({"assignment_id": "plan", "role": "plan"}, {"input": {}, "answers": False}),
        ({"assignment_id": "plan-2", "role": "plan", "options": {"first": 30}}, {"input": {"first": 30}}),
        (
            {
                "assignment_id": "review-wo-001-0",
                "role": "review",
                "covers": ["wo-001.0"],
                "options": {"compose": True, "whole": True},
            },
            {"input": {"covers": ["wo-001.0"], "compose": True, "whole": True}, "answers": False},
        ),
        ({"assignment_id": "compose", "role": "compose"}, {"input": {}, "answers": True}),
        (
            {
                "assignment_id": "compose-0-0",
                "role": "compose",
                "covers": ["wo-001.0"],
                "options": {"part": 1, "of": 2, "numbers": [1]},
            },
            {"input": {"covers": ["wo-001.0"], "part": 1, "of": 2, "numbers": [1]}, "answers": False},
        ),
        (
            {"assignment_id": "compose-whole", "role": "compose", "options": {"over": ["compose-0-0"]}},
            {"input": {"over": ["compose-0-0"]}, "answers": True},
        ),
        (
            {
                "assignment_id": "wo-001.0/t1/c0",
                "role": "work",
                "parent": "wo-001.0/a1",
                "options": {"child": {"name": "research_tool", "args": {"topic": "noise"}}},
            },
            {"title": "research_tool", "input": {"topic": "noise"}, "parent": "wo-001.0/a1", "counts": False},
        ),
    ],
    ids=lambda given: given.get("assignment_id") if isinstance(given, dict) else None,
)
def test_what_an_assignment_of_0_1_was_about_is_its_input(old: dict[str, Any], expected: dict[str, Any]):
    issued = read(
        "assignment_issued", {"assignment": {"covers": [], "parent": None, "tools": None, "options": {}, **old}}
    )
    assert isinstance(issued, AssignmentIssued)

    assert (issued.assignment.assignment_id, issued.assignment.role) == (old["assignment_id"], old["role"])
    assert {name: getattr(issued.assignment, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("attempt", "counts"),
    [
        ("wo-001.0/a1", True),
        ("wo-012.345/a6", True),
        ("plan/a1", False),
        ("review-wo-001-0/a1", False),
        ("wo-001.0/t1/c0/a1", False),
    ],
)
def test_only_the_subtasks_of_0_1_count(attempt: str, counts: bool):
    settled = read("attempt_settled", {"attempt": attempt, "ok": True, "final": True, "failure": None})
    assert isinstance(settled, AttemptSettled)

    assert settled.counts is counts


def test_what_is_written_today_is_read_as_it_is():
    assert upcast("attempt_settled", 2, {"attempt": "to-1/a1", "counts": True}) == {
        "attempt": "to-1/a1",
        "counts": True,
    }


# --- logs ------------------------------------------------------------------------------------------------------------


def test_one_event_of_every_type_of_0_1_is_read_and_folded():
    rows = [json.loads(line) for line in SAMPLES.read_text().splitlines()]
    events = [read(row["type"], json.loads(row["body"]), row["version"]) for row in rows]
    assert [event.type for event in events] == [RENAMED.get(row["type"], row["type"]) for row in rows]

    # The samples refer to an order, and to a lead, that are not among them.
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=(Subtask(name="a"), Subtask(name="b")))
    lead = read("assignment_issued", {"assignment": {"assignment_id": "lead", "role": "plan"}})
    log = numbered([events[0], events[1], WorkOrderIssued(order=order), lead, *events[2:]])
    state = replay("run_1", log)

    assert state.seq == len(log)
    assert list(state.orders) == ["wo-001", "wo-002"]
    assert state.orders["wo-001"].review is not None
    assert [part.what for part in state.unsupported] == ["book a table"]
    judged = next(event for event in events if isinstance(event, ResultsJudged))
    assert (judged.work_order_id, judged.review.answer) == ("wo-001", "Take an umbrella.")


def numbered(events: Sequence[AnyEvent]) -> list[Entry]:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    return [Entry(seq=seq, at=at, epoch=1, event=event) for seq, event in enumerate(events, start=1)]


def entries(run: dict[str, Any]) -> list[Entry]:
    """The log of a run that 0.1 made."""
    began = datetime(1970, 1, 1, tzinfo=UTC)
    return [
        Entry(seq=seq, at=began + timedelta(microseconds=at), epoch=epoch, event=read(type_, body, version))
        for seq, (at, epoch, type_, version, body) in enumerate(run["log"], start=1)
    ]


by_run = pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run['end']['status']}-{len(run['log'])}")


def test_the_runs_of_0_1_hold_every_change_that_was_made_since():
    types = {row[2] for run in RUNS for row in run["log"]}

    assert types >= {*RENAMED, "run_started", "assignment_issued", "attempt_settled", "retry_granted", "run_reopened"}
    issued = [row[4]["assignment"] for run in RUNS for row in run["log"] if row[2] == "assignment_issued"]
    assert any("child" in each["options"] for each in issued)


@by_run
def test_a_log_of_0_1_is_sound_at_every_entry_and_comes_to_what_0_1_made_of_it(run: dict[str, Any]):
    end = run["end"]
    state = check_log("run_1", entries(run))

    assert state.status == end["status"]
    assert state.spent.model_dump() == end["spent"]
    assert list(state.orders) == end["orders"]
    assert len(state.answers) + 1 == end["answers"]
    assert [part.what for part in state.unsupported] == end["unsupported"]
    assert {key: each.status.value for key, each in state.approvals.items()} == end["approvals"]
    subtasks = {key: each for key, each in state.assignments.items() if each.order}
    assert {
        key: [
            each.status.value,
            each.data.summary if each.data is not None else None,
            each.failure.class_.value if each.failure is not None else None,
            each.verdict.verdict.value if each.verdict is not None else None,
            each.superseded_by,
            list(each.event_ids),
        ]
        for key, each in subtasks.items()
    } == end["subtasks"]
    assert {key for key, each in state.assignments.items() if not each.order or each.attempts} == set(
        end["assignments"]
    )


@by_run
def test_a_run_of_0_1_is_resumed_wherever_its_log_ends(run: dict[str, Any]):
    log = entries(run)
    for cut in range(1, len(log), 3):
        history = resumed(log[:cut])
        check_told(history.state, history.policy)
        history.finish()
        assert not history.stuck, f"cut after {cut}"
        assert history.state.finished is not None
        assert history.state.finished.failure is None or history.state.finished.failure.type != "no_progress"


def resumed(log: list[Entry]) -> History:
    """A history that begins with a log that is there."""
    state = fold(start("run_1", log[0]), log[1:])
    history = History(with_roles(WorkOrderFlow(), state.definition))
    state.definition = with_roles(WorkOrderFlow(), state.definition)
    history.log, history.state, history.now = list(log), state, log[-1].at
    history.honest = (state.spent + reserved_total(state)).fits(state.definition.limits.ceiling)
    history.taken_over()
    return history


def check_told(state: RunState, policy: FlowPolicy) -> None:
    """What is under way can be carried out: its worker can be told what to do, and has a role."""
    for key in (*state.live, *state.parked, *state.retrying):
        assignment = state.assignments[key]
        assert policy.brief(state, assignment)["request"]
        role = state.role(assignment.assignment.role)
        assert role is not None
        assert role.instructions
        assert role.loop == "reply" or tools_of(state, assignment.assignment)
