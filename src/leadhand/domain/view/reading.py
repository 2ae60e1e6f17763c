"""Everything the view reads from the state of a run: the only file of the view that knows what a state looks like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.domain.approval import Approval
from leadhand.domain.asks import Todo
from leadhand.domain.errors import Failure
from leadhand.domain.events import Entry
from leadhand.domain.evolve import apply_entry, start
from leadhand.domain.evolve.attempts import INTERRUPTED, descendants, parent_of
from leadhand.domain.lifecycle import AttemptStatus
from leadhand.domain.run import ENDED
from leadhand.domain.state import ArtifactVersion, RunState
from leadhand.domain.work_order import Assignment
from leadhand.domain.work_result import Verdict

from .texts import label

__all__ = ["INTERRUPTED", "NEEDS_FAILED", "RunState"]

NEEDS_FAILED = "needs_failed"
"""The type of the failure of an assignment that was not started, since what it needs failed."""


class Standing(NamedTuple):
    """What the state says of one assignment.

    ``status`` is ``completed``, ``failed``, ``dropped`` or ``open``; ``returned``: its attempt is over and not judged.
    """

    status: str
    returned: bool = False
    failure: Failure | None = None
    verdict: Verdict | None = None
    superseded_by: str | None = None
    by: str = ""


class Facts(NamedTuple):
    """What an assignment is, when it is handed out."""

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
    """Return the status of an assignment, with its failure and verdict."""
    found = state.assignments[key]
    status = found.status.value if found.closed else "open"
    returned = found.attempt is not None and found.attempt.status is AttemptStatus.RETURNED
    return Standing(status, returned, found.failure, found.verdict, found.superseded_by, found.by)


def has_attempt(state: RunState, key: str) -> bool:
    """Whether an attempt at an assignment may start, or is under way."""
    return state.assignments[key].attempt is not None


def facts_of(state: RunState, key: str) -> Facts:
    """What an assignment is."""
    found = state.assignments[key]
    given = found.assignment
    subtask, parent = given.subtask, parent_of(given) or ""
    name, args = _name(given), _args(given)
    shown = label(name, args) if subtask is not None or parent else name
    order = given.input.get("work_order_id") if not found.order else found.order
    return Facts(
        name=name,
        label=f"{shown} (for {_name(state.assignments[parent].assignment)})" if parent else shown,
        role=given.role,
        counts=given.counts,
        args=args,
        order=order if isinstance(order, str) else "",
        position=found.position,
        tool=subtask.tool if subtask is not None else None,
        needs=given.needs,
        parent=parent,
        repairs=subtask.repairs_subtask if subtask is not None else None,
    )


def order_facts(state: RunState, order: str) -> list[tuple[str, Facts]]:
    """The assignments of an order that was just issued, by key, in their order."""
    return [(key, facts_of(state, key)) for key in state.orders[order].order.subtask_keys()]


def args_of(state: RunState, key: str) -> Mapping[str, Any]:
    """What an assignment was given."""
    return _args(state.assignments[key].assignment)


def _args(given: Assignment) -> Mapping[str, Any]:
    """The input of work; what the lead's own thinking is given repeats what the view has elsewhere."""
    if given.subtask is not None:
        return given.subtask.args
    return given.input if given.counts or given.parent is not None else {}


_TITLES = {"plan": "Plan", "review": "Review", "compose": "Write the answer"}


def _name(given: Assignment) -> str:
    """A name for people: ``Review wo-001``, and which part where the work was divided."""
    if given.subtask is not None:
        return given.subtask.name
    if given.title:
        return given.title
    key, role = given.assignment_id, given.role
    if role not in _TITLES:
        return key
    order = given.input.get("work_order_id")
    of = f" {order}" if isinstance(order, str) else ""
    part = key.removeprefix(f"{role}-{order}-") if of else key.removeprefix(role)
    whole = part.removeprefix("-") in ("", "0", "whole", key) or (not of and part.isdigit())
    return f"{_TITLES[role]}{of}" + ("" if whole else f" · part {part.removeprefix('-')}")


def tries(state: RunState, facts: Facts) -> int:
    """How many attempts transient failures of an assignment may use up."""
    retries = next((tool.retries for tool in state.definition.tools if tool.name == facts.tool), None)
    return 1 + (state.definition.limits.max_retries if retries is None else retries)


def reserved(state: RunState, attempt: str) -> int:
    """Nano-dollars that are reserved for the open model calls of an attempt."""
    return sum(amount.nanousd for amount in state.reserved.get(attempt, {}).values())


def approval(state: RunState, approval_id: str) -> Approval | None:
    """A question to people, with its answer."""
    return state.approvals.get(approval_id)


def unsupported(state: RunState) -> list[tuple[str, str]]:
    """The parts of the request that no tool can do, and why."""
    return [(part.what, part.reason) for part in state.unsupported]


def under_way(state: RunState) -> list[str]:
    """The assignments that have an attempt that is scheduled, running or not yet judged."""
    return [*state.live, *state.unsettled]


def below(state: RunState, key: str) -> Iterable[str]:
    """The assignments that were asked for on behalf of ``key``, however deep."""
    return descendants(state, key)


def todos(state: RunState) -> Sequence[Todo]:
    """The list that the lead keeps."""
    return state.todos


def artifact(state: RunState, path: str) -> tuple[int, ArtifactVersion]:
    """The number of the latest version of a file, counted from 1, and that version."""
    versions = state.artifacts[path]
    return len(versions), versions[-1]
