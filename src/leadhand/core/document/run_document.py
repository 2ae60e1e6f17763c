"""Build the documents of a run from its state and its log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import cast

from leadhand.core.errors import Failure
from leadhand.core.events import (
    AttemptSettled,
    Entry,
    SubtaskBlocked,
    SubtaskResolved,
    SubtaskReused,
)
from leadhand.core.evidence import needs_failed, skipped
from leadhand.core.evolve.attempts import parent_of
from leadhand.core.hosts import NO_WAIT, HostWait
from leadhand.core.ids import event_id, step_of
from leadhand.core.judgement import Judgement
from leadhand.core.lifecycle import StepStatus
from leadhand.core.limits import usd
from leadhand.core.listing import RunListing
from leadhand.core.questions import open_question
from leadhand.core.run import ENDED
from leadhand.core.state import RunState, StepState

from . import shapes
from .evidence import calls_made, done_calls, evidence_part, failure_part, outcome_part
from .progress_lines import progress_lines
from .report_task import ProgressLine, ReportTask
from .work_states import work_order, work_state


def run_document(
    state: RunState,
    entries: Iterable[Entry],
    *,
    owner: str | None,
    task: ReportTask | None = None,
    followed_by: Iterable[str] = (),
    wait: HostWait = NO_WAIT,
    proposed: Mapping[str, object] = MappingProxyType({}),
    judgement: Judgement | None = None,
) -> shapes.RunDocument:
    """The document of ``docs/reference/run-document.md`` as of ``last_seq``.

    ``owner`` is the host that is driving the run, None if no host does. ``task`` is the work on a report; its progress
    is added from the log. ``followed_by`` are the runs that follow it up, ``wait`` says whether it waits for a host,
    ``proposed`` with which limits it can continue, ``judgement`` what the claims of its answer rest on.
    """
    entries = list(entries)
    definition, finished, follows = state.definition, state.finished, state.definition.follows
    limits, budget = definition.limits, definition.limits.budget_nanousd
    states = tuple(work_state(state, order) for order in state.orders.values())
    asked, (calls, failed_calls) = open_question(state), calls_made(state)
    return shapes.RunDocument(
        run_id=state.run_id,
        flow=definition.flow,
        request=definition.request,
        name=definition.name,
        tags=definition.tags,
        priority=definition.priority,
        status=state.status,
        owner=None if state.status in ENDED else owner,
        waits_for=wait.reason,
        queue_position=wait.position,
        outcome=outcome_part(state, proposed),
        answer=(finished.answer or None) if finished is not None else None,
        value=finished.value if finished is not None else None,
        sample=finished.sample if finished is not None else False,
        evidence=evidence_part(state, judgement or Judgement()),
        claims=judgement.claims if judgement is not None else (),
        done=tuple(done_calls(state)),
        calls=calls,
        failed_calls=failed_calls,
        question=None if asked is None else shapes.OpenQuestion(id=asked.id, text=asked.text, choices=asked.choices),
        sources=finished.sources if finished is not None else (),
        gaps=finished.gaps if finished is not None else (),
        earlier_answers=tuple(
            shapes.EarlierAnswer(number=answer.number, status=answer.status, answer=answer.answer or None)
            for answer in state.answers
        ),
        failure=failure_part(state),
        steps=tuple(_step(state, each) for each in state.steps.values()),
        work_orders=tuple(work_order(order) for order in state.orders.values()),
        work_states=states,
        work_state=states[-1] if states else None,
        context_store=shapes.ContextStore(
            events=tuple(filter(None, (_context_event(state, entry) for entry in entries)))
        ),
        task=None if task is None else task.model_copy(update={"events": _progress(state, entries)}),
        todos=state.todos,
        artifacts=artifact_lines(state),
        approvals=tuple(state.approvals.values()),
        usage=shapes.RunUsage(
            requests=state.spent.requests,
            input_tokens=state.input_tokens,
            cached_tokens=state.cached_tokens,
            cache_write_tokens=state.cache_write_tokens,
            output_tokens=state.output_tokens,
            cost_usd=None if state.unpriced else usd(state.spent.nanousd),
        ),
        limits=shapes.RunLimits.model_validate(
            {
                **dict(limits),
                "budget_usd": None if budget is None else usd(budget),
                "unpriced_models": definition.unpriced,
            }
        ),
        proposed_limits=cast("dict[str, float]", dict(proposed)),
        instructions=definition.instructions,
        tools=tuple(tool.name for tool in definition.tools),
        hooks=definition.hooks,
        plan_only=definition.plan_only,
        approve_plan=definition.approve_plan,
        model=definition.models.default,
        models=definition.models.roles,
        forked_from=definition.forked_from,
        follows=None if follows is None else shapes.FollowedRun(run_id=follows.run_id, request=follows.request),
        followed_by=tuple(followed_by),
        offline=definition.offline,
        detached=definition.detached,
        created_at=state.created_at,
        finished_at=state.finished_at,
        last_seq=state.seq,
    )


def run_line(listing: RunListing) -> shapes.RunLine:
    """A run in a list; its process releases it only some time after its end."""
    same = listing.model_dump(exclude={"head_seq", "epoch", "nanousd", "unpriced", "owner", "key_id", "follows"})
    owner = None if listing.status in ENDED else listing.owner
    cost_usd = None if listing.unpriced else usd(listing.nanousd)
    return shapes.RunLine(
        last_seq=listing.head_seq, cost_usd=cost_usd, owner=owner, follows=listing.follows or None, **same
    )


def _step(state: RunState, each: StepState) -> shapes.StepLine:
    """A step in a line. What was open when the run ended is dropped, as in the view."""
    return shapes.StepLine(
        id=each.key,
        worker=each.step.worker,
        title=each.step.name,
        status=StepStatus.DROPPED if state.status in ENDED and not each.closed else each.status,
        counts=each.counts,
        attempts=each.attempts,
        parent=parent_of(each.step),
        summary=each.data.summary[:300] if each.data is not None else "",
        failure=each.failure,
    )


def _progress(state: RunState, entries: Iterable[Entry]) -> tuple[ProgressLine, ...]:
    lines = progress_lines({key: each.step for key, each in state.steps.items()}, entries)
    return tuple(map(ProgressLine.model_validate, lines))


def _context_event(state: RunState, entry: Entry) -> shapes.ContextEvent | None:
    """Return the evidence of an entry: a settled attempt, a blocked subtask, or one that a person settled."""
    event = entry.event
    attempt: str | None = None
    by: str | None = None
    match event:
        case AttemptSettled() if state.steps[step_of(event.attempt)].counts:
            attempt, ok, key = event.attempt, event.ok, step_of(event.attempt)
            outcome = state.steps[key].data if ok else event.failure
        case SubtaskBlocked():
            ok, key, outcome = False, event.subtask, needs_failed(event.cause)
        case SubtaskReused():
            ok, key, outcome = True, event.subtask, state.steps[event.subtask].data
        case SubtaskResolved():
            by, ok, key = event.by, event.data is not None, event.subtask
            outcome = skipped(event.by, event.reason) if event.data is None else event.data
        case _:
            return None
    step = state.steps[key]
    given, subtask = step.step, step.step.subtask
    agent, args = (given.worker, given.input) if subtask is None else (subtask.agent, step.args_made(ok=ok))
    order = step.order
    content = {} if outcome is None else outcome.model_dump(mode="json")
    return shapes.ContextEvent(
        event_id=event_id(entry.seq),
        timestamp=entry.at,
        task_name=given.name,
        result="success" if ok else "failure",
        agent=agent if by is None else "person",
        content={**args, **({"error": content} if isinstance(outcome, Failure) else content)},
        refs=shapes.EventRefs(work_order_id=order, subtask_index=step.position)
        if order
        else shapes.EventRefs(step=key),
        attempt=attempt,
        by=by,
    )


def artifact_lines(state: RunState) -> tuple[shapes.ArtifactLine, ...]:
    """Return every version of the files that a run produced."""
    return tuple(
        shapes.ArtifactLine(
            path=path,
            version=number,
            digest=each.digest,
            bytes=each.size,
            media_type=each.media_type,
            by=each.by,
            at=each.at,
        )
        for path, versions in state.artifacts.items()
        for number, each in enumerate(versions, start=1)
    )
