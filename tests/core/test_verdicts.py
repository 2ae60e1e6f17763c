"""Verdicts on results that belong to no order: the latest counts, and none accepts what failed."""

from __future__ import annotations

import pytest

from core.histories import History
from core.own import assigned, comes_back, history_of
from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.errors import FailureClass
from leadhand.core.run import RunStatus
from leadhand.core.work_result import ResultData, Review, Verdict, VerdictKind
from leadhand.core.worker import Worker

WRITER = Worker(name="writer", counts=True)


def drafted() -> History:
    """A run with one finished text."""
    history = history_of(WRITER)
    assigned(history, "draft", "writer")
    comes_back(history, "draft", ResultData(summary="a text"))
    return history


def judge(*verdicts: tuple[str, str]) -> do.Judge:
    said = tuple(Verdict(subtask=key, verdict=VerdictKind(kind), reason="so it seems") for key, kind in verdicts)
    return do.Judge(Review(verdicts=said, complete=False))


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        (["accept"], RunStatus.SUCCEEDED),
        (["drop"], RunStatus.FAILED),
        (["retry"], RunStatus.FAILED),
        (["drop", "accept"], RunStatus.SUCCEEDED),
        (["accept", "drop"], RunStatus.FAILED),
    ],
)
def test_a_result_counts_as_its_latest_verdict_says(verdicts: list[str], status: RunStatus):
    history = drafted()
    for verdict in verdicts:
        assert history.command(judge(("draft", verdict))), history.refusal
    assert history.command(do.End())

    judged = [entry.event for entry in history.log if isinstance(entry.event, ev.ResultsJudged)]
    assert [event.review.verdicts[0].verdict for event in judged] == verdicts
    finished = history.state.finished
    assert finished is not None
    assert finished.status is status
    if status is RunStatus.SUCCEEDED:
        assert (finished.answer, finished.gaps) == ("a text", ())
    else:
        assert "a text" not in finished.answer, "a result that was rejected is in the answer"
        (gap,) = finished.gaps
        assert (gap.step, gap.class_, gap.reason) == ("draft", FailureClass.INSUFFICIENT, "so it seems")
        assert gap.next_action


def test_a_verdict_on_what_failed_cannot_accept_it():
    history = history_of(WRITER)
    history.fails(assigned(history, "draft", "writer"), FailureClass.UNAVAILABLE)
    assert history.command(do.Settle(step="draft"))
    assert history.command(judge(("draft", "accept")))

    assert not history.state.steps["draft"].accepted
    assert history.state.steps["draft"].status == "failed"


def test_what_is_under_way_or_unknown_cannot_be_judged_and_the_same_verdict_is_given_once():
    history = history_of(WRITER)
    assigned(history, "draft", "writer")
    for key in ("draft", "nothing"):
        assert not history.command(judge((key, "drop")))
    assert not history.command(judge())

    comes_back(history, "draft", ResultData(summary="a text"))
    accept = judge(("draft", "accept"))
    assert history.command(accept)
    assert not history.command(accept)
