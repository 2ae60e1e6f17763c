"""What a run comes to: its status, its gaps, the answer's sources, and a list of results that needs no model."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.histories import History, definition
from core.invariants import check_list
from core.moves import histories, walk
from leadhand.app.export.run_document import run_document
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.errors import FailureClass
from leadhand.core.ids import step_of
from leadhand.core.outcome import FlowAnswer, all_gaps, concluded, may_be_used, plain_list, source_numbers
from leadhand.core.run import ENDED, Gap, RunStatus
from leadhand.core.words.failures import out_of_time
from leadhand.core.work_order import Subtask, WorkOrder
from leadhand.core.work_result import DOUBTED, Claim, ClaimVerdict, Doubt, Judgement, Review
from leadhand.verify.claims import citations_in


def gaps(history: History) -> list[Gap]:
    """The gaps of a run that ends now."""
    return all_gaps(history.state, history.policy.answer(history.state))


@given(histories(most_steps=60))
def test_the_plain_list_has_every_result_with_its_own_sources_and_nothing_else(history: History):
    results = [each for each in history.state.steps.values() if each.counts and may_be_used(each)]
    numbers = source_numbers(results)
    lines = plain_list(results).splitlines()

    assert len(lines) == len(results)
    for line, result in zip(lines, results, strict=True):
        assert result.data is not None
        assert result.data.summary in line
        own = sorted(str(numbers[source.title, source.url]) for source in result.data.sources)
        assert sorted(id_ for each in citations_in(line) for id_ in each.ids) == own


@given(histories(to_the_end=True))
def test_everything_asked_for_is_either_in_the_answer_or_a_gap(history: History):
    state, finished = history.state, history.state.finished
    if finished is None:
        return
    missing = {gap.step for gap in finished.gaps if gap.step is not None}
    for each in state.steps.values():
        if not each.order or each.key in finished.left_out:
            continue
        if each.superseded_by is None:
            assert each.ok or each.key in missing, f"{each.key} is {each.status}"
            assert not (each.accepted and each.key in missing)
        else:
            assert each.key not in missing


@given(histories(to_the_end=True))
def test_every_source_is_backed_by_an_event_of_the_subtask_it_came_from(history: History):
    for source in history.state.finished.sources if history.state.finished is not None else ():
        entry = history.log[int(source.event_id.removeprefix("e-")) - 1]
        assert isinstance(entry.event, ev.StepSettled)
        assert entry.event.ok


@given(histories(to_the_end=True))
def test_the_status_is_what_the_evidence_makes_of_it(history: History):
    state, finished = history.state, history.state.finished
    if finished is None or finished.status is RunStatus.CANCELLED:
        return
    if finished.failure is None:
        assert finished.gaps == tuple(all_gaps(state, history.policy.answer(state)))
    judgement = finished.judgement
    doubted = judgement is not None and (judgement.contradicted or (state.definition.strict and judgement.doubts))
    if finished.status is RunStatus.SUCCEEDED:
        assert not finished.gaps
        assert not doubted
    elif finished.status is RunStatus.PARTIAL:
        assert finished.gaps or doubted


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("verdict", ClaimVerdict)
def test_a_doubt_does_not_change_the_status_unless_it_is_a_contradiction_or_the_run_is_strict(
    verdict: ClaimVerdict, strict: bool
):
    history = judged(["accept"])
    state = replace(history.state, definition=history.state.definition.evolve(strict=strict))
    claim = Claim(n=1, text="all is well", verdict=verdict)
    doubt = Doubt(n=1, claim=claim.text, part=claim.text, verdict=verdict, why="so it seems")
    judgement = Judgement(claims=(claim,), doubts=(doubt,) if verdict in DOUBTED else (), judged_by="fake")
    outcome = history.policy.answer(state)._replace(text="all is well", judgement=judgement)

    finished = concluded(state, outcome)

    doubted = verdict is ClaimVerdict.CONTRADICTED or (strict and verdict in DOUBTED)
    assert finished.status is (RunStatus.PARTIAL if doubted else RunStatus.SUCCEEDED)
    assert (finished.answer, finished.judgement, finished.gaps) == ("all is well", judgement, ())


def judged(verdicts: list[str]) -> History:
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
        ],
        "complete": True,
    }
    history.command(do.Judge(work_order_id="wo-001", review=Review.model_validate(review)))
    return history


@given(st.sampled_from(list(FailureClass)))
def test_a_failed_subtask_is_a_gap_of_its_class_with_a_next_action(class_: FailureClass):
    history = History(definition(max_steps=1))
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=(Subtask(name="a"),))
    history.command(do.IssueOrder(order=order))
    history.decide_all()
    while history.live and len(history.log) < 60:
        history.fails(history.live[0], class_)
        history.command(do.Settle(step="wo-001.0"))
    (gap,) = gaps(history)

    if history.live:  # rate limits alone do not end before the deadline
        assert class_ is FailureClass.RATE_LIMITED
    assert gap.class_ is class_
    assert gap.next_action


RAISE_TIMEOUT = "raise timeout, and resume the run"


def ordered(subtasks: int, **limits: Any) -> History:
    """A run whose order is handed out."""
    history = History(definition(**limits))
    issued = tuple(Subtask(name=f"s{number}") for number in range(subtasks))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=issued)))
    history.decide_all()
    return history


def finish_first(history: History) -> None:
    """The first subtask comes back and passes the code checks; the others are still under way."""
    history.works(next(attempt for attempt in history.live if step_of(attempt.attempt) == "wo-001.0"))
    history.command(do.Settle(step="wo-001.0"))


def test_a_cancelled_run_lists_what_was_found_and_has_gaps_for_the_rest() -> None:
    history = ordered(2)
    finish_first(history)
    history.write(ev.RunRequested(what="cancel", by="ann"))
    history.decide_all()

    finished = history.state.finished
    assert finished is not None
    assert (finished.status, finished.answer) == (RunStatus.CANCELLED, "- wo-001.0 is done")
    assert [(gap.step, gap.class_) for gap in finished.gaps] == [("wo-001.1", FailureClass.REJECTED)]
    assert all("ann" in gap.reason for gap in finished.gaps)
    assert not any("raise" in gap.next_action for gap in finished.gaps), "no limit was reached"


def test_what_was_never_begun_names_the_limit_that_ended_the_rest() -> None:
    history = History(definition(batch_size=1, timeout=90))
    issued = (Subtask(name="a"), Subtask(name="b"))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=issued)))
    history.decide_all()
    history.command(do.End(FlowAnswer(failure=out_of_time("so it is", 90))))

    gaps = all_gaps(history.state, history.policy.answer(history.state))
    assert all("so it is" in gap.reason for gap in gaps)
    assert [gap.next_action for gap in gaps] == [RAISE_TIMEOUT] * 2
    assert history.state.finished is not None
    assert history.state.finished.gaps == tuple(gaps)


KEYS = {
    *("run_id", "flow", "request", "status", "answer", "sources", "gaps", "work_orders", "work_states", "work_state"),
    *("value", "evidence", "outcome", "done", "failure", "question", "claims"),
    *("context_store", "artifacts", "approvals", "usage", "limits", "model", "created_at", "finished_at", "last_seq"),
}
"""What is promised of every run of the work-order flow."""
PLAN_FAILED = walk(59, 60, to_the_end=True, max_steps=1)
"""The plan of this run fails after one of its subtasks began."""
REPLANNED = walk(59, 60, to_the_end=True)
"""The plan of this run is written again after one of its subtasks began."""
LEFT_OUT = walk(20, 60, to_the_end=True, max_steps=1)
"""The plan of this run does not contain a subtask that began and is still running."""
TAKEN_OVER = walk(18, 60, to_the_end=True)
"""The order of this run takes over the result of a subtask that began and is still running."""
REJECTED = walk(145, 60, to_the_end=True, max_steps=1)
"""A person settles a subtask of this run, whose result the review rejected."""


def document(history: History) -> dict[str, Any]:
    """The document of a history, as JSON has it."""
    return json.loads(run_document(history.state, owner="host-1").model_dump_json())


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
def test_an_event_in_the_context_store_holds_the_arguments_and_the_outcome(history: History):
    for event in document(history)["context_store"]["events"]:
        assert set(event) >= {"event_id", "timestamp", "task_name", "result", "agent", "content", "refs"}
        assert event["result"] in ("success", "failure")
        if event["result"] == "failure":
            assert set(event["content"]["error"]) >= {"message", "type", "class"}
        assert event["timestamp"].endswith("Z")


@given(histories(most_steps=60))
@example(PLAN_FAILED)
@example(REPLANNED)
@example(LEFT_OUT)
@example(TAKEN_OVER)
@example(REJECTED)
def test_a_list_counts_the_same_subtasks_as_the_page_of_the_run_after_every_event(history: History):
    check_list("run_1", history.log)


def test_nothing_done_is_failure_without_an_answer():
    history = History()
    finished = concluded(history.state, history.policy.answer(history.state))
    assert (finished.status, finished.answer) == (RunStatus.FAILED, "")
    assert finished.failure is not None
