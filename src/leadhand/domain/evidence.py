"""The gate's first stage: check a result against the log."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import Failure, FailureClass
from .state import INDETERMINATE, AssignmentState, RunState
from .tool import ToolResult
from .work_result import ResultData, WorkResult


def unsupported_claim(state: RunState, assignment: AssignmentState, result: WorkResult) -> Failure | None:
    """Return why an ok result does not count (a claim without evidence in the attempt's lineage), None if it counts.

    The tool that a subtask names must have been called successfully, every call that the result uses must be in the
    log, and every source must have come from one of those calls or from a result that the assignment needs.
    """
    if not result.ok or result.data is None:
        return None
    done = {call.call_id: call for call in assignment.evidence if call.ok}
    tool = assignment.assignment.subtask.tool if assignment.assignment.subtask is not None else None
    if tool is not None and all(call.tool != tool for call in done.values()):
        tried = any(call.tool == tool for call in assignment.evidence)
        how = "never succeeded" if tried else "was never called"
        return _invalid(f"the result says ok, but {tool} {how}")
    missing = [used for used in result.used if used not in done]
    if missing:
        return _invalid(f"the result uses the call {missing[0]}, but the log has no such finished call")
    known = {source.url for call in done.values() for source in call.sources}
    for needed in assignment.assignment.needs:
        data = state.assignments[needed].data
        known |= {source.url for source in data.sources} if data is not None else set()
    foreign = [source.url for source in result.data.sources if source.url not in known]
    if foreign:
        return _invalid(f"the result cites {foreign[0]}, which none of its calls returned")
    return None


def with_evidence(data: ResultData, used: tuple[str, ...], evidence: Sequence[ToolResult]) -> ResultData:
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


def needs_failed(cause: str) -> Failure:
    """Return the failure of an assignment that cannot start because it needs ``cause``, which failed."""
    return Failure.of(f"it needs {cause}, which did not succeed", "needs_failed", FailureClass.BLOCKED)


def skipped(by: str, reason: str, doubted: str = "") -> Failure:
    """Return the failure of an assignment that a person skipped; ``doubted`` is a ``once`` tool that may have acted."""
    said = f"{by} skipped it" + (f": {reason}" if reason else "")
    if doubted:
        said += f"; {doubted} was interrupted: the call may have gone through"
    return Failure.of(said, "skipped", FailureClass.REJECTED)


def _invalid(message: str) -> Failure:
    return Failure.of(message, "unproven", FailureClass.INVALID)
