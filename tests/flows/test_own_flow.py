"""Flows of your own: what they want is done within their rights, and the evidence decides how the run ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from domain.histories import History, definition

from flows.scripts import Script
from leadhand.domain import events as ev
from leadhand.domain.errors import FailureClass, UsageError
from leadhand.domain.run import RunDefinition, RunStatus
from leadhand.domain.tool import Source
from leadhand.domain.work_result import ResultData, VerdictKind, WorkResult
from leadhand.flows import Assign, AssignmentView, Finish, Flow, Judge, Outcome, Result, Review, Role, RunView, Verdict


class Translate(Flow):
    """Translate one text into several languages at once."""

    name = "translate"
    version = 1

    class Options(Flow.Options):
        languages: list[str] = ["French", "German"]

    def roles(self, options: Options) -> list[Role]:
        told = "Translate `text` into `language`. Reply with the translation."
        return [Role(name="translator", instructions=told, counts=True, tools=("look",))]

    def next(self, run: RunView[Options]) -> Iterable[Any]:
        if not run.assignments:
            return [
                Assign(
                    id=f"to-{n}",
                    role="translator",
                    title=language,
                    input={"text": run.request, "language": language},
                )
                for n, language in enumerate(run.options.languages)
            ]
        return [] if run.open else [Finish()]

    def outcome(self, run: RunView[Options]) -> Outcome:
        done = [each for each in run.of("translator") if each.ok]
        return Outcome(answer="\n".join(f"{each.title}: {each.text}" for each in done), uses=[each.id for each in done])


class Run(Script):
    """A run of a flow of one's own; after each step the controller decides all that follows."""

    def __init__(self, flow: Flow, **options: Any) -> None:
        what: RunDefinition = definition(max_requests=None, max_tokens=None, budget_nanousd=None).evolve(
            flow=flow.name,
            request="Good morning",
            options=options,
            roles=tuple(flow.roles(flow.checked_options(options))),
        )
        History.__init__(self, what, flow)
        self.decide_all()

    def says(self, key: str, text: str, value: Any = None) -> None:
        """A worker comes back with a text, or with a structured answer."""
        if value is None:
            self.works(self.attempt(key), text)
        else:
            self.thinks(self.attempt(key), value, text)
        self.decide_all()

    def asked(self, request: ev.RetryRequested | ev.SkipRequested | ev.ResultSupplied) -> None:
        """A person asks for something."""
        self.write(request)
        self.decide_all()


def half_done() -> Run:
    """A run that ended without one of its translations."""
    run = Run(Translate())
    run.says("to-0", "Bonjour")
    run.failed("to-1")
    assert run.finished.status is RunStatus.PARTIAL
    return run


# --- what it comes to ------------------------------------------------------------------------------------------------


def test_a_flow_hands_out_its_assignments_at_once_and_ends_with_its_answer():
    run = Run(Translate(), languages=["French", "Dutch"])
    assert run.under_way == ["to-0", "to-1"]
    assert run.facts("to-1") == {"text": "Good morning", "language": "Dutch"}

    run.says("to-1", "Goedemorgen")
    run.says("to-0", "Bonjour")

    assert run.finished.status is RunStatus.SUCCEEDED
    assert run.finished.answer == "French: Bonjour\nDutch: Goedemorgen"
    assert (run.finished.gaps, run.finished.failure) == ((), None)


def test_a_failed_assignment_that_counts_is_a_gap_by_itself_with_class_cause_and_next_step():
    run = half_done()

    assert run.finished.answer.startswith("French: Bonjour\n\nNot answered:\n- ")
    (gap,) = run.finished.gaps
    assert (gap.assignment, gap.name, gap.class_) == ("to-1", "German", FailureClass.UNAVAILABLE)
    assert (gap.work_order_id, gap.subtask_index) == (None, None)
    assert gap.reason == "it did not work"
    assert gap.next_action


def test_a_run_whose_assignments_all_fail_has_failed():
    run = Run(Translate())
    run.failed("to-0")
    run.failed("to-1")

    assert run.finished.status is RunStatus.FAILED
    assert "No part of the request could be answered" in run.finished.answer
    assert [gap.name for gap in run.finished.gaps] == ["French", "German"]


def test_a_flow_may_do_without_an_assignment_that_failed():
    class AnyLanguage(Translate):
        def outcome(self, run: RunView[Any]) -> Outcome:
            return super().outcome(run)._replace(waived=[each.id for each in run.of("translator") if each.failed])

    run = Run(AnyLanguage())
    run.says("to-0", "Bonjour")
    run.failed("to-1")

    assert run.finished.status is RunStatus.SUCCEEDED
    assert run.finished.gaps == ()


def test_an_answer_that_rests_on_nothing_has_failed_whatever_its_flow_says():
    class Boasting(Translate):
        def outcome(self, run: RunView[Any]) -> Outcome:
            return Outcome(answer="It is all done.", uses=["to-0", "to-9"], waived=["to-0", "to-1"])

    run = Run(Boasting())
    run.failed("to-0")
    run.failed("to-1")

    assert run.finished.status is RunStatus.FAILED
    assert run.finished.sources == ()


def test_the_sources_of_an_answer_are_those_of_the_results_it_uses():
    class OnlyGerman(Translate):
        def outcome(self, run: RunView[Any]) -> Outcome:
            return Outcome(answer="Guten Morgen", uses=["to-1"])

    run = Run(OnlyGerman())
    for number in range(2):
        attempt = run.attempt(f"to-{number}")
        run.starts(attempt)
        call_id = run.calls_tool(attempt, run.state.tools["look"], ok=True)
        found = Source(title="A page", url="https://example.org/a")
        data = ResultData(summary=f"text {number}", sources=(found,) if number else ())
        run.returns(attempt, WorkResult(task_name="x", ok=True, data=data, used=(call_id,)))
        run.decide_all()

    (source,) = run.finished.sources
    assert source.url == "https://example.org/a"
    settled = run.log[int(source.event_id.removeprefix("e-")) - 1].event
    assert isinstance(settled, ev.AttemptSettled)
    assert settled.attempt == "to-1/a1"


def test_without_an_outcome_of_its_own_the_answer_is_every_result_that_counts():
    class Plain(Translate):
        outcome = Flow.outcome

    run = Run(Plain())
    run.says("to-0", "Bonjour")
    run.says("to-1", "Guten Morgen")

    assert run.finished.answer == "Bonjour\n\nGuten Morgen"
    assert run.finished.status is RunStatus.SUCCEEDED


# --- what people ask for after the end -------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [("to-1",), ()], ids=["named", "everything that failed"])
def test_a_retry_after_the_end_does_a_failed_assignment_again_under_its_own_id(keys: tuple[str, ...]):
    run = half_done()
    run.asked(ev.RetryRequested(by="me", subtasks=keys))

    assert run.state.status is RunStatus.RUNNING
    assert run.under_way == ["to-1"]
    assert run.attempt("to-1").attempt == "to-1/a2"
    assert run.facts("to-1") == {"text": "Good morning", "language": "German"}
    run.says("to-1", "Guten Morgen")

    assert run.finished.status is RunStatus.SUCCEEDED
    assert run.finished.answer == "French: Bonjour\nGerman: Guten Morgen"
    assert (run.finished.number, run.finished.gaps) == (2, ())
    assert [answer.status for answer in run.state.answers] == [RunStatus.PARTIAL]
    assert list(run.state.assignments) == ["to-0", "to-1"]


def test_a_retry_may_change_the_input_of_an_assignment():
    run = half_done()
    run.asked(ev.RetryRequested(by="me", subtasks=("to-1",), args={"text": "Good evening", "language": "German"}))

    assert run.facts("to-1") == {"text": "Good evening", "language": "German"}


def test_a_retry_that_fails_again_leaves_the_gap_and_may_be_asked_for_again():
    run = half_done()
    run.asked(ev.RetryRequested(by="me"))
    run.failed("to-1")
    assert (run.finished.number, run.finished.status) == (2, RunStatus.PARTIAL)

    run.asked(ev.RetryRequested(by="me"))
    assert run.attempt("to-1").attempt == "to-1/a3"
    run.says("to-1", "Guten Morgen")
    assert (run.finished.number, run.finished.status) == (3, RunStatus.SUCCEEDED)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (ev.RetryRequested(by="me", subtasks=("to-0",)), "to-0 is completed, so it cannot be retried"),
        (ev.SkipRequested(by="me", subtask="to-0"), "to-0 is completed"),
        (ev.ResultSupplied(by="me", subtask="to-0", summary="Salut"), "to-0 is already completed"),
        (ev.RetryRequested(by="me", subtasks=("to-7",)), "no subtask to-7"),
    ],
)
def test_what_cannot_be_asked_for_is_declined_with_a_reason_and_the_run_stays_over(request_: Any, reason: str):
    run = half_done()
    run.asked(request_)

    (declined,) = [entry.event for entry in run.log if isinstance(entry.event, ev.RequestDeclined)]
    assert reason in declined.reason
    assert (run.finished.number, run.finished.status) == (1, RunStatus.PARTIAL)


def test_a_failed_assignment_that_a_person_skips_is_a_gap_that_says_so():
    run = half_done()
    run.asked(ev.SkipRequested(by="Ann", subtask="to-1", reason="nobody reads it"))

    assert (run.finished.number, run.finished.status) == (2, RunStatus.PARTIAL)
    (gap,) = run.finished.gaps
    assert (gap.assignment, gap.class_) == ("to-1", FailureClass.REJECTED)
    assert gap.reason == "Ann skipped it: nobody reads it"


def test_a_failed_assignment_is_completed_by_the_result_that_a_person_supplies():
    run = half_done()
    run.asked(ev.ResultSupplied(by="Ann", subtask="to-1", summary="Guten Morgen", raw={"n": 1}))

    assert (run.finished.number, run.finished.status) == (2, RunStatus.SUCCEEDED)
    assert run.finished.answer == "French: Bonjour\nGerman: Guten Morgen"
    assert run.state.assignments["to-1"].by == "Ann"


def test_an_assignment_that_waits_may_be_skipped_and_supplied_while_the_run_is_under_way():
    run = Run(Translate())
    run.park("to-0")
    run.park("to-1")
    run.asked(ev.SkipRequested(by="Ann", subtask="to-0"))
    run.asked(ev.ResultSupplied(by="Ann", subtask="to-1", summary="Guten Morgen"))

    assert run.finished.status is RunStatus.PARTIAL
    assert run.finished.answer.startswith("German: Guten Morgen\n\nNot answered:\n- ")


# --- needs, facts, problems ------------------------------------------------------------------------------------------


class Chain(Flow):
    """Research, then a text that needs it; the text is checked."""

    name = "chain"

    def roles(self, options: Any) -> list[Role]:
        return [Role(name="researcher", counts=True), Role(name="writer", counts=True)]

    def next(self, run: RunView[Any]) -> Iterable[Any]:
        if not run.assignments:
            yield Assign(id="notes", role="researcher", input={"topic": run.request})
            yield Assign(id="text", role="writer", needs=["notes"])
        elif not run.open:
            yield Finish()

    def facts(self, run: RunView[Any], assignment: AssignmentView) -> Mapping[str, Any]:
        return {"style": "short"} if assignment.role == "writer" else {}

    def problems(self, run: RunView[Any], assignment: AssignmentView, result: Result) -> Sequence[str]:
        if assignment.id == "text" and run.assignments["notes"].text not in result.text:
            return ["the notes are not in it"]
        return []


def test_an_assignment_starts_when_what_it_needs_is_there_and_is_told_of_it():
    run = Run(Chain())
    assert run.under_way == ["notes"]
    assert run.facts("notes") == {"topic": "Good morning"}

    run.says("notes", "sun")
    assert run.under_way == ["text"]
    assert run.facts("text") == {
        "style": "short",
        "needs": {"notes": {"summary": "sun", "raw": None, "sample": False}},
    }


def test_a_result_that_its_flow_finds_wrong_is_asked_for_again_and_the_worker_is_told_why():
    run = Run(Chain())
    run.says("notes", "sun")
    run.says("text", "It rains.")
    again = run.attempt("text")
    assert (again.attempt, again.feedback) == ("text/a2", "the notes are not in it")

    run.says("text", "There is sun.")
    assert run.finished.status is RunStatus.SUCCEEDED


def test_what_needs_a_failed_assignment_is_given_up_and_goes_again_with_it():
    run = Run(Chain())
    run.failed("notes")
    assert [(gap.assignment, gap.class_) for gap in run.finished.gaps] == [
        ("notes", FailureClass.UNAVAILABLE),
        ("text", FailureClass.BLOCKED),
    ]

    run.asked(ev.RetryRequested(by="me"))
    assert run.under_way == ["notes"]
    run.says("notes", "sun")
    run.says("text", "There is sun.")
    assert (run.finished.number, run.finished.status) == (2, RunStatus.SUCCEEDED)


def test_what_needs_a_failed_assignment_goes_on_with_the_result_that_a_person_supplies():
    run = Run(Chain())
    run.failed("notes")
    run.asked(ev.ResultSupplied(by="me", subtask="notes", summary="sun"))
    assert run.under_way == ["text"]

    run.says("text", "There is sun.")
    assert run.finished.status is RunStatus.SUCCEEDED


# --- verdicts --------------------------------------------------------------------------------------------------------


class Judged(Flow):
    """A draft that a critic judges as often as it writes another critique: retry at first, then as it says."""

    name = "judged"

    class Options(Flow.Options):
        verdicts: list[str] = ["accept"]

    def roles(self, options: Any) -> list[Role]:
        return [Role(name="writer", counts=True), Role(name="critic", output={"type": "object"}, loop="reply")]

    def next(self, run: RunView[Any]) -> Iterable[Any]:
        if not run.assignments:
            return [Assign(id="draft", role="writer")]
        if run.open:
            return []
        critiques = run.of("critic")
        if critiques and critiques[-1].ok:
            wanted = critiques[-1].value["verdict"]
            verdict = run.assignments["draft"].verdict
            if verdict is None or verdict.verdict != wanted:
                said = Verdict(subtask="draft", verdict=VerdictKind(wanted), reason="so it seems")
                return [Judge(Review(verdicts=(said,), complete=wanted == "accept"))]
        if len(critiques) < len(run.options.verdicts):
            return [Assign(id=f"critique-{len(critiques)}", role="critic", needs=["draft"])]
        return [Finish()]


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
    run = Run(Judged(), verdicts=verdicts)
    run.says("draft", "a text")
    for number, verdict in enumerate(verdicts):
        run.says(f"critique-{number}", "", {"verdict": verdict})

    judged = [entry.event for entry in run.log if isinstance(entry.event, ev.ResultsJudged)]
    assert [event.review.verdicts[0].verdict for event in judged] == verdicts
    view = RunView(run.state, None)
    assert [each.id for each in view.judged] == ["draft"]
    verdict = view.assignments["draft"].verdict
    assert verdict is not None
    assert verdict.verdict == verdicts[-1]
    assert run.finished.status is status
    if status is RunStatus.SUCCEEDED:
        assert (run.finished.answer, run.finished.gaps) == ("a text", ())
    else:
        assert "a text" not in run.finished.answer, "a result that was rejected is in the answer"
        (gap,) = run.finished.gaps
        assert (gap.assignment, gap.class_, gap.reason) == ("draft", FailureClass.INSUFFICIENT, "so it seems")
        assert gap.next_action


def test_a_verdict_on_what_failed_cannot_accept_it():
    run = Run(Translate())
    run.failed("to-0")
    accepted = Verdict(subtask="to-0", verdict=VerdictKind.ACCEPT)
    assert run.command(Judge(Review(verdicts=(accepted,), complete=True)))

    assert not run.state.assignments["to-0"].accepted
    assert run.state.assignments["to-0"].status == "failed"


def test_what_is_under_way_or_unknown_cannot_be_judged_and_the_same_verdict_is_given_once():
    run = Run(Translate())
    for key in ("to-0", "to-9"):
        verdict = Verdict(subtask=key, verdict=VerdictKind.DROP)
        assert not run.command(Judge(Review(verdicts=(verdict,), complete=False)))
    assert not run.command(Judge(Review(verdicts=(), complete=True)))

    run.says("to-0", "Bonjour")
    judge = Judge(Review(verdicts=(Verdict(subtask="to-0", verdict=VerdictKind.ACCEPT),), complete=True))
    assert run.command(judge)
    assert not run.command(judge)
    assert run.refusal == "these verdicts are already recorded"


# --- flows that go wrong ---------------------------------------------------------------------------------------------


def broken(method: str, when: int = 0) -> Flow:
    """The translating flow, with a method that raises once so many of its assignments are done."""

    def raises(self: Any, run: RunView[Any], *more: Any) -> Any:
        if sum(each.ok for each in run.assignments.values()) >= when:
            raise KeyError("text")
        return getattr(Translate, method)(self, run, *more)

    return type("Broken", (Translate,), {method: raises})()


def check_failure(run: Run) -> None:
    """The end of the run says what the flow raised, of which class it is, and what to do."""
    told = [run.finished.failure] if run.finished.failure is not None else run.finished.gaps
    assert told
    for each in told:
        said = each.message if hasattr(each, "message") else each.reason
        assert "raised KeyError: 'text'" in said
        assert "Broken." in said
        assert each.class_ is FailureClass.UNAVAILABLE
        assert "fix the flow" in each.next_action


def test_a_flow_that_cannot_say_what_comes_first_fails_its_run():
    run = Run(broken("next"))

    assert run.finished.status is RunStatus.FAILED
    check_failure(run)


def test_a_flow_that_raises_on_the_way_keeps_what_was_found_and_does_not_succeed():
    run = Run(broken("next", when=1))
    run.says("to-0", "Bonjour")

    assert run.finished.status is RunStatus.PARTIAL
    assert "Bonjour" in run.finished.answer
    check_failure(run)
    assert [gap.assignment for gap in run.finished.gaps] == ["to-1"]


def test_a_flow_that_raises_at_the_end_keeps_what_was_found_and_does_not_succeed():
    run = Run(broken("next", when=2))
    run.says("to-0", "Bonjour")
    run.says("to-1", "Guten Morgen")

    assert run.finished.status is RunStatus.PARTIAL, "its flow did not say that this is all"
    assert "Bonjour" in run.finished.answer
    assert "Guten Morgen" in run.finished.answer
    check_failure(run)


def test_a_flow_that_cannot_state_its_outcome_keeps_what_was_found():
    run = Run(broken("outcome"))
    run.says("to-0", "Bonjour")
    run.says("to-1", "Guten Morgen")

    assert run.finished.status is RunStatus.PARTIAL
    assert "Bonjour" in run.finished.answer
    assert "Guten Morgen" in run.finished.answer
    check_failure(run)


def test_a_flow_that_cannot_state_its_outcome_of_nothing_has_failed():
    run = Run(broken("outcome"))
    run.failed("to-0")
    run.failed("to-1")

    assert run.finished.status is RunStatus.FAILED
    assert any("raised KeyError: 'text'" in gap.reason for gap in run.finished.gaps)


def test_a_flow_that_cannot_check_a_result_does_not_have_the_model_asked_again():
    run = Run(broken("problems"))
    run.says("to-0", "Bonjour")
    assert run.under_way == ["to-1"], "a model cannot fix the flow"
    run.says("to-1", "Guten Morgen")

    assert run.finished.status is RunStatus.FAILED
    check_failure(run)


@pytest.mark.parametrize("method", ["next", "outcome"])
@pytest.mark.parametrize("returned", [None, 7, "done", [None]], ids=repr)
def test_a_flow_that_returns_what_it_should_not_ends_its_run_with_the_cause(method: str, returned: Any):
    run = Run(type("Odd", (Translate,), {method: lambda *_: returned})())
    for key in list(run.under_way):
        run.says(key, "text")

    assert run.finished.status in (RunStatus.FAILED, RunStatus.PARTIAL)
    said = " ".join(
        [run.finished.failure.message if run.finished.failure else "", *(g.reason for g in run.finished.gaps)]
    )
    assert f"Odd.{method}" in said


def test_a_flow_that_forgets_to_end_its_run_does_not_hang_it():
    class Endless(Translate):
        def next(self, run: RunView[Any]) -> Iterable[Any]:
            return [each for each in super().next(run) if not isinstance(each, Finish)]

    run = Run(Endless())
    run.says("to-0", "Bonjour")
    run.says("to-1", "Guten Morgen")

    assert run.finished.failure is not None
    assert (run.finished.failure.type, run.finished.failure.class_) == ("no_progress", FailureClass.EXHAUSTED)
    assert "Bonjour" in run.finished.answer
    assert run.finished.status is RunStatus.PARTIAL, "its flow did not say that this is all"


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (Assign(id="a", role="nobody"), "a names the role 'nobody', which the flow does not define"),
        (Assign(id="a", role="translator", tools=("send",)), "a may not use send"),
        (Assign(id="a", role="translator", needs=("b",)), "a needs 'b', which does not exist"),
        (Assign(id="a/b", role="translator"), "is not a valid assignment id"),
    ],
)
def test_a_flow_that_wants_what_is_not_allowed_ends_its_run_with_the_reason(wanted: Assign, reason: str):
    class Wanting(Translate):
        def next(self, run: RunView[Any]) -> Iterable[Any]:
            return [wanted]

    run = Run(Wanting())

    assert run.finished.status is RunStatus.FAILED
    assert run.finished.failure is not None
    assert reason in run.finished.failure.message
    assert "translate" in run.finished.failure.message
    assert run.finished.failure.next_action


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"language": "French"}, "the flow translate has no option 'language'"),
        ({"languages": "French"}, "invalid value for the option languages of the flow translate"),
    ],
)
def test_options_that_are_unknown_or_wrong_are_refused(options: dict[str, Any], what: str):
    with pytest.raises(UsageError) as raised:
        Translate.checked_options(options)
    assert raised.value.what.startswith(what)
    assert raised.value.how


def test_a_flow_without_options_says_so():
    with pytest.raises(UsageError) as raised:
        Chain.checked_options({"style": "long"})
    assert raised.value.how == "Leave it out: the flow chain has none."


def test_a_cancelled_run_keeps_what_was_found_and_asks_its_flow_nothing_more():
    run = Run(Translate())
    run.says("to-0", "Bonjour")
    run.write(ev.CancelRequested(by="Ann"))
    run.decide_all()

    assert run.finished.status is RunStatus.CANCELLED
    assert run.finished.answer.startswith("French: Bonjour\n\nNot answered:\n- ")
    assert [gap.name for gap in run.finished.gaps] == ["German"]
