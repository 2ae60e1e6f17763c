"""Build the documents of a run from its state and its log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from leadhand.app.export import shapes
from leadhand.app.export.document import WorkState
from leadhand.app.export.outcome import calls_made, done_calls, end_of, evidence_part, outcome_part
from leadhand.app.new_limits import proposed_limits
from leadhand.app.telemetry.traces import span_above
from leadhand.core.approval import approval_id
from leadhand.core.ids import attempt_id, event_id
from leadhand.core.limits import usd
from leadhand.core.relations import open_question, parent_of
from leadhand.core.run import ENDED, RunDefinition, StepStatus
from leadhand.core.state import RunState, Settlement, StepState
from leadhand.flows.unjudged import judgement_of
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunListing

AS_DEFINED = shapes.RunDocument.model_fields.keys() & RunDefinition.model_fields.keys()
"""The fields of the document that are fields of a run's definition. Four of them have a shape of their own."""
OF_THE_END = ("value", "sample", "sources", "gaps", "failure")
"""The fields of the document that the end of a run has."""


async def followed_by(store: ContextStore, listing: RunListing) -> list[str]:
    """Return the newest runs that follow up a run and belong to the same key."""
    later = await store.runs(follows=listing.run_id, key_id=listing.key_id)
    return [each.run_id for each in later if each.follows == listing.run_id]  # a store may not know this filter


def run_document(
    state: RunState,
    *,
    owner: str | None,
    task: BaseModel | None = None,
    later: Iterable[str] = (),
    wait: str = "",
) -> shapes.RunDocument:
    """Return the document of ``docs/reference/run-document.md`` as of ``last_seq``.

    ``owner`` is the host that is driving the run, None if no host does. ``task`` is the flow's own part.
    ``later`` are the runs that follow it up, ``wait`` says why it waits for a host.
    """
    definition, follows = state.definition, state.definition.follows
    end = end_of(state)
    judgement, proposed = judgement_of(state), proposed_limits(state)
    states = tuple(WorkState.of(state, order) for order in state.orders.values())
    asked, (calls, failed_calls) = open_question(state), calls_made(state)
    document: dict[str, Any] = {
        **{name: getattr(definition, name) for name in AS_DEFINED},
        "run_id": state.run_id,
        "status": state.status,
        "owner": None if state.status in ENDED else owner,
        "waits_for": wait,
        "outcome": outcome_part(state, proposed),
        **{name: getattr(end, name) for name in OF_THE_END},
        "answer": end.answer or None,
        "evidence": evidence_part(state, judgement),
        "claims": judgement.claims,
        "done": tuple(done_calls(state)),
        "calls": calls,
        "failed_calls": failed_calls,
        "question": None if asked is None else {"id": asked.id, "text": asked.text, "choices": asked.choices},
        "earlier_answers": tuple(
            {"number": each.number, "status": each.status, "answer": each.answer or None} for each in state.answers
        ),
        "steps": tuple(_step(state, each) for each in state.steps.values()),
        "work_orders": tuple(each.order for each in state.orders.values()),
        "work_states": states,
        "work_state": states[-1] if states else None,
        "context_store": {"events": _context_events(state)},
        "task": task,
        "todos": state.todos,
        "artifacts": artifact_lines(state),
        "approvals": tuple(
            {**dict(each), "approval_id": approval_id(state.run_id, each), "call_id": each.approval_id}
            for each in state.approvals.values()
        ),
        "usage": {
            "requests": state.spent.requests,
            "input_tokens": state.input_tokens,
            "cached_tokens": state.cached_tokens,
            "cache_write_tokens": state.cache_write_tokens,
            "output_tokens": state.output_tokens,
            "cost_usd": None if state.unpriced else usd(state.spent.nanousd),
        },
        "limits": {
            **dict(definition.limits),
            "unpriced_models": definition.unpriced,
        },
        "proposed_limits": proposed,
        "tools": tuple(tool.name for tool in definition.tools),
        "trace_id": span_above(state.run_id, definition.traceparent)[0],
        "model": definition.models.default,
        "models": definition.models.by_use,
        "follows": None if follows is None else {"run_id": follows.run_id, "request": follows.request},
        "followed_by": tuple(later),
        "created_at": state.created_at,
        "finished_at": state.finished_at,
        "last_seq": state.seq,
    }
    return shapes.RunDocument.model_validate(document)


def run_line(listing: RunListing) -> shapes.RunLine:
    """Return a run in a list; its process releases it only some time after its end."""
    owner = None if listing.status in ENDED else listing.owner
    cost_usd = None if listing.unpriced else usd(listing.nanousd)
    line = {**dict(listing), "owner": owner, "last_seq": listing.head_seq, "cost_usd": cost_usd}
    return shapes.RunLine.model_validate(line)


def _step(state: RunState, each: StepState) -> shapes.StepLine:
    """Return a step in a line. What was open when the run ended is dropped, as in the view."""
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


def _context_events(state: RunState) -> tuple[shapes.ContextEvent, ...]:
    """Return the evidence of a run, in the order of its log: how attempts at steps that count ended."""
    ends = ((end, each) for each in state.steps.values() if each.counts for end in each.settlements)
    return tuple(_context_event(step, end) for end, step in sorted(ends, key=lambda pair: pair[0].seq))


def _context_event(step: StepState, end: Settlement) -> shapes.ContextEvent:
    ok, given, subtask = end.failure is None, step.step, step.step.subtask
    agent, args = (given.worker, given.input) if subtask is None else (subtask.agent, step.args_made(ok=ok))
    data = step.data if end.failure is None else end.failure
    content = {} if data is None else data.model_dump(mode="json")
    in_order = {"work_order_id": step.order, "subtask_index": step.position}
    return shapes.ContextEvent(
        event_id=event_id(end.seq),
        timestamp=end.at,
        task_name=given.name,
        result="success" if ok else "failure",
        agent="person" if end.by else agent,
        content={**args, **(content if ok else {"error": content})},
        refs=shapes.EventRefs.model_validate(in_order if step.order else {"step": step.key}),
        attempt=attempt_id(step.key, end.attempt) if end.attempt else None,
        by=end.by or None,
    )


def artifact_lines(state: RunState) -> tuple[shapes.ArtifactLine, ...]:
    """Return every version of the files that a run produced."""
    return tuple(
        shapes.ArtifactLine(version=number, bytes=each.size, **each.model_dump(exclude={"size", "run_id"}))
        for versions in state.artifacts.values()
        for number, each in enumerate(versions, start=1)
    )
