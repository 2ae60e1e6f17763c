"""The gate's first stage: what code can find wrong with a result by holding it against the log."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import Failure, FailureClass
from .state import INDETERMINATE, AssignmentState, RunState
from .tool import ToolResult
from .work_result import ResultData, WorkResult


def unsupported_claim(state: RunState, assignment: AssignmentState, result: WorkResult) -> Failure | None:
    """Return why a result that says it is ok does not count: a claim that the attempt's lineage does not show; or None.

    The tool that a subtask names must have been called with success, every call the result rests on must be in the log,
    and every source must have come from one of those calls or from a result the assignment needs.
    """
    if not result.ok or result.data is None:
        return None
    done = {call.call_id: call for call in assignment.evidence if call.ok}
    tool = assignment.assignment.subtask.tool if assignment.assignment.subtask is not None else None
    if tool is not None and all(call.tool != tool for call in done.values()):
        tried = any(call.tool == tool for call in assignment.evidence)
        how = "was called only without success" if tried else "was never called"
        return _invalid(f"the result says ok, but {tool} {how}")
    missing = [used for used in result.used if used not in done]
    if missing:
        return _invalid(f"the result rests on {missing[0]}, and the log has no such finished call")
    known = {source.url for call in done.values() for source in call.sources}
    for needed in assignment.assignment.needs:
        data = state.assignments[needed].data
        known |= {source.url for source in data.sources} if data is not None else set()
    foreign = [source.url for source in result.data.sources if source.url not in known]
    if foreign:
        return _invalid(f"the result cites {foreign[0]}, which no call of it returned")
    return None


def with_evidence(data: ResultData, used: tuple[str, ...], evidence: Sequence[ToolResult]) -> ResultData:
    """A result with its data as the log has it: ``raw`` is what the calls it rests on returned, not what is claimed.

    One call's data is the result's; that of several is an object by call id. A result that rests on no call keeps its
    own.
    """
    found = {call.call_id: call.raw for call in evidence if call.ok and call.call_id in used}
    if not found:
        return data
    return data.model_copy(update={"raw": next(iter(found.values())) if len(found) == 1 else found})


def indeterminate(tool: str) -> Failure:
    """The failure of a ``once`` call that began and whose end was not seen: repeat it only if a person says so."""
    message = f"{tool} had begun and its end was not seen: it may have happened, so it was not called again"
    action = "find out whether it happened before you ask for it again"
    return Failure.of(message, INDETERMINATE, FailureClass.UNAVAILABLE, action)


def needs_failed(cause: str) -> Failure:
    """Return the failure of an assignment that is not started, since ``cause``, which it needs, did not succeed."""
    return Failure.of(f"it needs {cause}, which did not succeed", "needs_failed", FailureClass.BLOCKED)


def skipped(by: str, reason: str, doubted: str = "") -> Failure:
    """Return the failure of an assignment that a person skipped; ``doubted`` is a ``once`` tool that may have acted."""
    said = f"{by} skipped it" + (f": {reason}" if reason else "")
    if doubted:
        said += f"; {doubted} had begun and its end was not seen: it may have happened"
    return Failure.of(said, "skipped", FailureClass.REJECTED)


def _invalid(message: str) -> Failure:
    return Failure.of(message, "unproven", FailureClass.INVALID)
