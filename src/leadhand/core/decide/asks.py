"""Decide what tools ask of the controller (children, workers, artifacts, todos), and answer their calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from leadhand.core import events as ev
from leadhand.core.artifact import confined
from leadhand.core.errors import Refused, UsageError
from leadhand.core.evolve import foreseen
from leadhand.core.ids import step_of_call
from leadhand.core.relations import MAX_DEPTH, ancestors, call_of, child_id, children_of, tools_of
from leadhand.core.state import AttemptState, RunState, StepState
from leadhand.core.tool import DYNAMIC_WORKERS, Ask, AskPerson, DefineWorker, Delegate, SetTodos, WriteArtifact
from leadhand.core.value import shown
from leadhand.core.work_order import Step
from leadhand.core.worker import Worker

NO_MORE_CHILDREN = "no more of these may be started: continue with what the others found"
"""Why a delegation beyond ``max_children`` of a worker is refused."""


def due_calls(state: RunState) -> Iterator[str]:
    """Yield the calls that the run itself can answer now: undecided asks, and calls whose children are settled."""
    for key in state.due:
        attempt = state.steps[key].attempt
        for call in attempt.open_calls if attempt is not None else ():
            if attempt is None or not call.answered_by_run or call.call_id in attempt.answers:
                continue
            if all(child.closed for child in children_of(state, call.call_id)):
                yield call.call_id


def waits(state: RunState, attempt: AttemptState) -> bool:
    """Whether a parked attempt waits for a person or for children that have begun, not only for the controller."""
    return any(
        call.call_id not in attempt.answers and (not call.answered_by_run or bool(children_of(state, call.call_id)))
        for call in attempt.open_calls
    )


class Answer(NamedTuple):
    """Answer an open call of a parked attempt: grant everything that it asks for, say why not, or give it the results
    of its children."""

    call_id: str

    def decide(self, state: RunState, now: datetime) -> list[ev.AnyEvent]:
        call_id, step = self.call_id, state.steps.get(step_of_call(self.call_id))
        attempt = step.attempt if step is not None else None
        call = step.open_call(call_id) if step is not None else None
        if step is None or attempt is None or call is None or call_id in attempt.answers:
            raise Refused(f"{call_id} is not open")
        if given := children_of(state, call_id):
            return [_results_of(call_id, given)]
        granted: list[ev.AnyEvent] = []
        returned, children = step.returned(call_id), 0
        for ask in returned.asks if returned is not None else ():
            after = foreseen(state, granted, now) if granted else state  # it is judged beside those before it
            if problem := _problem(after, step, ask):
                return [ev.CallAnswered(call_id=call_id, ok=False, content=problem)]
            granted.append(_granted(after, step, attempt, ask, child_id(call_id, children)))
            children += isinstance(ask, Delegate)
        return granted if children else [*granted, ev.CallAnswered(call_id=call_id, ok=True, content="")]


def _granted(state: RunState, step: StepState, attempt: AttemptState, ask: Ask, child: str) -> ev.AnyEvent:
    """Return the event that grants an ask of an attempt; ``child`` is the id of the step for a delegation."""
    match ask:
        case Delegate():
            return ev.StepIssued(step=_child(step, attempt, ask, child))
        case DefineWorker():
            worker = _worker(state, step, ask)
            return ev.WorkerDefined(attempt=attempt.attempt, worker=worker, description=ask.description)
        case WriteArtifact():
            written = ask.model_dump(include={"digest", "size"})
            return ev.ArtifactWritten(attempt=attempt.attempt, path=confined(ask.path), **written)
        case SetTodos():
            return ev.TodosSet(attempt=attempt.attempt, todos=ask.todos)
        case AskPerson():
            raise Refused("a person grants this")


def _problem(state: RunState, step: StepState, ask: Ask) -> str:
    """Return why an ask cannot be granted, "" if it can."""
    mine = tools_of(state, step.step)
    match ask:
        case Delegate():
            if len(ancestors(state, step.step)) >= MAX_DEPTH:
                return f"delegation is limited to {MAX_DEPTH} levels"
            caller = state.worker(step.step.worker)
            most = caller.max_children if caller is not None else None
            if most is not None and state.children.get(step.key, 0) >= most:
                return NO_MORE_CHILDREN
            name = ask.worker or step.step.worker
            if state.worker(name) is None:
                return f"this run has no worker {name!r}"
            above = (each.step.worker for each in (step, *ancestors(state, step.step)))
            if ask.worker is not None and state.is_worker(name) and name in above:
                return f"{name} is already at work on this: a worker cannot call itself, also not through others"
            return _wider(ask.tools, mine) or _repeats(state, step, ask.key)
        case DefineWorker():
            if (known := state.definition.worker(ask.name)) is not None:
                owner = "the project" if known.declared else "the flow"
                return f"{owner} has a worker {ask.name!r}: choose another name"
            if state.makers.get(ask.name, step.key) != step.key:
                return f"another worker of this run defined {ask.name!r}: choose another name"
            if making := sorted(_making_workers(state).intersection(ask.tools or ())):
                return f"a worker that is defined during a run may not use {', '.join(making)} in this project"
            return _wider(ask.tools, mine)
        case WriteArtifact():
            try:
                path = confined(ask.path)
            except UsageError as error:
                return error.what
            below = next((each for each in state.artifacts if each.startswith(f"{path}/")), None)
            other = next((each for each in _folders(path) if each in state.artifacts), below)
            if other is not None:
                return f"{path} and {other} cannot both be artifacts: a path names a file or a folder, not both"
            return "" if ask.digest else f"the artifact {ask.path} has no content"
        case SetTodos():
            ids = Counter(todo.id for todo in ask.todos)
            double = next((each for each, count in ids.items() if count > 1), None)
            return "" if double is None else f"two todos have the id {shown(double)}: give each its own"
        case AskPerson():
            return "a person is asked about a call that asks for nothing else"


def _repeats(state: RunState, parent: StepState, key: str) -> str:
    """Return why a task with this key is not started again; "" if it is new, or failed."""
    lineage = {call.call_id for call in parent.evidence}
    for child in state.steps.values() if key else ():
        if child.step.key != key or (child.closed and not child.ok):
            continue
        if (call := call_of(child.key)) in lineage or parent.open_call(call) is not None:
            return f"the same task was carried out before, or is running ({child.step.name}): use its result"
    return ""


def _making_workers(state: RunState) -> set[str]:
    """Return the tools that a worker defined during the run may not have: those that make and call workers."""
    return {tool.name for tool in state.definition.tools if tool.toolset == DYNAMIC_WORKERS}


def _folders(path: str) -> list[str]:
    """Return the folders that a path is in, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _wider(tools: Sequence[str] | None, allowed: frozenset[str]) -> str:
    wider = sorted(set(tools or ()) - allowed)
    return f"the caller may not use {', '.join(wider)}, so it cannot grant it to a worker" if wider else ""


def _worker(state: RunState, step: StepState, ask: DefineWorker) -> Worker:
    mine = tools_of(state, step.step) - _making_workers(state)
    return Worker(
        name=ask.name,
        instructions=ask.instructions,
        description=ask.description,
        model=ask.model,
        tools=tuple(sorted(mine if ask.tools is None else set(ask.tools))),
    ).evolve(**(maker.limits if (maker := state.worker(step.step.worker)) else {}))


def _child(parent: StepState, attempt: AttemptState, ask: Delegate, step_id: str) -> Step:
    """Return the step of a delegation. Its tools follow from those above it: see ``tools_of``."""
    given = ask.model_dump(include={"title", "input", "tools", "model", "instructions", "max_calls", "output", "key"})
    worker = ask.worker or parent.step.worker
    return Step(step_id=step_id, worker=worker, parent=attempt.attempt, **given)


def _results_of(call_id: str, children: Sequence[StepState]) -> ev.CallAnswered:
    """Answer a call with the results of its children. Raises Refused until all of them are settled."""
    if not all(child.closed for child in children):
        raise Refused(f"{call_id} is not settled")
    causes = {child.step.name: _cause(child) for child in children if not child.ok}
    if causes:
        named = [f"{name}: {cause}" for name, cause in causes.items()]
        message = "; ".join(named) if len(children) > 1 else _cause(children[0])
        return ev.CallAnswered(call_id=call_id, ok=False, content=message)
    summaries = [child.data.summary for child in children if child.data is not None]
    return ev.CallAnswered(call_id=call_id, ok=True, content="\n\n".join(summaries))


def _cause(failed: StepState) -> str:
    return failed.failure.message if failed.failure is not None else "it has no result"
