"""Decide what tools ask of the controller (children, workers, artifacts, todos), and answer their calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadhand.domain import commands as do
from leadhand.domain import events as ev
from leadhand.domain.artifact import MEDIA_TYPE, confined
from leadhand.domain.asks import Ask, DefineWorker, Delegate, SetTodos, WriteArtifact
from leadhand.domain.errors import UsageError
from leadhand.domain.evolve.attempts import child_id, children_of
from leadhand.domain.limits import Ceiling, nanousd
from leadhand.domain.rights import MAX_DEPTH, depth_of, tools_of, tools_of_role
from leadhand.domain.run import Role
from leadhand.domain.state import AssignmentState, AttemptState, RunState
from leadhand.domain.value import shown
from leadhand.domain.work_order import LONGEST_ID, LONGEST_TITLE, Assignment, OpenCall


def due_asks(state: RunState) -> Iterator[do.Command]:
    """Return commands for the undecided asks of parked attempts, and for the results of settled children."""
    for key in state.parked:
        attempt = state.assignments[key].attempt
        for call in attempt.open_calls if attempt is not None else ():
            if attempt is None or call.kind not in ("child", "asks") or call.call_id in attempt.answers:
                continue
            children = children_of(state, call.call_id)
            if not children:
                yield do.DecideAsks(assignment=key, call_id=call.call_id)
            elif all(child.closed for child in children):
                yield do.AnswerCall(call_id=call.call_id)


def decide_asks(state: RunState, key: str, call_id: str) -> list[ev.AnyEvent]:
    """Grant everything that a call asks for, or answer the call with the reason why not.

    Raises Refused if the call is not open or is already decided.
    """
    assignment = state.assignments.get(key)
    attempt = assignment.attempt if assignment is not None else None
    call = assignment.open_call(call_id) if assignment is not None else None
    if (
        assignment is None
        or attempt is None
        or call is None
        or call_id in attempt.answers
        or children_of(state, call_id)
    ):
        raise do.Refused(f"{call_id} is not open")
    wanted = _asks_of(assignment, call)
    problem = next((found for ask in wanted if (found := _problem(state, assignment, ask, wanted))), "")
    if problem:
        return [ev.CallAnswered(call_id=call_id, ok=False, content=problem)]
    granted: list[ev.AnyEvent] = []
    children = 0
    for ask in wanted:
        match ask:
            case Delegate():
                child = _child(state, assignment, attempt, call, ask, child_id(call_id, children))
                granted.append(ev.AssignmentIssued(assignment=child))
                children += 1
            case DefineWorker():
                role = _worker(state, assignment, ask)
                granted.append(ev.WorkerDefined(attempt=attempt.attempt, role=role, description=ask.description))
            case WriteArtifact():
                written = ask.model_dump(include={"digest", "size", "media_type"})
                granted.append(ev.ArtifactWritten(attempt=attempt.attempt, path=confined(ask.path), **written))
            case SetTodos():
                granted.append(ev.TodosSet(attempt=attempt.attempt, todos=ask.todos))
    if not children:
        granted.append(ev.CallAnswered(call_id=call_id, ok=True, content=""))
    return granted


def _asks_of(assignment: AssignmentState, call: OpenCall) -> Sequence[Ask]:
    """What a call asks for: what its tool returned or, for a delegating tool, another worker for its arguments."""
    if call.kind == "child":
        return (Delegate(title=call.tool, input=call.args),)
    returned = assignment.returned(call.call_id)
    return returned.asks if returned is not None else ()


def _problem(state: RunState, assignment: AssignmentState, ask: Ask, beside: Sequence[Ask]) -> str:
    """Return why an ask cannot be granted, "" if it can."""
    mine = tools_of(state, assignment.assignment)
    match ask:
        case Delegate():
            if len(ask.title) > LONGEST_TITLE:
                return f"the title of a delegation is longer than {LONGEST_TITLE:,} characters"
            if depth_of(state, assignment.assignment) >= MAX_DEPTH:
                return f"delegation is limited to {MAX_DEPTH} levels"
            name = ask.role or assignment.assignment.role
            defined = {each.name for each in beside if isinstance(each, DefineWorker)}
            if state.role(name) is None and name not in defined:
                return f"this run has no role or worker {name!r}"
            return _wider(ask.tools, mine)
        case DefineWorker():
            if any(role.name == ask.name for role in state.definition.roles):
                return f"{ask.name!r} is a role of the flow: choose another name"
            return _wider(ask.tools, mine)
        case WriteArtifact():
            try:
                path = confined(ask.path)
            except UsageError as error:
                return error.what
            if not MEDIA_TYPE.fullmatch(ask.media_type):
                return f"{shown(ask.media_type)} is not a media type: use one such as text/markdown"
            others = {*state.artifacts, *(each.path for each in beside if isinstance(each, WriteArtifact))}
            for other in sorted(others):
                if other.startswith(f"{path}/") or path.startswith(f"{other}/"):
                    return f"{path} and {other} cannot both be artifacts: a path names a file or a folder, not both"
            return "" if ask.digest else f"the artifact {ask.path} has no content"
        case SetTodos():
            ids = [todo.id for todo in ask.todos]
            double = next((each for each in ids if ids.count(each) > 1), None)
            if double is not None:
                return f"two todos have the id {shown(double)}: give each its own"
            if any(len(todo.id) > LONGEST_ID or len(todo.content) > LONGEST_TITLE for todo in ask.todos):
                return f"a todo has at most {LONGEST_ID} characters in its id and {LONGEST_TITLE:,} in its content"
            return ""


def _wider(tools: Sequence[str] | None, allowed: frozenset[str]) -> str:
    wider = sorted(set(tools or ()) - allowed)
    return f"the caller may not use {', '.join(wider)}, so it cannot grant it to a worker" if wider else ""


def _worker(state: RunState, assignment: AssignmentState, ask: DefineWorker) -> Role:
    mine = tools_of(state, assignment.assignment)
    return Role(
        name=ask.name,
        instructions=ask.instructions,
        model=ask.model,
        tools=tuple(sorted(mine if ask.tools is None else mine.intersection(ask.tools))),
    )


def _child(
    state: RunState, parent: AssignmentState, attempt: AttemptState, call: OpenCall, ask: Delegate, child_id: str
) -> Assignment:
    role = state.role(ask.role or parent.assignment.role)
    mine = tools_of(state, parent.assignment) - {call.tool}
    tools = None
    if role is None or ask.tools is not None or not tools_of_role(state, role) <= mine:
        tools = tuple(sorted(mine if ask.tools is None else mine.intersection(ask.tools)))
    ceiling = None
    if ask.max_requests is not None or ask.budget is not None:
        dollars = None if ask.budget is None else nanousd(ask.budget)
        ceiling = Ceiling(requests=ask.max_requests, nanousd=dollars)
    return Assignment(
        assignment_id=child_id,
        role=ask.role or parent.assignment.role,
        title=ask.title,
        input=ask.input,
        parent=attempt.attempt,
        tools=tools,
        ceiling=ceiling,
        model=ask.model,
        instructions=ask.instructions,
    )


def answer_of(state: RunState, call_id: str) -> ev.CallAnswered:
    """Answer a call with the results of its children. Raises Refused until all of them are settled."""
    children = children_of(state, call_id)
    if not children or not all(child.closed for child in children):
        raise do.Refused(f"{call_id} is not settled")
    failed = next((child for child in children if not child.ok), None)
    if failed is not None:
        message = failed.failure.message if failed.failure is not None else "it has no result"
        return ev.CallAnswered(call_id=call_id, ok=False, content=message)
    summaries = [child.data.summary for child in children if child.data is not None]
    return ev.CallAnswered(call_id=call_id, ok=True, content="\n\n".join(summaries))
