"""Approval requests: what people see of a call before they answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from leadhand.core import decide as do
from leadhand.core.approval import EFFECT, Approval, Question, described
from leadhand.core.ids import asking_call, place_of
from leadhand.core.state import RunState
from leadhand.core.text import is_said
from leadhand.core.value import Json
from leadhand.core.work_order import OpenCall, references_in
from leadhand.engine.work import is_by_hand
from leadhand.flows.facts import clarified_request


def due_questions(state: RunState, now: datetime) -> Iterator[do.Command]:
    """Return commands for new approval requests of parked attempts, and for expired requests and questions."""
    for approval_id, expires_at in state.asking.items():
        if expires_at is not None and expires_at <= now:
            yield do.Expire(approval_id)
    for question_id, expires_at in state.unanswered.items():
        if expires_at is not None and expires_at <= now:
            yield do.Expire(question_id)
    for key in state.due:
        attempt = state.steps[key].attempt
        for call in attempt.open_calls if attempt is not None else ():
            if call.kind == "question" and call.call_id not in state.questions:
                yield from _asked_by_tool(state, key, call)
            if attempt is None or call.kind not in ("approval", "effect") or call.call_id in attempt.answers:
                continue
            asked = state.approvals.get(call.call_id)
            if asked is None or asked.attempt != attempt.attempt:
                limit = state.definition.limits.approval_timeout if call.kind == "approval" else None
                yield do.Ask(_question(state, key, attempt.attempt, call), limit)


def _asked_by_tool(state: RunState, key: str, call: OpenCall) -> Iterator[do.Command]:
    """Yield what asks a person the question of a tool, for as long as an approval is asked for."""
    returned = state.steps[key].returned(asking_call(call.call_id))
    asked = returned.question if returned is not None else None
    if asked is not None:
        given = asked.model_dump(include={"text", "choices", "default"})
        question = Question(id=call.call_id, **given)
        yield do.Ask(question, state.definition.limits.approval_timeout)


def _question(state: RunState, key: str, attempt: str, call: OpenCall) -> Approval:
    """Return the approval request of an open call of a parked attempt."""
    tool = state.tools[call.tool]
    step = state.steps[key].step
    return Approval(
        approval_id=call.call_id,
        kind="effect" if call.kind == "effect" else "call",
        attempt=attempt,
        tool=call.tool,
        args=call.args,
        effect=tool.called_with(call.args).effect,
        asked_for=step.name if step.parent is None else key,
        origins={
            name: f"the hook {call.hook}" if name in call.changed else _origin(state, key, name, call)
            for name in call.args
        }
        | {name: f"{secret}, which would be sent to {call.tool}" for name, secret in call.secrets.items()},
        by_hand=call.kind == "approval" and is_by_hand(state, step),
        hook=call.hook,
        hook_reason=call.reason,
        **described(tool, call.args),
    )


def _retried_by(state: RunState, key: str, name: str, value: Json) -> str:
    """Who gave this argument with a retry; "" if the subtask that is retried had it already, or nobody did."""
    step = state.steps[key]
    while step.by_hand and step.order and (repaired := step.subtask.repairs_subtask) is not None:
        step = state.steps[repaired]
    if not (step.by_hand and step.order):
        return ""
    planned = state.orders[step.order].order.subtasks[step.position]
    return step.by_hand if planned.args.get(name) != value else ""


def _origin(state: RunState, key: str, name: str, call: OpenCall) -> str:
    """Return the origin of an argument: a person's retry, the request, a result, the plan, or the worker's model."""
    value = call.args[name]
    retry = _retried_by(state, key, name, value)
    if retry:
        return f"a retry by {retry}"
    if is_said(value, clarified_request(state)):
        return "the request"
    step = state.steps[key].step
    if step.kind == "call":
        return "the flow"
    subtask = step.subtask
    planned = subtask.args.get(name) if subtask is not None else None
    if found := [*references_in(planned)]:
        # The call of the plan, which no model has written.
        as_planned = place_of(call.call_id.removesuffix(EFFECT)) == (0, 0)
        results = (f"{of} ({path if as_planned else 'worked out by the model'})" for of, path in dict.fromkeys(found))
        return f"the result of {', '.join(results)}"
    if subtask is not None and name in subtask.args and planned == value:
        return "the lead's plan"
    return "the worker's model"
