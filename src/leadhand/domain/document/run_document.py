"""Make the run document from a run's state and log."""

from __future__ import annotations

from collections.abc import Iterable

from leadhand.domain.events import Entry
from leadhand.domain.limits import usd
from leadhand.domain.listing import RunListing
from leadhand.domain.run import ENDED
from leadhand.domain.state import RunState

from .shapes import ContextStore, EarlierAnswer, RunDocument, RunLimits, RunLine
from .work import artifacts, context_events, usage, work_order, work_state


def run_document(state: RunState, entries: Iterable[Entry], *, owner: str | None) -> RunDocument:
    """The document of ``docs/reference/run-document.md`` as of ``last_seq``.

    ``owner`` is the host that drives the run now, None when no host does.
    """
    definition, finished = state.definition, state.finished
    states = tuple(work_state(state, order) for order in state.orders.values())
    return RunDocument(
        run_id=state.run_id,
        flow=definition.flow,
        request=definition.request,
        status=state.status,
        owner=None if state.status in ENDED else owner,
        answer=finished.answer if finished is not None else None,
        sources=finished.sources if finished is not None else (),
        gaps=finished.gaps if finished is not None else (),
        earlier_answers=tuple(
            EarlierAnswer(number=answer.number, status=answer.status, answer=answer.answer) for answer in state.answers
        ),
        failure=finished.failure if finished is not None else None,
        work_orders=tuple(work_order(order) for order in state.orders.values()),
        work_states=states,
        work_state=states[-1] if states else None,
        context_store=ContextStore(events=context_events(state, entries)),
        todos=state.todos,
        artifacts=artifacts(state),
        approvals=tuple(state.approvals.values()),
        usage=usage(state),
        limits=run_limits(state),
        model=definition.models.default,
        models=definition.models.roles,
        forked_from=definition.forked_from,
        offline=definition.offline,
        detached=definition.detached,
        created_at=state.created_at,
        finished_at=state.finished_at,
        last_seq=state.seq,
    )


def run_limits(state: RunState) -> RunLimits:
    """The limits of a run, money in dollars."""
    limits = state.definition.limits
    budget = limits.budget_nanousd
    return RunLimits.model_validate({**dict(limits), "budget_usd": None if budget is None else usd(budget)})


def run_line(listing: RunListing) -> RunLine:
    """A run in a list."""
    return RunLine(
        run_id=listing.run_id,
        flow=listing.flow,
        request=listing.request,
        status=listing.status,
        model=listing.model,
        created_at=listing.created_at,
        finished_at=listing.finished_at,
        last_seq=listing.head_seq,
        owner=listing.owner,
        orphan=listing.orphan,
        detached=listing.detached,
        subtasks=listing.subtasks,
        completed=listing.completed,
        failed=listing.failed,
        asking=listing.asking,
        requests=listing.requests,
        tokens=listing.tokens,
        cost_usd=usd(listing.nanousd),
    )
