"""Apply events of calls to the state: conversation, evidence, spending, and open calls of an attempt."""

from __future__ import annotations

from collections.abc import Sequence

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT, Approval, ApprovalStatus, args_hash
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.frozen import FrozenDict
from leadhand.core.ids import step_of
from leadhand.core.state import (
    ArtifactVersion,
    BegunCall,
    CallAnswer,
    Compacted,
    ModelTurn,
    RunState,
    StepState,
)
from leadhand.core.tool import ToolResult

from .attempts import artifacts_of, children_of, current


def model_began(state: RunState, _entry: ev.Entry, event: ev.ModelCallBegan) -> None:
    reserved = {**state.reserved.get(event.attempt, {}), event.call_id: event.reserved}
    state.reserved[event.attempt] = FrozenDict(reserved)


def model_returned(state: RunState, _entry: ev.Entry, event: ev.ModelCallReturned) -> None:
    reserved = dict(state.reserved.get(event.attempt, {}))
    amount = reserved.pop(event.call_id, None)
    if amount is not None:
        if reserved:
            state.reserved[event.attempt] = FrozenDict(reserved)
        else:
            del state.reserved[event.attempt]
        usage = event.usage
        if usage is None:
            state.spent = state.spent + amount
        else:
            price = amount.nanousd if usage.nanousd is None else usage.nanousd
            state.spent = state.spent + usage.amount.evolve(nanousd=price)
            state.unpriced = state.unpriced or usage.nanousd is None
            state.input_tokens += usage.input_tokens
            state.cached_tokens += usage.cached_tokens
            state.cache_write_tokens += usage.cache_write_tokens
            state.output_tokens += usage.output_tokens
    step = current(state, event.attempt)
    if step is not None and event.message is not None:
        turn = ModelTurn(event.call_id, event.message, event.value, event.finish_reason, event.asked)
        state.steps[step.key] = step._replace(calls=(*step.calls, turn))


def element_written(state: RunState, _entry: ev.Entry, event: ev.ElementWritten) -> None:
    """Record an element. If the answer is written again, an element replaces those from its place on."""
    step = current(state, event.attempt)
    if step is not None and step.attempt is not None:
        before = step.attempt.written
        if before and before[-1][0] >= event.index:
            before = tuple(each for each in before if each[0] < event.index)
        attempt = step.attempt._replace(written=(*before, (event.index, event.value)))
        state.steps[step.key] = step._replace(attempt=attempt)


def compacted(state: RunState, _entry: ev.Entry, event: ev.ConversationCompacted) -> None:
    step = current(state, event.attempt)
    if step is not None:
        now = Compacted(event.through, event.keep, event.left_out)
        state.steps[step.key] = step._replace(compacted=now)


def tool_began(state: RunState, _entry: ev.Entry, event: ev.ToolCallBegan) -> None:
    step = current(state, event.attempt)
    if step is not None:
        begun = BegunCall(event.call_id, event.tool, event.args, event.effect, event.changed_by)
        state.steps[step.key] = step._replace(begun=(*step.begun, begun))
    approval = state.approvals.get(event.call_id)
    if approval is not None and approval.status is ApprovalStatus.APPROVED:
        state.approvals[event.call_id] = approval.evolve(status=ApprovalStatus.CONSUMED)


def tool_blocked(state: RunState, _entry: ev.Entry, event: ev.ToolCallBlocked) -> None:
    """Record a call that a hook blocked as a failed one that was not made."""
    step = current(state, event.attempt)
    if step is not None:
        made = ToolResult(event.call_id, event.tool, event.args, event.effect, failure=event.failure)
        state.steps[step.key] = step._replace(calls=(*step.calls, made))


def tool_returned(state: RunState, _entry: ev.Entry, event: ev.ToolCallReturned) -> None:
    step = current(state, event.attempt)
    if step is None:
        return
    begun = next((call for call in step.begun if call.call_id == event.call_id), None)
    if begun is None:
        return
    state.steps[step.key] = step._replace(
        calls=(*step.calls, result_of(begun, event)),
        begun=tuple(call for call in step.begun if call.call_id != event.call_id),
    )


def result_of(call: BegunCall, event: ev.ToolCallReturned) -> ToolResult:
    """Return the result of a call, as its return is logged."""
    return ToolResult(
        **call._asdict(),
        summary=event.summary,
        raw=event.raw,
        sources=event.sources,
        sample=event.sample,
        asks=event.asks,
        failure=event.failure,
    )


def approval_requested(state: RunState, entry: ev.Entry, event: ev.ApprovalRequested) -> None:
    approval = event.approval if event.approval.asked_at is not None else event.approval.evolve(asked_at=entry.at)
    state.approvals[approval.approval_id] = approval  # 0.1 did not record the time of the request


def approval_answered(state: RunState, entry: ev.Entry, event: ev.ApprovalAnswered) -> None:
    approval = state.approvals.get(event.approval_id)
    if approval is None or approval.status is not ApprovalStatus.PENDING or approval.kind == "effect":
        return
    if approval.expires_at is not None and entry.at >= approval.expires_at:
        return  # the request had already expired
    if event.args_hash != args_hash(approval.args):
        return  # an answer for other arguments than those shown
    _decide(state, approval, event)
    if event.always and event.approve and approval.kind == "call":
        state.allowed[approval.tool] = event.by
        for other in list(state.approvals.values()):
            planned = other.kind == "call" and not other.by_hand
            if other.tool == approval.tool and planned and other.status is ApprovalStatus.PENDING:
                _decide(state, other, event.evolve(args=None))


def _decide(state: RunState, approval: Approval, event: ev.ApprovalAnswered) -> None:
    status = ApprovalStatus.APPROVED if event.approve else ApprovalStatus.DENIED
    args = approval.args if event.args is None else event.args
    preview = approval.preview if event.args is None else None  # it shows what other arguments would make
    answered = approval.evolve(status=status, args=args, preview=preview, by=event.by, reason=event.reason)
    state.approvals[approval.approval_id] = answered
    _answer(state, approval.approval_id, CallAnswer(ok=event.approve, content=event.reason, args=event.args))


def approval_expired(state: RunState, _entry: ev.Entry, event: ev.ApprovalExpired) -> None:
    approval = state.approvals[event.approval_id]
    state.approvals[event.approval_id] = approval.evolve(status=ApprovalStatus.EXPIRED, reason=EXPIRED)
    _answer(state, event.approval_id, CallAnswer(ok=False, content=EXPIRED))


EXPIRED = "nobody answered in time"


def effect_answered(state: RunState, _entry: ev.Entry, event: ev.EffectAnswered) -> None:
    """Settle an interrupted call with a person's answer."""
    approval = state.approvals.get(event.approval_id)
    if approval is None or approval.status is not ApprovalStatus.PENDING or approval.kind != "effect":
        return
    status = ApprovalStatus.APPROVED if event.happened else ApprovalStatus.DENIED
    state.approvals[event.approval_id] = approval.evolve(status=status, by=event.by, reason=event.summary)
    key = step_of(approval.attempt)
    step = state.steps[key]
    call_id = event.approval_id.removesuffix(EFFECT)
    doubted = next((call for call in step.indeterminate_calls if call.call_id == call_id), None)
    if doubted is not None:
        kept = tuple(call for call in step.calls if not (isinstance(call, ToolResult) and call.call_id == call_id))
        if event.happened:
            called = ", ".join(f"{name}={value!r}" for name, value in doubted.args.items())
            said = event.summary or f"{doubted.tool}({called}): {event.by or 'a person'} confirms that it happened"
            person = ToolResult(**doubted._asdict(), summary=said, raw=event.raw, by=event.by or "a person")
            kept = (*kept, person)
        begun = tuple(call for call in step.begun if call.call_id != call_id)
        state.steps[key] = step._replace(calls=kept, begun=begun)
    _answer(state, event.approval_id, CallAnswer(ok=event.happened, content=event.summary))


CHILD_FAILED = "child_failed"
"""The type of failure of a call whose task another worker could not carry out, or that asked for too much."""


def call_answered(state: RunState, _entry: ev.Entry, event: ev.CallAnswered) -> None:
    """Record the controller's answer to a call as evidence, like the result of any other call."""
    key = event.call_id.rpartition("/t")[0]
    step = state.steps.get(key)
    call = step.open_call(event.call_id) if step is not None else None
    if step is not None and call is not None and call.kind in ("child", "asks") and key in state.parked:
        returned = step.returned(event.call_id)
        kept = tuple(each for each in step.calls if each is not returned)
        evidence = returned or ToolResult(call_id=call.call_id, tool=call.tool, args=call.args)
        if not event.ok:
            failure = Failure.of(event.content, CHILD_FAILED, FailureClass.INVALID)
            evidence = evidence._replace(failure=failure)
        else:
            evidence = _with_results(state, evidence, children_of(state, event.call_id))
        state.steps[key] = step._replace(calls=(*kept, evidence))
    _answer(state, event.call_id, CallAnswer(ok=event.ok, content=event.content, decided=True))


def _with_results(state: RunState, evidence: ToolResult, children: Sequence[StepState]) -> ToolResult:
    """Return a call with the results of its children: the data of one child, or of several by their ids.

    Texts of children are its summary; a structured answer is data, and is not repeated there.
    The files that a child's own children wrote are part of its result.
    """
    found = {child.key: (child.data, child.value) for child in children if child.data is not None}
    if not found:
        return evidence
    raws = {key: data.raw if value is None else value for key, (data, value) in found.items()}
    results = [data for data, _ in found.values()]
    texts = [data.summary for data, value in found.values() if value is None]
    artifacts = tuple(dict.fromkeys(path for key in found for path in artifacts_of(state, key)))
    return evidence._replace(
        summary="\n\n".join(texts) if texts else None,
        raw=raws if len(raws) > 1 else next(iter(raws.values())),
        sources=tuple(dict.fromkeys(source for data in results for source in data.sources)),
        sample=any(data.sample for data in results),
        artifacts=artifacts,
    )


def worker_defined(state: RunState, _entry: ev.Entry, event: ev.WorkerDefined) -> None:
    state.workers[event.worker.name] = event.worker
    state.makers[event.worker.name] = step_of(event.attempt)


def artifact_written(state: RunState, entry: ev.Entry, event: ev.ArtifactWritten) -> None:
    version = ArtifactVersion(event.digest, event.size, event.media_type, step_of(event.attempt), entry.at)
    state.artifacts[event.path] = (*state.artifacts.get(event.path, ()), version)


def todos_set(state: RunState, _entry: ev.Entry, event: ev.TodosSet) -> None:
    state.todos = event.todos


def _answer(state: RunState, call_id: str, answer: CallAnswer) -> None:
    for key in state.parked:
        step = state.steps[key]
        attempt = step.attempt
        call = next((each for each in attempt.open_calls if each.call_id == call_id), None) if attempt else None
        if attempt is not None and call is not None:
            if call.changed and answer.ok and answer.args is None:  # a person approved what the hook made of the call
                answer = answer._replace(args=call.args, hook=call.hook)
            answers = FrozenDict({**attempt.answers, call_id: answer})
            state.steps[key] = step._replace(attempt=attempt._replace(answers=answers))
            return
