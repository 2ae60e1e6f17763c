"""What a run comes to: its status, its gaps, the answer's sources, and a list of results that needs no model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histories import History, definition
from core.moves import histories
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.errors import FailureClass
from leadhand.core.outcome import all_gaps, concluded, may_be_used, plain_list, source_numbers
from leadhand.core.run import Gap, RunStatus
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
