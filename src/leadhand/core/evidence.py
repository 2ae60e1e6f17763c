"""What the calls of a step show: whether they support its result, and what is kept of them in short."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from .errors import Failure, FailureClass
from .state import StepState
from .tool import CallState
from .value import Json
from .words.failures import unproven, written_call
from .work_order import Subtask, result_reference
from .work_result import ResultData


def unproven_call(subtask: Subtask, calls: Iterable[CallState], approved: Container[str] = ()) -> Failure | None:
    """Compare ``calls`` with the one that a subtask orders: its tool with its arguments, except references to results.

    None if it was made and succeeded, or was changed in a way that the log shows: by a person (``approved`` holds the
    id of the call), by a hook, or by the worker after the tool refused the ordered arguments. Otherwise the failure of
    the ordered call, or that it was not made.
    """
    args = {name: value for name, value in subtask.args.items() if result_reference(value) is None}
    mine = [call for call in calls if call.tool == subtask.tool]
    if subtask.tool is None or any(
        call.ok and (_same_arguments(args, call.args) or call.call_id in approved or call.by or call.changed_by)
        for call in mine
    ):
        return None
    failures = [(_same_arguments(args, call.args), call.failure) for call in mine if call.failure is not None]
    refusal = next((failure for same, failure in reversed(failures) if same), None)
    instead = next((call for call in reversed(mine) if call.ok), None)
    if instead is None:
        return refusal or (failures[-1][1] if failures else unproven(f"{subtask.tool} was not called"))
    if refusal is not None and refusal.class_ is FailureClass.INVALID:
        return None
    made = written_call(instead.tool, instead.args)
    return unproven(f"{made} was called instead of {written_call(subtask.tool, args)}")


def _same_arguments(ordered: Mapping[str, Json], made: Mapping[str, Json]) -> bool:
    """Whether a call was made with every argument that was ordered; it may have had further ones."""
    return all(name in made and _same(value, made[name]) for name, value in ordered.items())


def _same(one: Json, other: Json) -> bool:
    nested = isinstance(one, Mapping | list) or isinstance(other, Mapping | list)
    return one == other or (not nested and _folded(one) == _folded(other))


def _folded(value: Json) -> str:
    return " ".join(str(value).casefold().split())


def made_calls(step: StepState) -> tuple[CallState, ...]:
    """Return the calls of a step without their data, those that began and whose end was not seen among them."""
    ordered = step.step.subtask.args if step.step.subtask is not None else None
    return (*step.made, *(call.short(ordered) for call in (*step.evidence, *step.running)))


def with_evidence(data: ResultData, used: tuple[str, ...], evidence: Sequence[CallState]) -> ResultData:
    """Return a result with its data from the log: ``raw`` is what its calls returned, not what the worker claims.

    The data of one call is used as it is; the data of several calls becomes an object by call id. A result without
    calls keeps its own data.
    """
    found = {call.call_id: call.raw for call in evidence if call.ok and call.call_id in used}
    if not found:
        return data
    return data.model_copy(update={"raw": next(iter(found.values())) if len(found) == 1 else found})
