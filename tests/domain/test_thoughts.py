"""What a lead says is a proposal: what is wrong with it is found by code, and told back in one sentence each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.histories import History
from domain.moves import histories
from leadhand.domain import commands as do
from leadhand.domain.evidence import unsupported_claim
from leadhand.domain.tool import Source
from leadhand.domain.work_order import Assignment, Subtask, WorkOrder
from leadhand.domain.work_result import ResultData, WorkResult
from leadhand.flows.work_order.answer_checks import answer_problems, output_problems, refused_answer
from leadhand.flows.work_order.roles import RoleName


def over(*oks: bool) -> History:
    """A history of one order whose subtasks came back, as well or badly as said; review is next."""
    history = History()
    subtasks = tuple(Subtask(name=f"s{number}", tool="look", args={"n": 1}) for number in range(len(oks)))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=subtasks)))
    history.decide_all()
    for attempt, ok in zip(history.live, oks, strict=True):
        history.works(attempt) if ok else history.fails(attempt, "unavailable")  # pyright: ignore[reportArgumentType]
    for key in list(history.state.unsettled):
        history.command(do.Settle(assignment=key))
    return history


def review_faults(history: History, review: Any) -> str:
    covers = tuple(history.state.orders["wo-001"].order.subtask_keys())
    assignment = Assignment(assignment_id="review-wo-001-0", role=RoleName.REVIEW, input={"covers": list(covers)})
    return "; ".join(output_problems(history.state, assignment, review, ""))


ACCEPT = {"subtask": "wo-001.0", "verdict": "accept"}


def test_a_sound_review_has_no_faults():
    assert review_faults(over(True), {"verdicts": [ACCEPT], "complete": True}) == ""


@pytest.mark.parametrize(
    ("review", "fault"),
    [
        (None, "Input should be"),
        ({"complete": True}, "verdicts: Field required"),
        ({"verdicts": [], "complete": False}, "complete is false and nothing is listed as missing"),
        ({"verdicts": [ACCEPT, ACCEPT], "complete": True}, "two verdicts for wo-001.0"),
        ({"verdicts": [ACCEPT, {**ACCEPT, "subtask": "wo-001.9"}], "complete": True}, "wo-001.9 is not among"),
        ({"verdicts": [{**ACCEPT, "verdict": "splendid"}], "complete": True}, "verdict"),
        ({"verdicts": [{**ACCEPT, "verdict": "replan"}], "complete": False}, "a replan needs a replacement"),
        (
            {
                "verdicts": [{**ACCEPT, "verdict": "replan", "replacement": {"name": "a", "tool": "fly"}}],
                "complete": False,
            },
            "names the tool 'fly', which does not exist",
        ),
        (
            {"verdicts": [ACCEPT], "complete": False, "missing": [{"name": "m", "tool": "look"}]},
            "lacks n, and nothing that it needs supplies it",
        ),
    ],
)
def test_a_review_that_cannot_be_acted_on_is_told_why(review: Any, fault: str):
    assert fault in review_faults(over(True), review)


@pytest.mark.parametrize(
    ("answer", "faults"),
    [
        (" ", ["the text is empty"]),
        ("wo-001.0 is done [2]", ["the text cites [2], and the sources are: [1]"]),
        ("all is well", ["the text leaves out the result of s0"]),
        ("wo-001.0 is done [1]", []),
    ],
)
def test_an_answer_with_faults_is_left_out_of_the_review_that_wrote_it(answer: str, faults: list[str]):
    history = over(True)
    review = {"verdicts": [ACCEPT], "complete": True, "answer": answer}

    assert review_faults(history, review) == "", "the verdicts count all the same"
    assert answer_problems(history.state, answer, ("wo-001.0",)) == faults
    history.decide_all()
    history.thinks(history.live[0], review)
    history.decide_all()
    judged = history.state.orders["wo-001"].review
    assert judged is not None
    assert judged.answer == (None if faults else answer)
    assert ("compose" in history.state.assignments) == bool(faults)


def test_a_failed_subtask_cannot_be_accepted():
    assert "wo-001.0 is failed and cannot be accepted" in review_faults(
        over(False), {"verdicts": [ACCEPT], "complete": True}
    )


def test_a_replacement_cannot_need_what_it_replaces():
    replacement = {"name": "a", "needs": ["wo-001.0"]}
    verdict = {"subtask": "wo-001.0", "verdict": "replan", "replacement": replacement}

    assert "wo-001.0" in review_faults(over(False), {"verdicts": [verdict], "complete": False})


def test_a_review_that_calls_a_whole_order_incomplete_must_say_what_lacks():
    assert review_faults(over(True), {"verdicts": [ACCEPT], "complete": False}) != ""


PLAN = Assignment(assignment_id="plan", role=RoleName.PLAN)


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        ({"goal": "it", "subtasks": []}, "the plan has no subtasks and lists nothing that cannot be done"),
        ({"goal": "", "subtasks": [{"name": "a"}]}, "goal"),
        ({"goal": "it", "subtasks": [{"name": "a", "tool": "fly"}]}, "'fly', which does not exist"),
        ({"goal": "it", "subtasks": [{"name": "a", "needs": [1]}, {"name": "b", "needs": [0]}]}, "cycle"),
        ({"goal": "it", "subtasks": [{"name": "a"}], "steps": 3}, "steps"),
        ("a plan in words", "Input should be"),
        ([], "Input should be"),
    ],
)
def test_a_plan_that_cannot_be_acted_on_is_told_why(plan: Any, fault: str):
    assert fault in "; ".join(output_problems(History().state, PLAN, plan, ""))


def test_a_plan_may_consist_of_what_cannot_be_done():
    plan = {"goal": "it", "cannot": [{"what": "fly", "reason": "there is no tool"}]}

    assert output_problems(History().state, PLAN, plan, "") == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["goal", "subtasks", "name", "needs", "args", "verdicts", "missing", "tool"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
_NEEDS = st.lists(st.one_of(st.integers(-1, 3), st.text(max_size=3)), max_size=3)


@settings(max_examples=2 * settings().max_examples)
@given(_JSON)
def test_whatever_a_lead_says_is_judged_and_never_breaks_anything(said: Any):
    state = History().state
    for role in RoleName:
        found = output_problems(state, Assignment(assignment_id="x", role=role), said, str(said))
        assert all(isinstance(fault, str) and fault for fault in found)


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(_NEEDS, min_size=1, max_size=3))
def test_whatever_needs_a_plan_has_are_judged_and_never_break_anything(needs: list[list[int | str]]):
    plan = {"goal": "it", "subtasks": [{"name": "a", "needs": wanted} for wanted in needs]}

    for fault in output_problems(History().state, PLAN, plan, ""):
        assert fault


@given(histories(), st.text(max_size=30))
def test_an_answer_cites_only_sources_there_are(history: History, text: str):
    compose = Assignment(assignment_id="compose", role=RoleName.COMPOSE)
    second = bool(refused_answer(history.state))

    for number in (0, 9999):
        found = answer_problems(history.state, f"{text} [{number}]")
        assert found
        assert output_problems(history.state, compose, None, f"{text} [{number}]") == ([] if second else found)
    assert answer_problems(history.state, history.text()) == [], "no citation at all"
    assert output_problems(history.state, compose, None, history.text()) == []


# --- evidence --------------------------------------------------------------------------------------------------------


def proof(*calls: tuple[str, bool], tool: str | None = "look", used: tuple[str, ...] = (), source: str = "") -> str:
    """What the gate finds wrong with a result, after calls of tools with or without success."""
    history = History()
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=(Subtask(name="a", tool=tool, args={"n": 1}),))
    history.command(do.IssueOrder(order=order))
    history.decide_all()
    attempt = history.live[0]
    for position, (name, ok) in enumerate(calls):
        history.calls_tool(attempt, history.state.tools[name], ok=ok, position=position)
    data = ResultData(summary="done", sources=(Source(title="A page", url=source),) if source else ())
    result = WorkResult(task_name="a", ok=True, data=data, used=used)
    found = unsupported_claim(history.state, history.state.assignments["wo-001.0"], result)
    return found.message if found is not None else ""


def test_a_result_counts_when_the_log_shows_what_it_claims():
    assert proof(("look", True), used=("wo-001.0/t0/c0",), source="https://example.org/a") == ""
    assert proof(tool=None) == ""


@pytest.mark.parametrize(
    ("calls", "more", "fault"),
    [
        ((), {}, "look was not called"),
        ((("write", True),), {}, "look was not called"),
        ((("look", False),), {}, "it did not work"),
        ((("look", True),), {"used": ("wo-001.0/t0/c1",)}, "the log has no such finished call"),
        ((("look", True), ("write", False)), {"used": ("wo-001.0/t0/c1",)}, "the log has no such finished call"),
        ((("look", True),), {"source": "https://example.org/b"}, "which none of its calls returned"),
    ],
)
def test_a_claim_that_the_log_does_not_show_does_not_count(
    calls: tuple[tuple[str, bool], ...], more: dict[str, Any], fault: str
):
    assert fault in proof(*calls, **more)
