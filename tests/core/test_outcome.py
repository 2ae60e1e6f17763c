"""What a run comes to: its status, its gaps, the answer's sources, and a list of results that needs no model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histories import History, definition
from core.moves import histories
from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.errors import FailureClass
from leadhand.core.judgement import DOUBTED, ClaimVerdict, Doubt, JudgedClaim, Judgement
from leadhand.core.lifecycle import StepStatus
from leadhand.core.outcome import all_gaps, concluded, plain_list, source_numbers
from leadhand.core.run import RunStatus
from leadhand.core.work_order import Subtask, Unsupported, WorkOrder
from leadhand.core.work_result import Review
from leadhand.flows.work_order.results import NO_VERDICT, answer_sources, answerable_results, not_evaluated, subtasks
from leadhand.flows.work_order.results import all_gaps as gaps
from leadhand.verify.claims import citations_in


def status_of(history: History) -> RunStatus:
    """What the evidence makes of a run that ends now."""
    return concluded(history.state, history.policy.outcome(history.state), None).status


@given(histories(most_steps=60))
def test_the_plain_list_has_every_result_with_its_own_sources_and_nothing_else(history: History):
    state = history.state
    results = list(answerable_results(state))
    numbers = source_numbers(answer_sources(state))
    lines = plain_list(results).splitlines()

    assert len(lines) == len(results)
    for line, result in zip(lines, results, strict=True):
        assert result.data is not None
        assert result.data.summary in line
        own = sorted(str(numbers[source.title, source.url]) for source in result.data.sources)
        assert sorted(id_ for each in citations_in(line) for id_ in each.ids) == own


@given(histories(most_steps=60))
def test_everything_asked_for_is_either_in_the_answer_or_a_gap(history: History):
    state = history.state
    shown = {subtask.key for subtask in answerable_results(state) if subtask.accepted}
    missing = {gap.step for gap in gaps(state) if gap.step is not None}

    for subtask in subtasks(state):
        key = subtask.key
        if subtask.superseded_by is None:
            assert (key in shown) != (key in missing), f"{key} is {subtask.status}"
        else:
            assert key not in shown | missing
    assert {part.what for part in state.unsupported} <= {gap.name for gap in gaps(state)}


@given(histories(most_steps=60))
def test_what_was_not_evaluated_is_used_and_is_a_gap(history: History):
    state = history.state
    used = {each.key for each in answerable_results(state)}
    named = {gap.step: (gap.work_order_id, gap.subtask_index) for gap in gaps(state)}

    for subtask in subtasks(state):
        if not_evaluated(subtask) and subtask.superseded_by is None:
            assert named[subtask.key] == ((subtask.order, subtask.position) if subtask.order else (None, None))
            assert subtask.key in used


@given(histories(most_steps=60))
def test_every_source_is_backed_by_an_event_of_the_subtask_it_came_from(history: History):
    for source in answer_sources(history.state):
        entry = history.log[int(source.event_id.removeprefix("e-")) - 1]
        assert isinstance(entry.event, ev.StepSettled)
        assert entry.event.ok


@given(histories(to_the_end=True))
def test_the_status_is_what_the_evidence_makes_of_it(history: History):
    state, finished = history.state, history.state.finished
    if finished is None or finished.status is RunStatus.CANCELLED:
        return
    assert finished.gaps == tuple(all_gaps(state, history.policy.outcome(state), finished.failure))
    if state.orders:
        assert {gap.step or gap.name for gap in gaps(state)} <= {g.step or g.name for g in finished.gaps}
    judgement = finished.judgement
    doubted = judgement is not None and (judgement.contradicted or (state.definition.strict and judgement.doubts))
    if finished.status is RunStatus.SUCCEEDED:
        assert not finished.gaps
        assert not doubted
    elif finished.status is RunStatus.PARTIAL:
        assert finished.gaps or doubted
        assert any(answerable_results(state)) or not state.orders


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("verdict", ClaimVerdict)
def test_a_doubt_does_not_change_the_status_unless_it_is_a_contradiction_or_the_run_is_strict(
    verdict: ClaimVerdict, strict: bool
):
    history = judged(["accept"])
    state = replace(history.state, definition=history.state.definition.evolve(strict=strict))
    claim = JudgedClaim(n=1, text="all is well", verdict=verdict)
    doubt = Doubt(n=1, claim=claim.text, part=claim.text, verdict=verdict, why="so it seems")
    judgement = Judgement(claims=(claim,), doubts=(doubt,) if verdict in DOUBTED else (), judged_by="fake")
    outcome = history.policy.outcome(state)._replace(answer="all is well", judgement=judgement)

    finished = concluded(state, outcome, None)

    doubted = verdict is ClaimVerdict.CONTRADICTED or (strict and verdict in DOUBTED)
    assert finished.status is (RunStatus.PARTIAL if doubted else RunStatus.SUCCEEDED)
    assert (finished.answer, finished.judgement, finished.gaps) == ("all is well", judgement, ())


def judged(verdicts: list[str], *, missing: int = 0, complete: bool = True, cannot: tuple[str, ...] = ()) -> History:
    """A history of one order, whose subtasks all came back and were judged as said."""
    history = History(definition(max_steps=1))
    subtasks = tuple(Subtask(name=f"s{number}", tool="look", args={"n": 1}) for number in range(len(verdicts)))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=subtasks)))
    history.decide_all()
    for attempt in history.live:
        history.works(attempt)
    for key in list(history.state.unsettled):
        history.command(do.Settle(step=key))
    review = {
        "verdicts": [
            {"subtask": f"wo-001.{number}", "verdict": verdict, "reason": "so it seems"}
            for number, verdict in enumerate(verdicts)
            if verdict != "none"
        ],
        "complete": complete,
        "missing": [{"name": f"m{number}"} for number in range(missing)],
    }
    history.command(do.Judge(work_order_id="wo-001", review=Review.model_validate(review)))
    history.command(do.NoteGaps(parts=tuple(Unsupported(what=what, reason="too far") for what in cannot)))
    return history


@pytest.mark.parametrize(
    ("verdict", "status", "class_", "reason"),
    [
        ("retry", StepStatus.FAILED, "insufficient", "so it seems"),
        ("replan", StepStatus.FAILED, "insufficient", "so it seems"),
        ("drop", StepStatus.DROPPED, "insufficient", "so it seems"),
        ("none", StepStatus.COMPLETED, "insufficient", NO_VERDICT),
    ],
)
def test_a_result_that_is_not_accepted_is_a_gap_with_its_reason(
    verdict: str, status: StepStatus, class_: str, reason: str
):
    history = judged(["accept", verdict])

    assert history.state.steps["wo-001.1"].status is status
    (gap,) = gaps(history.state)
    assert (gap.subtask_index, gap.class_, gap.name) == (1, FailureClass(class_), "s1")
    assert reason in gap.reason
    assert status_of(history) is RunStatus.PARTIAL


def test_parts_that_are_missing_or_out_of_reach_are_gaps_without_a_subtask():
    history = judged(["accept"], missing=1, complete=False, cannot=("the moon",))

    assert [(gap.name, gap.work_order_id) for gap in gaps(history.state)] == [("m0", None), ("the moon", None)]


def test_all_accepted_and_nothing_missing_is_success():
    assert status_of(judged(["accept", "accept"])) is RunStatus.SUCCEEDED


def test_a_run_that_its_review_calls_incomplete_does_not_succeed():
    history = judged(["accept"], complete=False)

    assert status_of(history) is not RunStatus.SUCCEEDED, "the lead said that something lacks, and nobody says what"


def test_nothing_done_is_failure_without_an_answer():
    history = History()
    finished = concluded(history.state, history.policy.outcome(history.state), None)
    assert (finished.status, finished.answer) == (RunStatus.FAILED, "")
    assert finished.failure is not None


@given(st.sampled_from(list(FailureClass)))
def test_a_failed_subtask_is_a_gap_of_its_class_with_a_next_action(class_: FailureClass):
    history = History(definition(max_steps=1))
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=(Subtask(name="a"),))
    history.command(do.IssueOrder(order=order))
    history.decide_all()
    while history.live and len(history.log) < 60:
        history.fails(history.live[0], class_)
        history.command(do.Settle(step="wo-001.0"))
    (gap,) = gaps(history.state)

    if history.live:  # rate limits alone do not end before the deadline
        assert class_ is FailureClass.RATE_LIMITED
    assert gap.class_ is class_
    assert gap.next_action
