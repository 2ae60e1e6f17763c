"""What a run comes to: its accepted results, the sources behind them, the gaps, and the status they amount to."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .errors import NEXT_ACTION, FailureClass
from .lifecycle import SubtaskStatus
from .review import Decision
from .run import CitedSource, Gap, RunStatus
from .state import RunState, SubtaskState


def presentable(state: RunState, presumed: Collection[str] = ()) -> Iterator[SubtaskState]:
    """The subtasks whose results may stand in the answer, in the order they were planned.

    Those the review accepted, and those it could not judge: these are shown as unverified, and are gaps as well.
    ``presumed`` are keys that a review under way may accept in the same breath.
    """
    for subtask in state.subtasks.values():
        stands = subtask.accepted or subtask.key in presumed or unverified(subtask)
        if stands and subtask.data is not None and subtask.superseded_by is None:
            yield subtask


def unverified(subtask: SubtaskState) -> bool:
    """Whether a result passed the code checks and nobody judged it."""
    return subtask.status is SubtaskStatus.COMPLETED and subtask.verdict is None


def answer_sources(state: RunState, presumed: Collection[str] = ()) -> list[CitedSource]:
    """The sources the answer may cite, each once: number [1] is the first."""
    sources: dict[tuple[str, str], CitedSource] = {}
    for subtask in presentable(state, presumed):
        for source in subtask.data.sources if subtask.data is not None else ():
            sources.setdefault(
                (source.title, source.url),
                CitedSource(title=source.title, url=source.url, event_id=subtask.event_ids[-1]),
            )
    return list(sources.values())


def source_numbers(sources: list[CitedSource]) -> dict[tuple[str, str], int]:
    """The number under which each source, by title and address, is cited."""
    return {(source.title, source.url): number for number, source in enumerate(sources, start=1)}


def gaps(state: RunState) -> list[Gap]:
    """What the request asked for and the answer does not hold: failed, dropped, unverified, missing, out of reach."""
    found = [
        _gap(state, subtask)
        for subtask in state.subtasks.values()
        if subtask.superseded_by is None and not subtask.accepted
    ]
    latest = state.order
    if latest is not None and latest.review is not None:
        found += [
            Gap.model_validate(
                {
                    "name": missing.name,
                    "class": FailureClass.INSUFFICIENT,
                    "reason": "the review found this part missing, and no further order was allowed",
                    "next_action": NEXT_ACTION[FailureClass.INSUFFICIENT],
                }
            )
            for missing in latest.review.missing
        ]
    found += [
        Gap.model_validate(
            {
                "name": part.what,
                "class": FailureClass.UNAVAILABLE,
                "reason": part.reason,
                "next_action": "register a tool that can do it, or leave it out of the request",
            }
        )
        for part in state.cannot
    ]
    if not found and latest is not None and latest.review is not None and not latest.review.complete:
        found.append(
            Gap.model_validate(
                {
                    "name": "the request as a whole",
                    "class": FailureClass.INSUFFICIENT,
                    "reason": "the review does not call the results complete, and did not say what is missing",
                    "next_action": NEXT_ACTION[FailureClass.INSUFFICIENT],
                }
            )
        )
    return found


def _gap(state: RunState, subtask: SubtaskState) -> Gap:
    place = {"work_order_id": subtask.order, "subtask_index": subtask.position, "name": subtask.subtask.name}
    failure = subtask.failure
    if failure is not None:
        return Gap.model_validate(
            {**place, "class": failure.class_, "reason": failure.message, "next_action": failure.next_action}
        )
    if subtask.status is SubtaskStatus.COMPLETED:
        reason = "its result passed the code checks but could not be reviewed: unverified"
        cause = FailureClass.INSUFFICIENT
    elif subtask.verdict is not None and subtask.verdict.verdict is Decision.DROP:
        reason, cause = subtask.verdict.reason or "the lead dropped it", FailureClass.INSUFFICIENT
    elif state.cancel_by is not None:
        reason, cause = f"the run was cancelled by {state.cancel_by} before it began", FailureClass.REJECTED
    else:
        reason, cause = "it was not carried out", FailureClass.EXHAUSTED
    return Gap.model_validate({**place, "class": cause, "reason": reason, "next_action": NEXT_ACTION[cause]})


def status_of(state: RunState) -> RunStatus:
    """What the evidence makes of a run that ends now: all there, some of it, or nothing."""
    if next(presentable(state), None) is None:
        return RunStatus.FAILED
    return RunStatus.PARTIAL if gaps(state) else RunStatus.SUCCEEDED


def plain_summary(state: RunState) -> str:
    """The answer in plain words, made by code from the results and gaps: for when no model can compose one."""
    lines: list[str] = []
    numbers = source_numbers(answer_sources(state))
    for subtask in presentable(state):
        data = subtask.data
        if data is None:
            continue
        cited = "".join(f" [{numbers[source.title, source.url]}]" for source in data.sources)
        sample = " (sample data)" if data.sample else ""
        sample += "" if subtask.accepted else " (unverified)"
        lines.append(f"- {data.summary}{sample}{cited}")
    missing = [f"- {gap.name}: {gap.reason} ({gap.class_}; {gap.next_action})" for gap in gaps(state)]
    if missing:
        lines += (["", "Not answered:"] if lines else ["Nothing of the request could be answered:"]) + missing
    if not lines:
        lines = ["Nothing of the request could be answered."]
    return "\n".join(lines)
