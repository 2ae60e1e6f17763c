"""The outcome of a run: the results behind its answer, their sources, the gaps, and the resulting status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .advice import ASK_AGAIN, more_steps, next_action
from .commands import Cited, Outcome
from .errors import HOOK_BLOCKED, HOOK_FAILED, Failure, FailureClass
from .events import RunFinished
from .judgement import ClaimVerdict, Judgement
from .run import CitedSource, Gap, RunDefinition, RunStatus
from .state import INDETERMINATE, RunState, StepState
from .text import is_blank
from .work_result import VerdictKind

LONGEST_SUMMARY = 2_000
"""Characters of one summary in :func:`plain_list`; the run document holds all of it."""
CHECK_FIRST = "find out what it did before you ask for it again"
"""What a person can do about a gap of a step that did something irreversible."""


def concluded(state: RunState, outcome: Outcome, failure: Failure | None, *, cancelled: bool = False) -> RunFinished:
    """Return the end of a run: the outcome that its flow states, with the status that follows from what was done."""
    used = [state.steps[key] for key in dict.fromkeys(outcome.uses) if key in state.steps]
    results = [each for each in used if may_be_used(each)]
    gaps = all_gaps(state, outcome, failure)
    named = {gap.step for gap in gaps}
    gaps += _careful(
        state, [_rejected(state, each) for each in used if not may_be_used(each) and each.key not in named]
    )
    if failure is not None and not gaps and (results or failure.type in (HOOK_BLOCKED, HOOK_FAILED)):
        action = next_action(state, failure)
        gaps.append(
            Gap(name="the request as a whole", class_=failure.class_, reason=failure.message, next_action=action)
        )
    status = _status(state, outcome, gaps, has_results=bool(results), cancelled=cancelled)
    if status is RunStatus.FAILED and failure is None:
        unknown = [key for key in outcome.uses if key not in state.steps]
        failure = _cause(state, gaps, unknown)
    return RunFinished(
        status=status,
        number=len(state.answers) + 1,
        answer=outcome.answer if not is_blank(outcome.answer) else plain_list(state, results),
        value=outcome.value if results else None,
        sources=tuple(sources_of(results) if outcome.sources is None else _cited(outcome.sources, results)),
        gaps=tuple(gaps),
        failure=failure,
        judgement=outcome.judgement,
        sample=any(each.data is not None and each.data.sample for each in results),
    )


def _status(state: RunState, outcome: Outcome, gaps: Sequence[Gap], *, has_results: bool, cancelled: bool) -> RunStatus:
    if cancelled:
        return RunStatus.CANCELLED
    if not has_results:
        return RunStatus.FAILED
    judgement, definition = outcome.judgement, state.definition
    doubted = judgement is not None and (
        judgement.contradicted or (definition.strict and _doubted(judgement, definition))
    )
    return RunStatus.PARTIAL if gaps or doubted else RunStatus.SUCCEEDED


def _doubted(judgement: Judgement, definition: RunDefinition) -> bool:
    """Whether anything is doubted, or was not judged although a judge was asked."""
    unjudged = definition.check == "judge" and bool(judgement.counts[ClaimVerdict.NOT_CHECKED])
    return bool(judgement.doubts) or unjudged


def _cause(state: RunState, gaps: Sequence[Gap], unknown: Sequence[str]) -> Failure:
    """Return why a run failed that no failure ended: the first of its gaps, or that its answer rests on nothing."""
    if gaps:
        first = gaps[0]
        about = state.steps.get(first.step or "")
        type_ = about.failure.type if about is not None and about.failure is not None else "gap"
        return Failure.of(f"{first.name}: {first.reason}", type_, first.class_, first.next_action)
    named = f": the flow's outcome uses {unknown[0]!r}, which is not a step" if unknown else ""
    return Failure.of(f"the answer rests on no result{named}", "no_evidence", FailureClass.INSUFFICIENT)


def plain_list(state: RunState, results: Sequence[StepState]) -> str:
    """Return the results as a list, for a run in which no text was written; "" without results."""
    numbers = source_numbers(sources_of(results))
    lines: list[str] = []
    for data in (result.data for result in results if result.data is not None):
        cited = "".join(f" [{numbers[source.title, source.url]}]" for source in data.sources)
        text = data.summary
        if len(text) > LONGEST_SUMMARY:
            text = f"{text[:LONGEST_SUMMARY].rstrip()}… (leadhand runs show {state.run_id} --json has all of it)"
        lines.append(f"- {text}{cited}")
    return "\n".join(lines)


def withheld_answer(failure: Failure) -> str:
    """Return the text in place of an answer that a hook of the user's blocks: why it is withheld."""
    return f"The answer is withheld: {failure.message}."


def may_be_used(step: StepState) -> bool:
    """Whether an answer may use a result: it is completed, not superseded, and no review rejected it."""
    rejected = step.verdict is not None and step.verdict.verdict is not VerdictKind.ACCEPT
    return step.ok and step.data is not None and step.superseded_by is None and not rejected


def sources_of(results: Iterable[StepState]) -> list[CitedSource]:
    """Return the sources of some results, without duplicates; the first is cited as [1]."""
    sources: dict[tuple[str, str], CitedSource] = {}
    for result in results:
        for source in result.data.sources if result.data is not None else ():
            sources.setdefault(
                (source.title, source.url),
                CitedSource(title=source.title, url=source.url, event_id=result.event_ids[-1]),
            )
    return list(sources.values())


def _cited(sources: Iterable[Cited], results: Sequence[StepState]) -> Iterator[CitedSource]:
    """The sources that a flow names, in its order, each with the result that has it."""
    events = {result.key: result.event_ids[-1] for result in results}
    for title, url, step in sources:
        if step in events:
            yield CitedSource(title=title, url=url, event_id=events[step])


def own_sources(results: Iterable[StepState]) -> list[tuple[str, str]]:
    """Return the sources of some results, by title and address, without duplicates."""
    found = {(s.title, s.url): None for result in results if result.data is not None for s in result.data.sources}
    return list(found)


def source_numbers(sources: Sequence[CitedSource]) -> dict[tuple[str, str], int]:
    """Return the citation number of each source, by title and address."""
    return {(source.title, source.url): number for number, source in enumerate(sources, start=1)}


# --- gaps ------------------------------------------------------------------------------------------------------------


def all_gaps(state: RunState, outcome: Outcome, failure: Failure | None = None) -> list[Gap]:
    """Return the gaps that the flow names, and one for every failed step that counts and is not waived."""
    named = {gap.step: gap for gap in outcome.gaps if gap.step is not None}
    found: list[Gap] = []
    for key, step in state.steps.items():
        if key in named:
            found.append(named[key])
        elif step.counts and not step.ok and not step.superseded_by and key not in outcome.waived:
            found.append(gap_of(state, step, failure))
    return _careful(state, [*found, *(gap for gap in outcome.gaps if gap.step is None)])


def _careful(state: RunState, gaps: list[Gap]) -> list[Gap]:
    """The gaps, with advice that repeats nothing irreversible."""
    found: list[Gap] = []
    for each in gaps:
        about = state.steps.get(each.step or "")
        if about is not None and about.acted and not about.accepted:
            unseen = about.failure is not None and about.failure.type == INDETERMINATE
            each = each if unseen else each.evolve(next_action=CHECK_FIRST)
        found.append(each)
    return found


def gap_of(state: RunState, step: StepState, ending: Failure | None = None) -> Gap:
    """Return the gap of a step that did not succeed; ``ending`` is why the run ends, if it ends early."""
    if step.failure is not None:
        failure = step.failure
        return gap(step, failure.class_, failure.message, next_action(state, failure))
    if step.verdict is not None and step.verdict.verdict is VerdictKind.DROP:
        reason = step.verdict.reason or "the lead dropped it"
        return gap(step, FailureClass.INSUFFICIENT, reason, more_steps(state))
    if state.cancel_by is not None:
        reason = f"the run was cancelled by {state.cancel_by} before it started"
        return gap(step, FailureClass.REJECTED, reason, ASK_AGAIN)
    cause = used_up(state) or ending
    if cause is None:
        return gap(step, FailureClass.EXHAUSTED, "it was not carried out", ASK_AGAIN)
    reason = f"it was not started: {cause.message}"
    return gap(step, FailureClass.EXHAUSTED, reason, next_action(state, cause))


def gap(step: StepState, class_: FailureClass, reason: str, action: str) -> Gap:
    """Return a gap for one step."""
    return Gap(
        work_order_id=step.order or None,
        subtask_index=step.position if step.order else None,
        step=step.key,
        name=step.step.name,
        class_=class_,
        reason=reason,
        next_action=action,
    )


def used_up(state: RunState) -> Failure | None:
    """Return the failure of the first step that a limit ended, None if no limit did."""
    failures = (step.failure for step in state.steps.values())
    return next((each for each in failures if each is not None and each.class_ is FailureClass.EXHAUSTED), None)


def _rejected(state: RunState, step: StepState) -> Gap:
    """Return the gap of a result that the flow uses although the evidence does not support it."""
    if not step.ok:
        return gap_of(state, step)
    reason = step.verdict.reason if step.verdict is not None else ""
    return gap(step, FailureClass.INSUFFICIENT, reason or "the review rejected the result", more_steps(state))
