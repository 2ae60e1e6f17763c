"""Flows of your own: what they want is done within their rights, and the evidence decides how the run ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from core.histories import History, definition
from refusals import refused

from flows.scripts import Script
from leadhand.core import events as ev
from leadhand.core.errors import FailureClass, UsageError
from leadhand.core.run import RunDefinition, RunStatus
from leadhand.core.tool import Source
from leadhand.core.work_result import ResultData, VerdictKind, WorkResult
from leadhand.flows import Finish, Flow, IssueStep, Judge, Outcome, Result, Review, RunView, StepView, Verdict, Worker


class Translate(Flow):
    """Translate one text into several languages at once."""

    name = "translate"
    version = 1

    class Options(Flow.Options):
        languages: list[str] = ["French", "German"]

    def roles(self, options: Options) -> list[Worker]:
        return [Worker(name="translator", instructions="Translate.", counts=True, tools=("look",))]

    def next(self, run: RunView[Options]) -> Iterable[Any]:
        if not run.steps:
            return [
                IssueStep(
                    id=f"to-{n}",
                    worker="translator",
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
            workers=tuple(flow.roles(flow.checked_options(options))),
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

    def asked(self, request: ev.StepRequested) -> None:
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


def test_a_flow_hands_out_its_steps_at_once_and_ends_with_its_answer():
    run = Run(Translate(), languages=["French", "Dutch"])
    assert run.under_way == ["to-0", "to-1"]
    assert run.facts("to-1") == {"text": "Good morning", "language": "Dutch"}

    run.says("to-1", "Goedemorgen")
    run.says("to-0", "Bonjour")

    assert run.finished.status is RunStatus.SUCCEEDED
    assert run.finished.answer == "French: Bonjour\nDutch: Goedemorgen"
    assert (run.finished.gaps, run.finished.failure) == ((), None)


def test_a_failed_step_that_counts_is_a_gap_by_itself_with_class_cause_and_next_step():
    run = half_done()

    assert run.finished.answer == "French: Bonjour"
    (gap,) = run.finished.gaps
    assert (gap.step, gap.name, gap.class_) == ("to-1", "German", FailureClass.UNAVAILABLE)
    assert (gap.work_order_id, gap.subtask_index) == (None, None)
    failure = run.state.steps["to-1"].failure
    assert failure is not None
    assert gap.reason == failure.message
    assert gap.next_action


def test_a_run_whose_steps_all_fail_has_failed():
    run = Run(Translate())
    run.failed("to-0")
    run.failed("to-1")

    assert (run.finished.status, run.finished.answer) == (RunStatus.FAILED, "")
    assert [gap.name for gap in run.finished.gaps] == ["French", "German"]


def test_a_flow_may_do_without_a_step_that_failed():
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
            return Outcome(answer="All done.", uses=["to-0", "to-9"], waived=["to-0", "to-1"])

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
    assert isinstance(settled, ev.StepSettled)
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
def test_a_retry_after_the_end_does_a_failed_step_again_under_its_own_id(keys: tuple[str, ...]):
    run = half_done()
    run.asked(ev.StepRequested(what="retry", by="me", steps=keys))

    assert run.state.status is RunStatus.RUNNING
    assert run.under_way == ["to-1"]
    assert run.attempt("to-1").attempt == "to-1/a2"
    assert run.facts("to-1") == {"text": "Good morning", "language": "German"}
    run.says("to-1", "Guten Morgen")

    assert run.finished.status is RunStatus.SUCCEEDED
    assert run.finished.answer == "French: Bonjour\nGerman: Guten Morgen"
    assert (run.finished.number, run.finished.gaps) == (2, ())
    assert [answer.status for answer in run.state.answers] == [RunStatus.PARTIAL]
    assert list(run.state.steps) == ["to-0", "to-1"]


def test_a_retry_may_change_the_input_of_a_step():
    run = half_done()
    run.asked(
        ev.StepRequested(what="retry", by="me", steps=("to-1",), args={"text": "Good evening", "language": "German"})
    )

    assert run.facts("to-1") == {"text": "Good evening", "language": "German"}


def test_a_retry_that_fails_again_leaves_the_gap_and_may_be_asked_for_again():
    run = half_done()
    run.asked(ev.StepRequested(what="retry", by="me"))
    run.failed("to-1")
    assert (run.finished.number, run.finished.status) == (2, RunStatus.PARTIAL)

    run.asked(ev.StepRequested(what="retry", by="me"))
    assert run.attempt("to-1").attempt == "to-1/a3"
    run.says("to-1", "Guten Morgen")
    assert (run.finished.number, run.finished.status) == (3, RunStatus.SUCCEEDED)


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (ev.StepRequested(what="retry", by="me", steps=("to-0",)), "to-0"),
        (ev.StepRequested(what="skip", by="me", steps=("to-0",)), "to-0"),
        (ev.StepRequested(what="supply", by="me", steps=("to-0",), summary="Salut"), "to-0"),
        (ev.StepRequested(what="retry", by="me", steps=("to-7",)), "to-7"),
    ],
)
def test_what_cannot_be_asked_for_is_declined_with_a_reason_and_the_run_stays_over(request_: Any, named: str):
    run = half_done()
    run.asked(request_)

    (declined,) = [entry.event for entry in run.log if isinstance(entry.event, ev.RequestDecided)]
    assert named in declined.declined
    assert (run.finished.number, run.finished.status) == (1, RunStatus.PARTIAL)


def test_a_failed_step_that_a_person_skips_is_a_gap_that_says_so():
    run = half_done()
    run.asked(ev.StepRequested(what="skip", by="Ann", steps=("to-1",), reason="nobody reads it"))

    assert (run.finished.number, run.finished.status) == (2, RunStatus.PARTIAL)
    (gap,) = run.finished.gaps
    assert (gap.step, gap.class_) == ("to-1", FailureClass.REJECTED)
    assert "Ann" in gap.reason
    assert gap.reason.endswith("nobody reads it")


def test_a_failed_step_is_completed_by_the_result_that_a_person_supplies():
    run = half_done()
    run.asked(ev.StepRequested(what="supply", by="Ann", steps=("to-1",), summary="Guten Morgen", raw={"n": 1}))

    assert (run.finished.number, run.finished.status) == (2, RunStatus.SUCCEEDED)
    assert run.finished.answer == "French: Bonjour\nGerman: Guten Morgen"
    assert run.state.steps["to-1"].by == "Ann"


def test_a_step_that_waits_may_be_skipped_and_supplied_while_the_run_is_under_way():
    run = Run(Translate())
    run.park("to-0")
    run.park("to-1")
    run.asked(ev.StepRequested(what="skip", by="Ann", steps=("to-0",)))
    run.asked(ev.StepRequested(what="supply", by="Ann", steps=("to-1",), summary="Guten Morgen"))

    assert (run.finished.status, run.finished.answer) == (RunStatus.PARTIAL, "German: Guten Morgen")


# --- needs, facts, problems ------------------------------------------------------------------------------------------


class Chain(Flow):
    """Research, then a text that needs it; the text is checked."""

    name = "chain"

    def roles(self, options: Any) -> list[Worker]:
        return [Worker(name="researcher", counts=True), Worker(name="writer", counts=True)]

    def next(self, run: RunView[Any]) -> Iterable[Any]:
        if not run.steps:
            yield IssueStep(id="notes", worker="researcher", input={"topic": run.request})
            yield IssueStep(id="text", worker="writer", needs=["notes"])
        elif not run.open:
            yield Finish()

    def facts(self, run: RunView[Any], step: StepView) -> Mapping[str, Any]:
        return {"style": "short"} if step.worker == "writer" else {}

    def problems(self, run: RunView[Any], step: StepView, result: Result) -> Sequence[str]:
        if step.id == "text" and run.steps["notes"].text not in result.text:
            return ["no notes"]
        return []


def test_a_step_starts_when_what_it_needs_is_there_and_is_told_of_it():
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
    assert (again.attempt, again.feedback) == ("text/a2", "no notes")

    run.says("text", "There is sun.")
    assert run.finished.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("supplied", [False, True])
def test_what_needs_a_failed_step_is_given_up_and_goes_on_with_it(*, supplied: bool):
    run = Run(Chain())
    run.failed("notes")
    assert [(gap.step, gap.class_) for gap in run.finished.gaps] == [
        ("notes", FailureClass.UNAVAILABLE),
        ("text", FailureClass.BLOCKED),
    ]

    if supplied:
        run.asked(ev.StepRequested(what="supply", by="me", steps=("notes",), summary="sun"))
    else:
        run.asked(ev.StepRequested(what="retry", by="me"))
        run.says("notes", "sun")
    assert run.under_way == ["text"]
    run.says("text", "There is sun.")
    assert (run.finished.number, run.finished.status) == (2, RunStatus.SUCCEEDED)


# --- verdicts --------------------------------------------------------------------------------------------------------


class Judged(Flow):
    """A draft that a critic judges as often as it writes another critique: retry at first, then as it says."""

    name = "judged"

    class Options(Flow.Options):
        verdicts: list[str] = ["accept"]

    def roles(self, options: Any) -> list[Worker]:
        return [Worker(name="writer", counts=True), Worker(name="critic", output={"type": "object"}, loop="reply")]

    def next(self, run: RunView[Any]) -> Iterable[Any]:
        if not run.steps:
            return [IssueStep(id="draft", worker="writer")]
        if run.open:
            return []
        critiques = run.of("critic")
        if critiques and critiques[-1].ok:
            wanted = critiques[-1].value["verdict"]
            verdict = run.steps["draft"].verdict
            if verdict is None or verdict.verdict != wanted:
                said = Verdict(subtask="draft", verdict=VerdictKind(wanted), reason="so it seems")
                return [Judge(Review(verdicts=(said,), complete=wanted == "accept"))]
        if len(critiques) < len(run.options.verdicts):
            return [IssueStep(id=f"critique-{len(critiques)}", worker="critic", needs=["draft"])]
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
    verdict = view.steps["draft"].verdict
    assert verdict is not None
    assert verdict.verdict == verdicts[-1]
    assert run.finished.status is status
    if status is RunStatus.SUCCEEDED:
        assert (run.finished.answer, run.finished.gaps) == ("a text", ())
    else:
        assert "a text" not in run.finished.answer, "a result that was rejected is in the answer"
        (gap,) = run.finished.gaps
        assert (gap.step, gap.class_, gap.reason) == ("draft", FailureClass.INSUFFICIENT, "so it seems")
        assert gap.next_action


def test_a_verdict_on_what_failed_cannot_accept_it():
    run = Run(Translate())
    run.failed("to-0")
    accepted = Verdict(subtask="to-0", verdict=VerdictKind.ACCEPT)
    assert run.command(Judge(Review(verdicts=(accepted,), complete=True)))

    assert not run.state.steps["to-0"].accepted
    assert run.state.steps["to-0"].status == "failed"


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


# --- flows that go wrong ---------------------------------------------------------------------------------------------


def broken(method: str, when: int = 0) -> Flow:
    """The translating flow, with a method that raises once so many of its steps are done."""

    def raises(self: Any, run: RunView[Any], *more: Any) -> Any:
        if sum(each.ok for each in run.steps.values()) >= when:
            raise KeyError("text")
        return getattr(Translate, method)(self, run, *more)

    return type("Broken", (Translate,), {method: raises})()


@pytest.mark.parametrize(
    ("method", "when", "done", "status"),
    [
        ("next", 0, 0, RunStatus.FAILED),
        ("next", 1, 1, RunStatus.PARTIAL),
        ("next", 2, 2, RunStatus.PARTIAL),
        ("outcome", 0, 2, RunStatus.PARTIAL),
        ("problems", 0, 2, RunStatus.FAILED),  # and the worker is not asked again: a model cannot fix the flow
    ],
)
def test_a_flow_that_raises_keeps_what_was_found_and_does_not_succeed(
    method: str, when: int, done: int, status: RunStatus
):
    run = Run(broken(method, when))
    said = ("Bonjour", "Guten Morgen")[:done]
    for number, text in enumerate(said):
        run.says(f"to-{number}", text)

    assert run.finished.status is status
    assert all((text in run.finished.answer) is (status is RunStatus.PARTIAL) for text in said)
    told = [run.finished.failure] if run.finished.failure is not None else run.finished.gaps
    assert told
    for each in told:
        reason = each.message if hasattr(each, "message") else each.reason
        assert "Broken." in reason
        assert "KeyError: 'text'" in reason
        assert each.class_ is FailureClass.UNAVAILABLE
        assert each.next_action


def test_a_flow_that_cannot_state_its_outcome_of_nothing_has_failed():
    run = Run(broken("outcome"))
    run.failed("to-0")
    run.failed("to-1")

    assert run.finished.status is RunStatus.FAILED
    assert any("KeyError: 'text'" in gap.reason for gap in run.finished.gaps)


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
    ("wanted", "named"),
    [
        (IssueStep(id="a", worker="nobody"), "'nobody'"),
        (IssueStep(id="a", worker="translator", tools=("send",)), "send"),
        (IssueStep(id="a", worker="translator", needs=("b",)), "'b'"),
        (IssueStep(id="a/b", worker="translator"), "a/b"),
    ],
)
def test_a_flow_that_wants_what_is_not_allowed_ends_its_run_with_the_reason(wanted: IssueStep, named: str):
    class Wanting(Translate):
        def next(self, run: RunView[Any]) -> Iterable[Any]:
            return [wanted]

    run = Run(Wanting())

    assert run.finished.status is RunStatus.FAILED
    assert run.finished.failure is not None
    assert named in run.finished.failure.message
    assert "translate" in run.finished.failure.message
    assert run.finished.failure.next_action


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flow", "options", "named"),
    [
        (Translate(), {"language": "French"}, "'language'"),
        (Translate(), {"languages": "French"}, "languages"),
        (Chain(), {"style": "long"}, "'style'"),
    ],
    ids=["unknown", "wrong", "none"],
)
def test_options_that_are_unknown_or_wrong_are_refused(flow: Flow, options: dict[str, Any], named: str):
    with refused(UsageError, flow.name, named):
        flow.checked_options(options)


def test_a_cancelled_run_keeps_what_was_found_and_asks_its_flow_nothing_more():
    run = Run(Translate())
    run.says("to-0", "Bonjour")
    run.write(ev.RunRequested(what="cancel", by="Ann"))
    run.decide_all()

    assert (run.finished.status, run.finished.answer) == (RunStatus.CANCELLED, "French: Bonjour")
    assert [gap.name for gap in run.finished.gaps] == ["German"]
