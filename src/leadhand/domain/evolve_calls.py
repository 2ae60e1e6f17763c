"""What events do to the calls of an attempt: its conversation, its evidence, what it spent, what it waits for."""

from __future__ import annotations

from . import events as ev
from .approval import EFFECT, Approval, ApprovalStatus, args_hash
from .children import child_of
from .errors import Failure
from .evolve_attempts import current
from .ids import assignment_of
from .state import Answered, BegunCall, ModelTurn, RunState, ToolEvidence
from .tool import Effect


def model_began(state: RunState, _entry: ev.Entry, event: ev.ModelCallBegan) -> None:
    state.reserved[event.attempt] = {**state.reserved.get(event.attempt, {}), event.call_id: event.reserved}


def model_returned(state: RunState, _entry: ev.Entry, event: ev.ModelCallReturned) -> None:
    reserved = dict(state.reserved.get(event.attempt, {}))
    held = reserved.pop(event.call_id, None)
    if held is not None:
        if reserved:
            state.reserved[event.attempt] = reserved
        else:
            del state.reserved[event.attempt]
        usage = event.usage
        if usage is None:
            state.spent = state.spent + held
        else:
            price = held.nanousd if usage.nanousd is None else usage.nanousd
            state.spent = state.spent + usage.amount.evolve(nanousd=price)
            state.unpriced = state.unpriced or usage.nanousd is None
            state.input_tokens += usage.input_tokens
            state.output_tokens += usage.output_tokens
    assignment = current(state, event.attempt)
    if assignment is not None and event.message is not None:
        turn = ModelTurn(
            call_id=event.call_id, message=event.message, value=event.value, finish_reason=event.finish_reason
        )
        key = assignment.assignment.assignment_id
        state.assignments[key] = assignment._replace(calls=(*assignment.calls, turn))


def compacted(state: RunState, _entry: ev.Entry, event: ev.ConversationCompacted) -> None:
    assignment = current(state, event.attempt)
    if assignment is not None:
        key = assignment.assignment.assignment_id
        state.assignments[key] = assignment._replace(compacted=(event.through, event.keep))


def tool_began(state: RunState, _entry: ev.Entry, event: ev.ToolCallBegan) -> None:
    assignment = current(state, event.attempt)
    if assignment is not None:
        begun = BegunCall(call_id=event.call_id, tool=event.tool, args=event.args, effect=event.effect)
        key = assignment.assignment.assignment_id
        state.assignments[key] = assignment._replace(begun=(*assignment.begun, begun))
    approval = state.approvals.get(event.call_id)
    if approval is not None and approval.status is ApprovalStatus.APPROVED:
        state.approvals[event.call_id] = approval.evolve(status=ApprovalStatus.CONSUMED)


def tool_returned(state: RunState, _entry: ev.Entry, event: ev.ToolCallReturned) -> None:
    assignment = current(state, event.attempt)
    if assignment is None:
        return
    begun = next((call for call in assignment.begun if call.call_id == event.call_id), None)
    if begun is None:
        return
    evidence = ToolEvidence(
        call_id=event.call_id,
        tool=event.tool,
        args=begun.args,
        effect=begun.effect,
        ok=event.ok,
        summary=event.summary,
        raw=event.raw,
        sources=event.sources,
        sample=event.sample,
        failure=event.failure,
    )
    state.assignments[assignment.assignment.assignment_id] = assignment._replace(
        calls=(*assignment.calls, evidence),
        begun=tuple(call for call in assignment.begun if call.call_id != event.call_id),
    )


def approval_requested(state: RunState, _entry: ev.Entry, event: ev.ApprovalRequested) -> None:
    state.approvals[event.approval.approval_id] = event.approval


def approval_answered(state: RunState, entry: ev.Entry, event: ev.ApprovalAnswered) -> None:
    approval = state.approvals.get(event.approval_id)
    if approval is None or approval.status is not ApprovalStatus.PENDING or approval.kind != "call":
        return
    if approval.expires_at is not None and entry.at >= approval.expires_at:
        return  # silence was a no before this was said
    if event.args_hash != args_hash(approval.args):
        return  # an answer about something else than what was shown
    _decided(state, approval, event)
    if event.always and event.approve:
        state.allowed[approval.tool] = event.by
        for other in list(state.approvals.values()):
            if other.tool == approval.tool and other.kind == "call" and other.status is ApprovalStatus.PENDING:
                _decided(state, other, event.evolve(args=None))


def _decided(state: RunState, approval: Approval, event: ev.ApprovalAnswered) -> None:
    status = ApprovalStatus.APPROVED if event.approve else ApprovalStatus.DENIED
    args = approval.args if event.args is None else event.args
    state.approvals[approval.approval_id] = approval.evolve(status=status, args=args, by=event.by, reason=event.reason)
    _answer(state, approval.approval_id, Answered(ok=event.approve, content=event.reason, args=event.args))


def approval_expired(state: RunState, _entry: ev.Entry, event: ev.ApprovalExpired) -> None:
    approval = state.approvals[event.approval_id]
    state.approvals[event.approval_id] = approval.evolve(status=ApprovalStatus.EXPIRED, reason=NOBODY)
    _answer(state, event.approval_id, Answered(ok=False, content=NOBODY))


NOBODY = "nobody answered in time"


def effect_answered(state: RunState, _entry: ev.Entry, event: ev.EffectAnswered) -> None:
    """What a person says of a call takes the place of what nobody saw."""
    approval = state.approvals.get(event.approval_id)
    if approval is None or approval.status is not ApprovalStatus.PENDING or approval.kind != "effect":
        return
    status = ApprovalStatus.APPROVED if event.happened else ApprovalStatus.DENIED
    state.approvals[event.approval_id] = approval.evolve(status=status, by=event.by, reason=event.summary)
    key = assignment_of(approval.attempt)
    assignment = state.assignments[key]
    call_id = event.approval_id.removesuffix(EFFECT)
    doubted = next((call for call in assignment.doubts if call.call_id == call_id), None)
    if doubted is not None:
        kept = tuple(
            call for call in assignment.calls if not (isinstance(call, ToolEvidence) and call.call_id == call_id)
        )
        if event.happened:
            called = ", ".join(f"{name}={value!r}" for name, value in doubted.args.items())
            said = event.summary or f"{doubted.tool}({called}): {event.by or 'a person'} says that it happened"
            person = ToolEvidence(**doubted._asdict(), ok=True, summary=said, raw=event.raw, by=event.by or "a person")
            kept = (*kept, person)
        begun = tuple(call for call in assignment.begun if call.call_id != call_id)
        state.assignments[key] = assignment._replace(calls=kept, begun=begun)
    _answer(state, event.approval_id, Answered(ok=event.happened, content=event.summary))


def child_answered(state: RunState, _entry: ev.Entry, event: ev.ChildAnswered) -> None:
    """The call that asked for a child has its result: evidence like that of any other call."""
    key = event.call_id.rpartition("/t")[0]
    assignment = state.assignments.get(key)
    attempt = assignment.attempt if assignment is not None else None
    call = next((c for c in attempt.open_calls if c.call_id == event.call_id), None) if attempt is not None else None
    if assignment is not None and call is not None and call.kind == "child" and key in state.parked:
        child = child_of(state, event.call_id)
        data = child.result.data if child is not None and child.result is not None else None
        failure = None
        if not event.ok:
            failure = Failure.model_validate({"message": event.content, "type": "child_failed", "class": "invalid"})
        evidence = ToolEvidence(
            call_id=call.call_id,
            tool=call.tool,
            args=call.args,
            effect=Effect.PURE,
            ok=event.ok,
            summary=event.content if event.ok else None,
            sources=data.sources if data is not None else (),
            sample=data.sample if data is not None else False,
            failure=failure,
        )
        state.assignments[key] = assignment._replace(calls=(*assignment.calls, evidence))
    _answer(state, event.call_id, Answered(ok=event.ok, content=event.content))


def _answer(state: RunState, call_id: str, answer: Answered) -> None:
    for key in state.parked:
        assignment = state.assignments[key]
        attempt = assignment.attempt
        if attempt is not None and any(call.call_id == call_id for call in attempt.open_calls):
            answers = {**attempt.answers, call_id: answer}
            state.assignments[key] = assignment._replace(attempt=attempt._replace(answers=answers))
            return
