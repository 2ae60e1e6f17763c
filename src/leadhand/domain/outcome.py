"""What a run comes to: its accepted results, the sources behind them, the gaps, and the status they amount to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from .advice import ASK_AGAIN, more_steps, next_action
from .assignment import Assignment, Role
from .citations import as_data
from .errors import Failure, FailureClass
from .ids import subtask_key
from .lifecycle import SubtaskStatus
from .review import Decision
from .run import CitedSource, Gap, RunStatus
from .state import RunState, SubtaskState

LONGEST_TOLD = 2_000
"""Characters of one summary or reason that :func:`plain_summary` tells; the run document keeps all of it."""
OUT_OF_REACH = "register a tool that can do it, or leave it out of the request"
"""What a person can do about a part that no tool can do."""


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


def section_numbers(state: RunState, section: Assignment) -> dict[tuple[str, str], int]:
    """The numbers of the sources of a section of the answer: as they were given when it was handed out, so that
    nobody has to count all the others again."""
    own = own_sources(state.subtasks[key] for key in section.covers)
    return dict(zip(own, section.options["numbers"], strict=True))


def own_sources(subtasks: Iterable[SubtaskState]) -> list[tuple[str, str]]:
    """The sources of some results, by title and address, each once."""
    found = {(s.title, s.url): None for subtask in subtasks if subtask.data is not None for s in subtask.data.sources}
    return list(found)


def gaps(state: RunState) -> list[Gap]:
    """What the request asked for and the answer does not hold: failed, dropped, unverified, missing, out of reach."""
    causes = _causes(state)
    found = [
        _gap(state, subtask, causes)
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
                    "next_action": more_steps(state),
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
                "next_action": OUT_OF_REACH,
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
                    "next_action": more_steps(state),
                }
            )
        )
    return found


class _Causes(NamedTuple):
    """What kept subtasks from being carried out or judged: a limit that ended things, a review that failed, by key."""

    used_up: Failure | None
    reviews: dict[str, Failure]


def _causes(state: RunState) -> _Causes:
    used_up: Failure | None = None
    reviews: dict[str, Failure] = {}
    for assignment in state.assignments.values():
        failure = assignment.failure
        if failure is None:
            continue
        if used_up is None and failure.class_ is FailureClass.EXHAUSTED:
            used_up = failure
        if assignment.assignment.role is Role.REVIEW:
            reviews |= dict.fromkeys(assignment.assignment.covers, failure)
    return _Causes(used_up, reviews)


def _gap(state: RunState, subtask: SubtaskState, causes: _Causes) -> Gap:
    if subtask.failure is not None:
        failure = subtask.failure
        class_, reason, action = failure.class_, failure.message, next_action(state, failure)
    elif subtask.status is SubtaskStatus.COMPLETED:
        class_, reason, action = _unreviewed(state, subtask, causes)
    elif subtask.verdict is not None and subtask.verdict.verdict is Decision.DROP:
        class_, action = FailureClass.INSUFFICIENT, more_steps(state)
        reason = subtask.verdict.reason or "the lead dropped it"
    else:
        class_, reason, action = _not_begun(state, causes)
    return Gap.model_validate(
        {
            "work_order_id": subtask.order,
            "subtask_index": subtask.position,
            "name": subtask.subtask.name,
            "class": class_,
            "reason": reason,
            "next_action": action,
        }
    )


_Told = tuple[FailureClass, str, str]
"""The class of a gap, its reason, and what a person can do."""


def _unreviewed(state: RunState, subtask: SubtaskState, causes: _Causes) -> _Told:
    """Why nobody judged a finished subtask."""
    passed = "its result passed the code checks"
    if state.cancel_by is not None:
        reason = f"{passed}, and the run was cancelled by {state.cancel_by} before its review: unverified"
        return FailureClass.REJECTED, reason, ASK_AGAIN
    cause = causes.reviews.get(subtask.key) or causes.used_up
    if cause is None:
        return FailureClass.INSUFFICIENT, f"{passed} but could not be reviewed: unverified", ASK_AGAIN
    action = next_action(state, cause)
    return FailureClass.INSUFFICIENT, f"{passed} but could not be reviewed: unverified ({cause.message})", action


def _not_begun(state: RunState, causes: _Causes) -> _Told:
    """Why a subtask was never handed out."""
    if state.cancel_by is not None:
        return FailureClass.REJECTED, f"the run was cancelled by {state.cancel_by} before it began", ASK_AGAIN
    cause = causes.used_up
    if cause is None:
        return FailureClass.EXHAUSTED, "it was not carried out", ASK_AGAIN
    return FailureClass.EXHAUSTED, f"it was not begun: {cause.message}", next_action(state, cause)


def status_of(state: RunState) -> RunStatus:
    """What the evidence makes of a run that ends now: all there, some of it, or nothing."""
    if next(presentable(state), None) is None:
        return RunStatus.FAILED
    return RunStatus.PARTIAL if gaps(state) else RunStatus.SUCCEEDED


def plain_summary(state: RunState) -> str:
    """The answer in plain words, made by code from the results and gaps: for when no model can compose one."""
    numbers = source_numbers(answer_sources(state))
    found: list[str] = []
    unreviewed: list[str] = []
    for subtask in presentable(state):
        data = subtask.data
        if data is None:
            continue
        cited = "".join(f" [{numbers[source.title, source.url]}]" for source in data.sources)
        sample = " (sample data)" if data.sample else ""
        told = _shortened(as_data(data.summary), f"leadhand runs show {state.run_id} --json")
        if subtask.accepted:
            found.append(f"- {told}{sample}{cited}")
        else:
            unreviewed.append(f"- {subtask.subtask.name}: {told}{sample} (unverified){cited}")
    explained: dict[tuple[str, str], None] = {}
    open_: list[Gap] = []
    for gap in gaps(state):
        if _is_told(state, gap):
            explained[gap.reason, gap.next_action] = None
        else:
            open_.append(gap)
    parts: list[list[str]] = []
    if state.cancel_by is not None:
        parts.append([f"The run was cancelled by {state.cancel_by}."])
    if found:
        parts.append(found)
    if unreviewed:
        # One cause holds for all of them, but where shards of an order were reviewed apart.
        why = [f"Found, and not reviewed: {_shortened(reason)} ({action})." for reason, action in explained]
        parts.append([*why, *unreviewed])
    if open_:
        heading = "Not answered:" if found or unreviewed else "Nothing of the request could be answered:"
        parts.append([heading, *(_open_line(gap) for gap in open_)])
    if not (found or unreviewed or open_):
        parts.append(["Nothing of the request could be answered."])
    return "\n\n".join("\n".join(lines) for lines in parts)


def _is_told(state: RunState, gap: Gap) -> bool:
    """Whether what a gap stands for is in the summary all the same, as unverified."""
    if gap.work_order_id is None or gap.subtask_index is None:
        return False
    return unverified(state.subtasks[subtask_key(gap.work_order_id, gap.subtask_index)])


def _open_line(gap: Gap) -> str:
    return f"- {gap.name}: {_shortened(gap.reason)} ({gap.class_}; {gap.next_action})"


def _shortened(text: str, where: str = "") -> str:
    if len(text) <= LONGEST_TOLD:
        return text
    rest = f", see {where}" if where else ""
    return f"{text[:LONGEST_TOLD].rstrip()}… ({len(text):,} characters in all{rest})"
