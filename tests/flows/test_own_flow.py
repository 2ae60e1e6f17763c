"""Flows of your own: what they ask for is done within their rights, and the evidence decides how the run ends."""

from __future__ import annotations

from typing import Any

import pytest
from core.histories import History, definition
from refusals import refused

from flows.scripts import Script
from leadhand import Worker
from leadhand.core import events as ev
from leadhand.core.errors import FailureClass, FlowError, UsageError
from leadhand.core.run import RunDefinition, RunStatus
from leadhand.core.tool import Source
from leadhand.core.work_result import ResultData
from leadhand.flows import FlowAnswer, FlowContext, Retry, flow
from leadhand.flows.flow import Given
from leadhand.flows.seam.function import FunctionFlow

LANGUAGES = ["French", "German"]
translator = Worker("translator", "Translate.", tools=("look",))


def translations(run: FlowContext, languages: list[str], **how: Any) -> Any:
    """Ask for one text in several languages at once."""
    asked = (run.ask(translator, key=each, text=run.request, language=each, **how) for each in languages)
    return run.gather(asked, return_failures=True)


@flow
async def translate(run: FlowContext, languages: list[str] = LANGUAGES) -> str:
    """Translate one text into several languages at once."""
    return "\n".join(f"{each.key}: {each}" for each in await translations(run, languages) if each.ok)


class Run(Script):
    """A run of a flow of one's own; after each step the controller decides all that follows."""

    def __init__(self, made: FunctionFlow, **options: Any) -> None:
        what: RunDefinition = definition(max_requests=None, max_tokens=None, budget=None).evolve(
            flow=made.name,
            request="Good morning",
            options=options,
            workers=tuple(made.workers(options)),
        )
        History.__init__(self, what, made)
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
    run = Run(translate)
    run.says("French", "Bonjour")
    run.failed("German")
    assert run.finished.status is RunStatus.PARTIAL
    return run


# --- how a run ends --------------------------------------------------------------------------------------------------


def test_a_flow_hands_out_its_steps_at_once_and_ends_with_its_answer():
    run = Run(translate, languages=["French", "Dutch"])
    assert run.under_way == ["French", "Dutch"]
    assert run.facts("Dutch") == {"text": "Good morning", "language": "Dutch"}

    run.says("Dutch", "Goedemorgen")
    run.says("French", "Bonjour")

    assert run.finished.status is RunStatus.SUCCEEDED
    assert run.finished.answer == "French: Bonjour\nDutch: Goedemorgen"
    assert (run.finished.gaps, run.finished.failure) == ((), None)


def test_a_failed_step_is_a_gap_by_itself_with_class_cause_and_next_step():
    run = half_done()

    assert run.finished.answer == "French: Bonjour"
    (gap,) = run.finished.gaps
    assert (gap.step, gap.name, gap.class_) == ("German", "German", FailureClass.UNAVAILABLE)
    assert (gap.work_order_id, gap.subtask_index) == (None, None)
    failure = run.state.steps["German"].failure
    assert failure is not None
    assert gap.reason == failure.message
    assert gap.next_action


def test_a_run_whose_steps_all_fail_has_failed():
    run = Run(translate)
    run.failed("French")
    run.failed("German")

    assert (run.finished.status, run.finished.answer) == (RunStatus.FAILED, "")
    assert [gap.name for gap in run.finished.gaps] == ["French", "German"]


@flow
async def boasting(run: FlowContext) -> FlowAnswer:
    return FlowAnswer("All done.", uses=await translations(run, LANGUAGES))


def test_an_answer_that_rests_on_failed_steps_does_not_succeed_whatever_its_flow_says():
    run = Run(boasting)
    run.failed("French")
    run.failed("German")

    assert run.finished.status is RunStatus.PARTIAL
    assert [gap.step for gap in run.finished.gaps] == LANGUAGES
    assert run.finished.sources == ()


@flow
async def only_german(run: FlowContext) -> FlowAnswer:
    _, german = await translations(run, LANGUAGES)
    return FlowAnswer(german.text, uses=[german])


def test_the_sources_of_an_answer_are_those_of_the_results_that_it_uses():
    run = Run(only_german)
    for language in LANGUAGES:
        attempt = run.attempt(language)
        run.starts(attempt)
        call_id = run.calls_tool(attempt, run.state.tools["look"], ok=True)
        found = Source(title="A page", url="https://example.org/a")
        data = ResultData(summary=language, sources=(found,) if language == "German" else ())
        run.returns(attempt, data=data, used=(call_id,))
        run.decide_all()

    (source,) = run.finished.sources
    assert source.url == "https://example.org/a"
    settled = run.log[int(source.event_id.removeprefix("e-")) - 1].event
    assert isinstance(settled, ev.StepSettled)
    assert settled.attempt == "German/a1"


# --- what people ask for after the end -------------------------------------------------------------------------------


def test_a_retry_may_change_the_input_of_a_step():
    run = half_done()
    args = {"text": "Good evening", "language": "German"}
    run.asked(ev.StepRequested(what="retry", by="me", steps=("German",), args=args))

    assert run.facts("German") == args
    run.says("German", "Guten Abend")
    assert run.finished.answer == "French: Bonjour\nGerman: Guten Abend"


def test_a_retry_that_fails_again_leaves_the_gap_and_may_be_asked_for_again():
    run = half_done()
    run.asked(ev.StepRequested(what="retry", by="me"))
    run.failed("German")
    assert (run.finished.number, run.finished.status) == (2, RunStatus.PARTIAL)

    run.asked(ev.StepRequested(what="retry", by="me"))
    assert run.attempt("German").attempt == "German/a3"
    run.says("German", "Guten Morgen")
    assert (run.finished.number, run.finished.status) == (3, RunStatus.SUCCEEDED)


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (ev.StepRequested(what="skip", by="me", steps=("French",)), "French"),
        (ev.StepRequested(what="retry", by="me", steps=("Dutch",)), "Dutch"),
    ],
)
def test_what_cannot_be_asked_for_is_declined_with_a_reason_and_the_run_stays_over(request_: Any, named: str):
    run = half_done()
    run.asked(request_)

    (declined,) = [entry.event for entry in run.log if isinstance(entry.event, ev.RequestDecided)]
    assert named in declined.declined
    assert (run.finished.number, run.finished.status) == (1, RunStatus.PARTIAL)


def test_a_step_that_waits_may_be_skipped_and_supplied_while_the_run_is_under_way():
    run = Run(translate)
    run.park("French")
    run.park("German")
    run.asked(ev.StepRequested(what="skip", by="Ann", steps=("French",)))
    run.asked(ev.StepRequested(what="supply", by="Ann", steps=("German",), summary="Guten Morgen"))

    assert (run.finished.status, run.finished.answer) == (RunStatus.PARTIAL, "German: Guten Morgen")


# --- what one step has of another, and checks ------------------------------------------------------------------------


def names_the_sun(text: Any, given: Any) -> None:
    if given.input["notes"] not in text:
        raise Retry("no notes")


researcher = Worker("researcher")
writer = Worker("writer", validate=names_the_sun)


@flow
async def chain(run: FlowContext) -> Any:
    """Research, then a text about what was found; the text is checked."""
    notes = await run.ask(researcher, topic=run.request)
    return await run.ask(writer, notes=notes, style="short")


def test_a_step_that_is_given_a_result_is_shown_it():
    run = Run(chain)
    assert run.under_way == ["researcher"]
    assert run.facts("researcher") == {"topic": "Good morning"}

    run.says("researcher", "sun")
    assert run.under_way == ["writer"]
    assert run.facts("writer") == {"notes": "sun", "style": "short"}


# --- flows that go wrong ---------------------------------------------------------------------------------------------


@flow
async def broken(run: FlowContext, after: int = 0) -> str:
    asked = [run.ask(translator, key=each, language=each) for each in LANGUAGES]
    for each in asked[:after]:
        await each
    raise KeyError("text")


@pytest.mark.parametrize(("after", "status"), [(0, RunStatus.FAILED), (1, RunStatus.PARTIAL), (2, RunStatus.PARTIAL)])
def test_a_flow_that_raises_keeps_what_was_found_and_does_not_succeed(after: int, status: RunStatus):
    run = Run(broken, after=after)
    for language, text in list(zip(LANGUAGES, ("Bonjour", "Guten Morgen"), strict=True))[:after]:
        run.says(language, text)

    assert run.finished.status is status
    failure = run.finished.failure
    assert failure is not None
    assert (failure.type, failure.class_) == ("flow_error", FailureClass.UNAVAILABLE)
    assert "of test_own_flow.py" in failure.message
    assert "KeyError" in failure.message
    assert failure.next_action


def careless(text: Any, given: Any) -> None:
    raise KeyError("text")


@flow
async def checked_carelessly(run: FlowContext) -> Any:
    return await run.ask(researcher.version(validate=careless))


def test_a_check_that_raises_is_no_fault_of_the_worker_and_fails_its_step():
    run = Run(checked_carelessly)
    checks = run.policy.details(run.state, "researcher").checks
    assert checks is not None
    with pytest.raises(FlowError, match=r"KeyError at line .*: 'text'") as error:
        checks(run.state, run.state.steps["researcher"], Given("sun"))
    assert error.value.failure.class_ is FailureClass.UNAVAILABLE


UNFIT = {
    "object": object(),
    "set": {1, 2},
    "NaN": float("nan"),
    "text": "half \ud800",
    "number": FlowAnswer(5),  # type: ignore[arg-type]
    "value": FlowAnswer("done", value=float("inf")),
    "gaps": FlowAnswer("done", gaps=["no"]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("returned", UNFIT.values(), ids=UNFIT)
def test_a_flow_that_returns_what_is_not_json_fails_with_the_cause(returned: Any):
    @flow
    async def odd(run: FlowContext) -> Any:
        await run.ask(researcher)
        return returned

    run = Run(odd)
    run.says("researcher", "sun")

    assert run.finished.status is RunStatus.PARTIAL
    assert run.finished.answer == "- sun", "what was found is kept"
    assert run.finished.failure is not None
    assert run.finished.failure.type == "flow_error"
    assert "the flow odd returned" in run.finished.failure.message


def test_a_step_with_a_tool_that_its_worker_may_not_use_ends_the_run_with_the_reason():
    @flow
    async def wanting(run: FlowContext) -> Any:
        return await run.ask(translator, tools=["send"])

    run = Run(wanting)

    assert run.finished.status is RunStatus.FAILED
    assert run.finished.failure is not None
    assert "send" in run.finished.failure.message
    assert "wanting" in run.finished.failure.message
    assert run.finished.failure.next_action


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "options", "named"),
    [
        (translate, {"language": "French"}, "'language'"),
        (translate, {"languages": "French"}, "languages"),
        (chain, {"style": "long"}, "'style'"),
    ],
    ids=["unknown", "wrong", "none"],
)
def test_options_that_are_unknown_or_wrong_are_refused(made: FunctionFlow, options: dict[str, Any], named: str):
    with refused(UsageError, made.name, named):
        made.checked_options(options)
