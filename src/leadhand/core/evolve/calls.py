"""Apply events of calls to the state: conversation, evidence, spending, approvals, and open calls of an attempt; and
people's decisions about steps: retries, results that they supply, and what they skip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT, Approval, ApprovalStatus, args_hash, described
from leadhand.core.artifact import FileVersion
from leadhand.core.errors import CHILD_FAILED, EXPIRED, Failure, FailureClass
from leadhand.core.ids import step_of, step_of_call
from leadhand.core.relations import artifacts_of, blocked_by, children_of, descendants, open_approvals
from leadhand.core.run import StepStatus
from leadhand.core.state import CallAnswer, Compacted, ModelTurn, RunState, StepState
from leadhand.core.tool import CallState
from leadhand.core.value import FrozenDict
from leadhand.core.words.failures import skipped
from leadhand.core.work_order import Step, references
from leadhand.core.work_result import SubtaskVerdict, VerdictKind

from . import steps
from .steps import current, ended, note_due, put


def model_began(state: RunState, _entry: ev.Entry, event: ev.ModelCallBegan) -> None:
    state.reserved[event.attempt, event.call_id] = event.reserved


def model_returned(state: RunState, _entry: ev.Entry, event: ev.ModelCallReturned) -> None:
    amount, usage = state.reserved.pop((event.attempt, event.call_id), None), event.usage
    if amount is not None:
        state.spent = state.spent + (amount if usage is None else usage.used(amount))
        if usage is not None:
            state.unpriced = state.unpriced or usage.nanousd is None
            state.input_tokens += usage.input_tokens
            state.cached_tokens += usage.cached_tokens
            state.cache_write_tokens += usage.cache_write_tokens
            state.output_tokens += usage.output_tokens
    step = current(state, event.attempt)
    if step is not None and event.message is not None:
        turn = ModelTurn(event.call_id, event.message, event.value, event.asked)
        put(state, step, calls=(*step.calls, turn))


def element_written(state: RunState, _entry: ev.Entry, event: ev.ElementWritten) -> None:
    """Record an element. If the answer is written again, an element replaces those from its index on."""
    step = current(state, event.attempt)
    if step is not None and step.attempt is not None:
        before = step.attempt.written
        if before and before[-1][0] >= event.index:
            before = tuple(each for each in before if each[0] < event.index)
        attempt = step.attempt._replace(written=(*before, (event.index, event.value)))
        put(state, step, attempt=attempt)


def compacted(state: RunState, _entry: ev.Entry, event: ev.ConversationCompacted) -> None:
    step = current(state, event.attempt)
    if step is not None:
        put(state, step, compacted=Compacted(event.through, event.keep, event.left_out))


def tool_began(state: RunState, _entry: ev.Entry, event: ev.ToolCallBegan) -> None:
    step = current(state, event.attempt)
    if step is not None:
        call = CallState(event.call_id, event.tool, event.args, event.effect, over=False, changed_by=event.changed_by)
        put(state, step, running=(*step.running, call))
    approval = state.approvals.get(event.call_id)
    if approval is not None and approval.status is ApprovalStatus.APPROVED:
        state.approvals[event.call_id] = approval.evolve(status=ApprovalStatus.CONSUMED)


def tool_returned(state: RunState, _entry: ev.Entry, event: ev.ToolCallReturned) -> None:
    """Record the result of a call; one that was prevented is a failed call that was not made."""
    step = current(state, event.attempt)
    if step is None:
        return
    call = next((call for call in step.running if call.call_id == event.call_id), None)
    if event.blocked_args is not None:
        call = CallState(event.call_id, event.tool, event.blocked_args, event.effect)
    if call is not None:
        call = call._replace(
            over=True,
            summary=event.summary,
            raw=event.raw,
            sources=event.sources,
            sample=event.sample,
            asks=event.asks,
            failure=event.failure,
        )
        running = tuple(each for each in step.running if each.call_id != event.call_id)
        put(state, step, calls=(*step.calls, call), running=running)


# --- approvals and open calls ----------------------------------------------------------------------------------------


def approval_requested(state: RunState, _entry: ev.Entry, event: ev.ApprovalRequested) -> None:
    state.approvals[event.approval.approval_id] = event.approval
    state.asking[event.approval.approval_id] = event.approval.expires_at
    note_due(state, step_of(event.approval.attempt))


def approval_answered(state: RunState, entry: ev.Entry, event: ev.ApprovalAnswered) -> None:
    """Record an answer, unless the approval is not open any more, or was shown with other arguments."""
    if event.approval_id not in state.asking:
        return
    approval = state.approvals[event.approval_id]
    if event.expired:
        _close(state, approval.evolve(status=ApprovalStatus.EXPIRED, reason=EXPIRED), CallAnswer(False, EXPIRED))
    elif approval.kind == "effect":
        _confirm(state, approval, event)
        _decide(state, approval, event)
    elif event.args_hash == args_hash(approval.args) and (
        approval.expires_at is None or entry.at < approval.expires_at
    ):
        _decide(state, approval, event)
        if event.always and event.approve and approval.kind == "call":
            covered = state.approvals[event.approval_id].called
            state.allowed[covered] = event.by
            for other in open_approvals(state):
                if other.called == covered and other.kind == "call" and not other.by_hand:
                    _decide(state, other, event.evolve(args=None))


def _decide(state: RunState, approval: Approval, event: ev.ApprovalAnswered) -> None:
    status = ApprovalStatus.APPROVED if event.approve else ApprovalStatus.DENIED
    answered = approval.evolve(status=status, by=event.by, reason=event.reason)
    if (args := event.args) is not None:
        kept = {n: origin for n, origin in approval.origins.items() if n in args and args[n] == approval.args.get(n)}
        origins, tool = {**dict.fromkeys(args, event.by), **kept}, state.tools[approval.tool]
        answered = answered.evolve(args=args, origins=origins, edited=True, **described(tool, args))
    _close(state, answered, CallAnswer(ok=event.approve, content=event.reason, args=event.args))


def _confirm(state: RunState, approval: Approval, event: ev.ApprovalAnswered) -> None:
    """Settle an interrupted call with a person's answer."""
    step = state.steps[step_of(approval.attempt)]
    call_id = event.approval_id.removesuffix(EFFECT)
    doubted = next((call for call in step.indeterminate_calls if call.call_id == call_id), None)
    if doubted is not None:
        calls = tuple(call for call in step.calls if not (isinstance(call, CallState) and call.call_id == call_id))
        if event.approve:
            called = ", ".join(f"{name}={value!r}" for name, value in doubted.args.items())
            said = event.reason or f"{doubted.tool}({called}): {event.by or 'a person'} confirms that it happened"
            confirmed = doubted._replace(over=True, failure=None, summary=said, raw=event.raw)
            calls = (*calls, confirmed._replace(by=event.by or "a person"))
        running = tuple(call for call in step.running if call.call_id != call_id)
        put(state, step, calls=calls, running=running)


def _close(state: RunState, approval: Approval, answer: CallAnswer) -> None:
    """Record an approval that was answered, and give the answer to the call that waits for it."""
    state.approvals[approval.approval_id] = approval
    del state.asking[approval.approval_id]
    if approval.kind == "plan":
        state.settled[f"?{approval.approval_id}"] = state.seq
    _answer(state, step_of(approval.attempt), approval.approval_id, answer)


def _answer(state: RunState, key: str, call_id: str, answer: CallAnswer) -> None:
    step = state.steps.get(key)
    call = step.open_call(call_id) if step is not None else None
    if step is None or step.attempt is None or call is None:
        return
    if call.changed and answer.ok and answer.args is None:  # a person approved what the hook made of the call
        answer = answer._replace(args=call.args, hook=call.hook)
    answers = FrozenDict({**step.attempt.answers, call_id: answer})
    put(state, step, attempt=step.attempt._replace(answers=answers))


def replied(state: RunState, question: str, reply: str) -> None:
    """Give the reply to a question to the call that asks it, if one does."""
    _answer(state, step_of_call(question), question, CallAnswer(ok=True, content=reply, decided=True))


def call_answered(state: RunState, _entry: ev.Entry, event: ev.CallAnswered) -> None:
    """Record the controller's answer to a call as evidence, like the result of any other call."""
    key = step_of_call(event.call_id)
    step = state.steps.get(key)
    call = step.open_call(event.call_id) if step is not None else None
    returned = step.returned(event.call_id) if step is not None else None
    if step is not None and call is not None and returned is not None:
        calls = tuple(each for each in step.calls if each is not returned)
        if event.ok:
            evidence = _with_results(state, returned, children_of(state, event.call_id))
        else:
            advice = "rephrase the request, or ask for it without another worker"
            failure = Failure.of(event.content, CHILD_FAILED, FailureClass.INVALID, advice)
            evidence = returned._replace(failure=failure)
        put(state, step, calls=(*calls, evidence))
    _answer(state, key, event.call_id, CallAnswer(ok=event.ok, content=event.content, decided=True))


def _with_results(state: RunState, evidence: CallState, children: Sequence[StepState]) -> CallState:
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
    return evidence._replace(
        summary="\n\n".join(texts) if texts else None,
        raw=raws if len(raws) > 1 else next(iter(raws.values())),
        sources=tuple(dict.fromkeys(source for data in results for source in data.sources)),
        sample=any(data.sample for data in results),
        artifacts=tuple(dict.fromkeys(path for key in found for path in artifacts_of(state, key))),
    )


# --- what calls ask for ----------------------------------------------------------------------------------------------


def worker_defined(state: RunState, _entry: ev.Entry, event: ev.WorkerDefined) -> None:
    state.workers[event.worker.name] = event.worker
    if event.attempt:
        state.makers[event.worker.name] = step_of(event.attempt)


def artifact_written(state: RunState, entry: ev.Entry, event: ev.ArtifactWritten) -> None:
    written = event.model_dump(include={"path", "digest", "size"})
    version = FileVersion(**written, by=step_of(event.attempt), at=entry.at)
    state.artifacts[event.path] = (*state.artifacts.get(event.path, ()), version)


def todos_set(state: RunState, _entry: ev.Entry, event: ev.TodosSet) -> None:
    state.todos = event.todos


# --- the decisions of people -----------------------------------------------------------------------------------------


def request_decided(state: RunState, _entry: ev.Entry, event: ev.RequestDecided) -> None:
    """Repeat steps, and those that they had blocked; a declined request names none."""
    state.pending_requests = state.pending_requests[1:]
    again = list(event.steps)
    if event.args is None:
        again += [child for key in event.steps for child in _continued(state, key)]
    wanted = list(dict.fromkeys([*again, *blocked_by(state, set(again))]))
    for key in wanted:
        step = state.steps[key]
        given = step.step
        if event.args is not None and key in again:
            given = _with_args(given, event.args)
            step = step.evolve(stopped=None)  # another task begins afresh
        if key in event.workers:
            given = given.model_copy(update={"worker": event.workers[key]})
        goes_on = {each.call_id for each in step.calls} if step.stopped is not None else ()
        by_hand = event.by if key in again and (event.args is not None or step.acted) else step.by_hand
        fresh = step.evolve(
            step=given,
            status=StepStatus.PENDING,
            failures=(),
            data=None,
            value=None,
            failure=None,
            verdict=None,
            by="",
            by_hand=by_hand,
            made=tuple(each for each in step.made if each.call_id not in goes_on),
        )
        put(state, fresh)


def _with_args(step: Step, args: dict[str, Any]) -> Step:
    """Return a step with other input; of a subtask, with other arguments, and the needs to which they still refer."""
    subtask = step.subtask
    if subtask is None:
        return step.model_copy(update={"input": args})
    dropped = {*references(subtask.args)} - {*references(args)}
    subtask = subtask.evolve(args=args, needs=tuple(each for each in subtask.needs if each not in dropped))
    return step.model_copy(update={"subtask": subtask, "needs": subtask.needs})


def _continued(state: RunState, key: str) -> list[str]:
    """Return the children that continue with a step that a limit stopped, and open the calls again that asked for them.

    These are the children of its latest reply that a limit stopped, and theirs: no reply has used their failure yet.
    """
    found: list[str] = []
    step = state.steps[key]
    turn = next((each.call_id for each in reversed(step.calls) if isinstance(each, ModelTurn)), None)
    if step.stopped is None or turn is None:
        return found
    asked = dict.fromkeys(each.call_id for each in (*step.stopped.open_calls, *step.evidence))
    for call_id in (each for each in asked if each.startswith(f"{turn}/c")):
        stopped = [each for each in children_of(state, call_id) if each.stopped is not None]
        if stopped:
            _open_again(state, key, call_id)
        for child in stopped:
            found += [child.key, *_continued(state, child.key)]
    return found


def _open_again(state: RunState, key: str, call_id: str) -> None:
    """Forget the answer to a call. What its tool returned stays; a call that only delegates has no result any more."""
    step = state.steps[key]
    calls = tuple(
        each if isinstance(each, ModelTurn) or each.call_id != call_id else each._replace(failure=None)
        for each in step.calls
        if isinstance(each, ModelTurn) or each.call_id != call_id or each.asks
    )
    stopped = step.stopped
    if stopped is not None:
        answers = {name: answer for name, answer in stopped.answers.items() if name != call_id}
        stopped = stopped._replace(answers=FrozenDict(answers))
    put(state, step, calls=calls, stopped=stopped)


def settled(state: RunState, entry: ev.Entry, event: ev.StepSettled) -> None:
    """Settle a step; if a person decided so, what it asked for ends, and the steps that it had blocked are retried."""
    if not event.by:
        steps.settled(state, entry, event)
        return
    key, was_closed = event.step, state.steps[event.step].closed
    request = next(iter(state.pending_requests), None)
    if request is not None and request.what in ("skip", "supply") and request.steps == (key,):
        state.pending_requests = state.pending_requests[1:]
    verdict = SubtaskVerdict(subtask=key, verdict=VerdictKind.ACCEPT, reason=f"supplied by {event.by}")
    if event.failure is not None:
        verdict = SubtaskVerdict(subtask=key, verdict=VerdictKind.DROP, reason=event.failure.message)
    for child in (state.steps[name] for name in descendants(state, key)):
        if not child.closed:
            dropped = {"status": StepStatus.DROPPED, "failure": skipped(event.by, "")}
            put(state, child, **ended(state, child, event.by), **dropped)
    steps.settled(state, entry, event)
    put(state, state.steps[key], verdict=verdict)
    for dependent in blocked_by(state, {key}) if was_closed and event.ok else ():
        put(state, state.steps[dependent], status=StepStatus.PENDING, failure=None, verdict=None)
