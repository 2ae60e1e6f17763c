"""The gate's first stage: check a result against the log."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import Failure, FailureClass
from .ordered_calls import unproven_call
from .state import RunState, StepState
from .tool import INDETERMINATE, UNREADABLE, CallState
from .work_order import Subtask, result_reference
from .work_result import ResultData, WorkResult


def unsupported_claim(state: RunState, step: StepState, result: WorkResult) -> Failure | None:
    """Return why an ok result does not count (a claim without evidence in the attempt's lineage), None if it counts.

    The call that a subtask orders must have succeeded, every call that the result uses must be in the
    log, and every source must have come from one of those calls or from a result that the step needs.
    """
    if not result.ok or result.data is None:
        return None
    done = {call.call_id: call for call in step.evidence if call.ok}
    proof = support_of(state, step)
    if proof is not None:
        return proof
    missing = [used for used in result.used if used not in done]
    if missing:
        return _invalid(f"the result uses the call {missing[0]}, but the log has no such finished call")
    known = {source.url for call in done.values() for source in call.sources}
    for needed in step.step.needs:
        data = state.steps[needed].data
        known |= {source.url for source in data.sources} if data is not None else set()
    foreign = [source.url for source in result.data.sources if source.url not in known]
    if foreign:
        return _invalid(f"the result cites {foreign[0]}, which none of its calls returned")
    return None


def support_of(state: RunState, step: StepState) -> Failure | None:
    """Hold the calls of a step against the one that its subtask orders, as far as the log has its arguments."""
    subtask = step.step.subtask
    if subtask is None:
        return None
    args = {name: value for name, value in subtask.args.items() if result_reference(value) is None}
    evidence = step.evidence
    approved = [
        call.call_id
        for call in evidence
        if (asked := state.approvals.get(call.call_id)) is not None and asked.by and asked.args == call.args
    ]
    return unproven_call(subtask, args, evidence, approved)


def made_calls(step: StepState) -> tuple[CallState, ...]:
    """Return the calls of a step without their data, those that began and whose end was not seen among them."""
    ordered = step.step.subtask.args if step.step.subtask is not None else None
    return (*step.made, *(call.short(ordered) for call in (*step.evidence, *step.running)))


def approval_note(state: RunState, call: CallState, subtask: Subtask | None) -> str:
    """Return what a person decided about a call, for a model; "" if nobody changed it or gave a reason."""
    asked = (each for each in state.approvals.values() if each.kind == "call" and each.by)
    approval = next((each for each in asked if each.tool == call.tool and each.args == call.args), None)
    changed = subtask is not None and call.args != subtask.args
    if approval is None or not (changed or approval.reason):
        return ""
    said = " with these arguments in place of the ordered ones" if changed else ""
    return f"a person approved it{said}{approval.reason and f': {approval.reason}'}"


def with_evidence(data: ResultData, used: tuple[str, ...], evidence: Sequence[CallState]) -> ResultData:
    """Return a result with its data from the log: ``raw`` is what its calls returned, not what the worker claims.

    The data of one call is used as it is; the data of several calls becomes an object by call id. A result without
    calls keeps its own data.
    """
    found = {call.call_id: call.raw for call in evidence if call.ok and call.call_id in used}
    if not found:
        return data
    return data.model_copy(update={"raw": next(iter(found.values())) if len(found) == 1 else found})


def indeterminate(tool: str) -> Failure:
    """The failure of a ``once`` call that started and whose end was not recorded: only a person may repeat it."""
    message = f"{tool} was interrupted: the call may have gone through, so it was not repeated"
    action = "check whether the call went through before you ask for it again"
    return Failure.of(message, INDETERMINATE, FailureClass.UNAVAILABLE, action)


def unreadable(tool: str, failure: Failure) -> Failure:
    """The failure of a ``once`` call that returned something that cannot be used, for the reason in ``failure``."""
    message = f"{tool} was called, but its result cannot be used: {failure.message}"
    return Failure.of(message, UNREADABLE, FailureClass.UNAVAILABLE, failure.next_action)


def needs_failed(cause: str) -> Failure:
    """Return the failure of a step that cannot start because it needs ``cause``, which failed."""
    return Failure.of(f"it needs {cause}, which did not succeed", "needs_failed", FailureClass.BLOCKED)


def skipped(by: str, reason: str, doubted: str = "") -> Failure:
    """Return the failure of a step that a person skipped; ``doubted`` is a ``once`` tool that may have acted."""
    said = f"{by} skipped it" + (f": {reason}" if reason else "")
    if doubted:
        said += f"; {doubted} was interrupted: the call may have gone through"
    return Failure.of(said, "skipped", FailureClass.REJECTED)


def _invalid(message: str) -> Failure:
    return Failure.of(message, "unproven", FailureClass.INVALID)
