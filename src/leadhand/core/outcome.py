"""The outcome of a run: what its results rest on, their sources, the gaps, and the resulting status."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .errors import Failure, FailureClass
from .events import RunFinished
from .run import CitedSource, Gap, RunDefinition, RunStatus, StepStatus
from .state import RunState, StepState
from .text import is_blank
from .tool import INDETERMINATE, CallState
from .value import Json, is_list, is_object
from .words import failures as words
from .words.failures import unproven, written_call
from .work_order import Subtask, references
from .work_result import ClaimVerdict, Judgement, ResultData, VerdictKind


class FlowAnswer(NamedTuple):
    """The answer of a flow: its ``text``, the results that it ``uses`` (None: those of all steps), further ``gaps``.

    Only completed results that no review rejected count. ``value`` is the answer as data, if there is more than the
    text. If the text is empty, the results are listed instead.

    Of a built-in flow, ``sources`` are those that the answer cites as [1], [2], …, by title and address (None: all of
    what it ``uses``), ``judgement`` is given if it had its text judged, ``writer`` is the worker that corrects it ("":
    the one that wrote it, None: nobody), ``passages`` what it can cite, by name, ``waived`` are failed steps that are
    not gaps. In the core, ``uses`` are the ids of steps, ``left_out`` steps that the flow no longer asks for, and
    ``failure`` is why the run ends early; without one, an answer that rests on no result is one anyway.
    """

    text: str = ""
    uses: Sequence[Any] | None = None
    gaps: Sequence[Gap] = ()
    value: Json = None
    sources: Sequence[tuple[str, str]] | None = None
    judgement: Judgement | None = None
    writer: str | None = ""
    passages: Mapping[str, Any] | None = None
    waived: Sequence[str] = ()
    failure: Failure | None = None
    left_out: Sequence[str] = ()


def unproven_call(subtask: Subtask, calls: Iterable[CallState], approved: Container[str] = ()) -> Failure | None:
    """Compare ``calls`` with the one that a subtask orders: its tool with its arguments, but for references to results.

    None if it was made and succeeded, or was changed in a way that the log shows: by a person (``approved`` holds the
    id of the call), by a hook, or by the worker after the tool refused the ordered arguments. Otherwise the failure of
    the ordered call, or that it was not made.
    """
    ordered = {name: value for name, value in subtask.args.items() if not references(value)}
    mine = [call for call in reversed([*calls]) if call.tool == subtask.tool]
    failed = [(call.failure, _same_arguments(ordered, call.args)) for call in mine if call.failure is not None]
    refusal = next((failure for failure, as_ordered in failed if as_ordered), None)
    excused = refusal is not None and refusal.class_ is FailureClass.INVALID
    made = [call for call in mine if call.ok]
    if subtask.tool is None or any(
        excused or _same_arguments(ordered, call.args) or call.call_id in approved or call.by or call.changed_by
        for call in made
    ):
        return None
    if not made:
        return refusal or (failed[0][0] if failed else unproven(f"{subtask.tool} was not called"))
    instead = f"{written_call(made[0].tool, made[0].args)} was called instead"
    if refusal is None:
        return unproven(f"{instead} of {written_call(subtask.tool, ordered)}")
    return refusal.evolve(message=f"{refusal.message} ({instead}: no proof)")


def _same_arguments(ordered: Mapping[str, Json], made: Mapping[str, Json]) -> bool:
    """Whether a call was made with every argument that was ordered; it may have had further ones."""
    pairs = ((value, made[name]) for name, value in ordered.items() if name in made)
    return ordered.keys() <= made.keys() and all(one == other or _folded(one) == _folded(other) for one, other in pairs)


def _folded(value: Json) -> Json:
    nested = is_object(value) or is_list(value)
    return value if nested else " ".join(str(value).casefold().split())


def made_calls(step: StepState) -> tuple[CallState, ...]:
    """Return the calls of a step without their data, those that began and whose end was not seen among them, but for
    those that were certainly not made."""
    ordered = step.step.subtask.args if step.step.subtask is not None else None
    now = () if step.closed else (call.short(ordered) for call in (*step.evidence, *step.running))
    return tuple(call for call in (*step.made, *now) if not call.not_made)


def with_evidence(data: ResultData, used: tuple[str, ...], evidence: Sequence[CallState]) -> ResultData:
    """Return a result with its data from the log: ``raw`` is what its calls returned, not what the worker claims.

    The data of several calls becomes an object by call id. A result without calls keeps its own data.
    """
    found = {call.call_id: call.raw for call in evidence if call.ok and call.call_id in used}
    if not found:
        return data
    return data.model_copy(update={"raw": next(iter(found.values())) if len(found) == 1 else found})


# --- the end of a run ------------------------------------------------------------------------------------------------


def concluded(state: RunState, answer: FlowAnswer) -> RunFinished:
    """Return the end of a run: the answer that its flow states, with the status that follows from what was done."""
    results = [each for each in used_by(state, answer) if may_be_used(each, answer.left_out)]
    gaps, failure = all_gaps(state, answer), answer.failure
    direct = failure is None and not is_blank(answer.text)
    if failure is not None and not gaps and results:
        gaps.append(failure_gap(words.WHOLE_REQUEST, failure))
    if state.cancel_by is not None:
        status = RunStatus.CANCELLED
    elif results or direct:
        status = _status(state.definition, answer, gaps)
    else:
        status, failure = RunStatus.FAILED, failure or _cause(state, gaps)
    sources = sources_of(results)
    if answer.sources is not None and results:  # what no result names was found by the last one
        known = {(each.title, each.url): each for each in sources}
        last = results[-1].event_ids[-1]
        sources = [known.get(each) or CitedSource(title=each[0], url=each[1], event_id=last) for each in answer.sources]
    return RunFinished(
        status=status,
        number=len(state.answers) + 1,
        answer=answer.text if not is_blank(answer.text) else plain_list(results),
        value=answer.value if results or direct else None,
        sources=tuple(sources),
        gaps=tuple(gaps),
        failure=failure,
        judgement=answer.judgement,
        sample=any(each.data is not None and each.data.sample for each in results),
        left_out=tuple(answer.left_out),
    )


def used_by(state: RunState, answer: FlowAnswer) -> list[StepState]:
    """Return the steps that an answer uses; without a flow that says so, every one that counts."""
    if answer.uses is None:
        return [each for each in state.steps.values() if each.counts]
    return [state.steps[key] for key in dict.fromkeys(answer.uses) if key in state.steps]


def _status(run: RunDefinition, answer: FlowAnswer, gaps: Sequence[Gap]) -> RunStatus:
    """Return the status of a run that has results, or came to its end without any."""
    doubted: object = None
    if (judged := answer.judgement) is not None:
        unchecked = run.check == "judge" and judged.counts[ClaimVerdict.NOT_CHECKED]
        doubted = judged.contradicted or (run.strict and (judged.doubts or unchecked))
    return RunStatus.PARTIAL if gaps or doubted else RunStatus.SUCCEEDED


def _cause(state: RunState, gaps: Sequence[Gap]) -> Failure:
    """Return why a run failed that no failure ended: the first of its gaps, or that its answer rests on nothing."""
    for first in gaps:
        about = state.steps.get(first.step or "")
        type_ = about.failure.type if about is not None and about.failure is not None else "gap"
        return Failure.of(f"{first.name}: {first.reason}", type_, first.class_, first.next_action)
    return Failure.of(words.NO_EVIDENCE, "no_evidence", FailureClass.INSUFFICIENT, words.more_steps(state))


def plain_list(results: Sequence[StepState]) -> str:
    """Return the results as a list, for a run in which no text was written; "" without results."""
    numbers = source_numbers(results)
    lines: list[str] = []
    for data in (result.data for result in results if result.data is not None):
        cited = "".join(f" [{numbers[source.title, source.url]}]" for source in data.sources)
        lines.append(f"- {data.summary}{cited}")
    return "\n".join(lines)


def may_be_used(step: StepState, left_out: Sequence[str] = ()) -> bool:
    """Whether an answer may use a result: it is completed, not superseded, and no review rejected it; ``left_out`` are
    steps that the flow no longer asks for."""
    if step.status is not StepStatus.COMPLETED or step.data is None:
        return False
    rejected = step.verdict is not None and step.verdict.verdict is not VerdictKind.ACCEPT
    return not rejected and (step.superseded_by is None or step.superseded_by in left_out)


def sources_of(results: Iterable[StepState]) -> list[CitedSource]:
    """Return the sources of some results, without duplicates; the first is cited as [1]."""
    sources: dict[tuple[str, str], CitedSource] = {}
    for result in results:
        for source in result.data.sources if result.data is not None else ():
            cited = CitedSource(title=source.title, url=source.url, event_id=result.event_ids[-1])
            sources.setdefault((source.title, source.url), cited)
    return list(sources.values())


def source_numbers(results: Iterable[StepState]) -> dict[tuple[str, str], int]:
    """Return the citation number of each source of some results, by title and address."""
    given = (source for each in results if each.data is not None for source in each.data.sources)
    names = dict.fromkeys((source.title, source.url) for source in given)
    return {name: number for number, name in enumerate(names, start=1)}


# --- gaps ------------------------------------------------------------------------------------------------------------


def all_gaps(state: RunState, answer: FlowAnswer) -> list[Gap]:
    """Return the gaps that the flow names, and one for every failed step that counts and is not waived, and for every
    result that it uses in vain."""
    named = {gap.step: gap for gap in answer.gaps if gap.step is not None}
    found: list[Gap] = []
    waived, used = frozenset(answer.waived).union(answer.left_out), frozenset(answer.uses or ())
    for key, step in state.steps.items():
        if key not in named and may_be_used(step, answer.left_out):
            continue
        replaced = step.superseded_by is not None and step.superseded_by not in answer.left_out
        fails = step.counts and not step.ok and key not in waived
        if key in named or (not replaced and (key in used or fails)):
            found.append(named.get(key) or gap_of(state, step, answer.failure))
    return [*found, *(gap for gap in answer.gaps if gap.step is None)]


def gap_of(state: RunState, step: StepState, ending: Failure | None = None) -> Gap:
    """Return the gap of a step that did not succeed, or whose result the review rejected; ``ending`` is why the run
    ends, if it ends early."""
    verdict = step.verdict
    if step.failure is not None and not step.ok:
        return gap(step, step.failure.class_, step.failure.message, step.failure.next_action)
    if step.ok or (verdict is not None and verdict.verdict is VerdictKind.DROP):
        reason = (verdict.reason if verdict is not None else "") or (words.REJECTED if step.ok else words.DROPPED)
        return gap(step, FailureClass.INSUFFICIENT, reason, words.more_steps(state))
    cause = ending or used_up(state)
    if cause is None:
        return gap(step, FailureClass.EXHAUSTED, words.NOT_CARRIED_OUT, words.ASK_AGAIN)
    return gap(step, cause.class_, words.NOT_STARTED.format(cause=cause.message), cause.next_action)


def gap(step: StepState, class_: FailureClass, reason: str, action: str) -> Gap:
    """Return a gap for one step, with advice that repeats nothing irreversible."""
    unseen = step.failure is not None and step.failure.type == INDETERMINATE
    careful = step.acted and not step.accepted and not unseen
    return Gap(
        work_order_id=step.order or None,
        subtask_index=step.position if step.order else None,
        step=step.key,
        name=step.step.name,
        class_=class_,
        reason=reason,
        next_action=f"{action}; {words.CHECK_FIRST}" if careful else action,
    )


def failure_gap(name: str, failure: Failure, reason: str = "") -> Gap:
    """Return the gap of a failure that is about no step; ``reason`` instead of its message."""
    return Gap(name=name, class_=failure.class_, reason=reason or failure.message, next_action=failure.next_action)


def used_up(state: RunState) -> Failure | None:
    """Return the failure of the first step that a limit ended, None if no limit did."""
    failures = (step.failure for step in state.steps.values())
    return next((each for each in failures if each is not None and each.class_ is FailureClass.EXHAUSTED), None)
