"""Everything the view reads from the state of a run: the only file of the view that knows what a state looks like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from leadhand.domain.approval import Approval
from leadhand.domain.assignment import Assignment, Role
from leadhand.domain.children import descendants, subtask_of
from leadhand.domain.errors import Failure
from leadhand.domain.events import Entry
from leadhand.domain.evolve import apply_entry, start
from leadhand.domain.evolve_attempts import INTERRUPTED
from leadhand.domain.ids import assignment_of
from leadhand.domain.lifecycle import AttemptStatus
from leadhand.domain.review import Verdict
from leadhand.domain.run import ENDED
from leadhand.domain.state import AssignmentState, RunState, SubtaskState

from .texts import label

__all__ = ["INTERRUPTED", "NEEDS_FAILED", "SKIPPED", "RunState"]

SKIPPED = "skipped"
"""The type of the failure of an assignment that a person left undone."""
NEEDS_FAILED = "needs_failed"
"""The type of the failure of an assignment that was not started, since what it needs failed."""


class Standing(NamedTuple):
    """What the state says of one assignment.

    ``status`` is ``completed``, ``failed``, ``dropped`` or ``open``; ``settled``: its last attempt was settled, and
    another one follows.
    """

    status: str
    settled: bool = False
    failure: Failure | None = None
    verdict: Verdict | None = None
    superseded_by: str | None = None
    by: str = ""


class Facts(NamedTuple):
    """What never changes about an assignment."""

    name: str
    label: str
    role: str
    counts: bool
    args: Mapping[str, Any]
    order: str = ""
    position: int = 0
    tool: str | None = None
    needs: tuple[str, ...] = ()
    parent: str = ""
    repairs: str | None = None


def advance(run_id: str, state: RunState | None, entry: Entry) -> RunState:
    """The state after one more entry. Changes ``state`` in place: only its owner may call this."""
    if state is None:
        return start(run_id, entry)
    apply_entry(state, entry)
    return state


def is_over(state: RunState) -> bool:
    """Whether the run has ended."""
    return state.status in ENDED


def standing(state: RunState, key: str) -> Standing:
    """What became of an assignment."""
    subtask, assignment = state.subtasks.get(key), state.assignments.get(key)
    attempt = assignment.attempt if assignment is not None else None
    settled = attempt is not None and attempt.status is AttemptStatus.SETTLED
    if subtask is not None:
        status = subtask.status.value if subtask.status in _SETTLED else "open"
        return Standing(status, settled, subtask.failure, subtask.verdict, subtask.superseded_by, subtask.by)
    if assignment is None:
        return Standing("open")
    return Standing(_outcome(assignment), settled, assignment.failure)


_SETTLED = frozenset({"completed", "failed", "dropped"})


def _outcome(assignment: AssignmentState) -> str:
    if not assignment.closed:
        return "open"
    if assignment.failure is not None and assignment.failure.type == SKIPPED:
        return "dropped"
    return "completed" if assignment.ok else "failed"


def facts_of(state: RunState, assignment: Assignment) -> Facts:
    """What an assignment is, when it is handed out."""
    child = subtask_of(assignment)
    caller = assignment_of(assignment.parent) if assignment.parent is not None else ""
    name = child.name if child is not None else _title(assignment)
    return Facts(
        name=name,
        label=f"{label(name, child.args)} (for {_name(state, caller)})" if child is not None else name,
        role=assignment.role,
        counts=assignment.assignment_id in state.subtasks,
        args=child.args if child is not None else {},
        order=str(assignment.options.get("work_order_id", "")),
        parent=caller,
    )


_TITLES = {"plan": "Plan", "review": "Review", "compose": "Write the answer"}


def _title(assignment: Assignment) -> str:
    """``Review wo-001``, and which part where the work was divided."""
    key, role = assignment.assignment_id, assignment.role
    order = assignment.options.get("work_order_id")
    of = f" {order}" if isinstance(order, str) else ""
    part = key.removeprefix(f"{role}-{order}-") if of else key.removeprefix(role)
    whole = part.removeprefix("-") in ("", "0", "whole", key) or (not of and part.isdigit())
    return f"{_TITLES.get(role, role)}{of}" + ("" if whole else f" · part {part.removeprefix('-')}")


def order_facts(state: RunState, order: str) -> list[tuple[str, Facts]]:
    """The assignments of an order that was just issued, by key, in their order."""
    return [_ordered(state.subtasks[key]) for key in state.orders[order].order.subtask_keys()]


def _ordered(state: SubtaskState) -> tuple[str, Facts]:
    subtask = state.subtask
    return state.key, Facts(
        name=subtask.name,
        label=label(subtask.name, subtask.args),
        role=Role.WORK,
        counts=True,
        args=subtask.args,
        order=state.order,
        position=state.position,
        tool=subtask.tool,
        needs=subtask.needs,
        repairs=subtask.repairs_subtask,
    )


def _name(state: RunState, key: str) -> str:
    subtask, assignment = state.subtasks.get(key), state.assignments.get(key)
    if subtask is not None:
        return subtask.subtask.name
    child = subtask_of(assignment.assignment) if assignment is not None else None
    return child.name if child is not None else key


def tries(state: RunState, facts: Facts) -> int:
    """How many attempts transient failures of an assignment may use up."""
    retries = next((tool.retries for tool in state.definition.tools if tool.name == facts.tool), None)
    return 1 + (state.definition.limits.max_retries if retries is None else retries)


def reserved(state: RunState, attempt: str) -> int:
    """Nano-dollars that are set aside for the open model calls of an attempt."""
    return sum(amount.nanousd for amount in state.reserved.get(attempt, {}).values())


def approval(state: RunState, approval_id: str) -> Approval | None:
    """A question to people, with its answer."""
    return state.approvals.get(approval_id)


def unsupported(state: RunState) -> list[tuple[str, str]]:
    """The parts of the request that no tool can do, and why."""
    return [(part.what, part.reason) for part in state.cannot]


def under_way(state: RunState) -> list[str]:
    """The assignments that have an attempt that is scheduled, running or not yet judged."""
    return [*state.live, *state.unsettled]


def below(state: RunState, key: str) -> Iterable[str]:
    """The assignments that were asked for on behalf of ``key``, however deep."""
    return descendants(state, key)
