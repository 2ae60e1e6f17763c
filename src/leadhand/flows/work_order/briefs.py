"""The briefs of this flow's workers, computed from the log alone; each contains only what the worker needs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from leadhand.domain.citations import as_data
from leadhand.domain.outcome import next_action, source_numbers
from leadhand.domain.run import Gap
from leadhand.domain.state import AssignmentState, MadeCall, RunState
from leadhand.domain.work_order import Assignment, Subtask
from leadhand.flows.flow import result_facts

from .answer_checks import planned, refused_answer
from .context_budget import context_budget, fitting, page_size, tokens
from .results import all_gaps, answer_sources, answerable_results, section_numbers
from .roles import RoleName

CONTEXT = 4_000
"""Characters of the request in briefs that include it for context only."""


def _tools(state: RunState) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in state.definition.tools
    ]


def common(state: RunState, most: int | None = None) -> dict[str, Any]:
    """Return the content of every brief: the request (only its beginning, if that is enough) and its date."""
    request = state.definition.request
    if most is not None and len(request) > most:
        request = f"{request[:most]} … (cut: {len(request):,} characters in all)"
    return {"request": request, "today": state.created_at.date().isoformat()}


def plan(state: RunState, assignment: Assignment) -> dict[str, Any]:
    """Return the brief of a plan: the request and the tools. The brief of a further page says where to continue."""
    facts: dict[str, Any] = {**common(state), "tools": _tools(state), "page": {"most": page_size(state)}}
    first = assignment.input.get("first", 0)
    if first:
        latest = [
            {"index": first - back, "name": subtask.name, "tool": subtask.tool, "args": subtask.args}
            for back, subtask in enumerate(reversed(planned(state)), start=1)
        ]
        space = max(context_budget(state, RoleName.PLAN) - tokens(facts), 200)
        facts["page"] |= {"first_index": first, "planned_before": list(reversed(fitting(latest, space)))}
    return facts


def _task(state: RunState, name: str, tool: str | None, args: Any, expected: str | None) -> dict[str, Any]:
    subtask = {"name": name, "tool": tool, "args": args, "expected_output": expected}
    return {"task": "work", **common(state, CONTEXT), "subtask": subtask, "needs": {}}


def work(state: RunState, assignment: Assignment) -> dict[str, Any]:
    """Return the brief of one subtask: the subtask and the results that it needs."""
    given = state.assignments[assignment.assignment_id].subtask
    facts = _task(state, given.name, given.tool, given.args, given.expected_output)
    facts["needs"] = {key: result_facts(state.assignments[key]) for key in given.needs}
    repaired = state.assignments.get(given.repairs_subtask or "")
    if repaired is not None:
        reason = repaired.verdict.reason if repaired.verdict is not None else ""
        reason = reason or (repaired.failure and repaired.failure.message)
        facts["repairs"] = {"subtask": repaired.key, "reason": reason}
    return facts


def child(state: RunState, assignment: Assignment) -> dict[str, Any]:
    """Return the brief of a child assignment: its input is the task, and the calling tool defines what to return."""
    tool = state.tools.get(assignment.title)
    return _task(state, assignment.name, None, assignment.input, tool.description if tool is not None else None)


def review(state: RunState, assignment: Assignment) -> dict[str, Any]:
    """Return the brief of a review: the subtasks of one shard with their results or errors."""
    order = state.orders[assignment.input["work_order_id"]]
    covers: list[str] = list(assignment.input.get("covers", ()))
    composing = bool(assignment.input.get("compose"))
    whole = bool(assignment.input.get("whole", True))
    facts: dict[str, Any] = {
        **common(state, None if whole else CONTEXT),
        "tools": _tools(state),
        "plan_cannot": [part.model_dump() for part in state.unsupported],
        "order": {"work_order_id": order.order.work_order_id, "goal": order.order.goal},
        "subtasks": [judged(state, state.assignments[key]) for key in assignment.input["covers"]],
        "accepted": [
            {"subtask": other.key, "name": other.subtask.name, "summary": as_data(other.data.summary)}
            for other in (answerable_results(state) if len(state.orders) > 1 and whole else ())
            if other.order != order.order.work_order_id and other.data is not None
        ],
        "compose": composing,
        "judge_only": not whole,
        "last_order": state.steps >= state.definition.limits.max_steps,
    }
    covered = set(covers)
    keys = order.order.subtask_keys() if whole else []
    others = [state.assignments[key].subtask for key in keys if key not in covered]
    if others:
        _also_ordered(facts, others, context_budget(state, RoleName.REVIEW) - tokens(facts))
    if composing:
        numbers = source_numbers(answer_sources(state, covers))
        facts["sources"] = _sources(numbers)
        for shown, key in zip(facts["subtasks"], covers, strict=True):
            data = state.assignments[key].data
            if shown["result"] is not None and data is not None:
                shown["result"]["summary"] = as_data(data.summary)
                shown["result"]["sources"] = [numbers[source.title, source.url] for source in data.sources]
        facts["gaps"] = [_gap_facts(gap) for gap in all_gaps(state) if gap.subtask_index is None]
    return facts


def _also_ordered(facts: dict[str, Any], others: list[Subtask], space: int) -> None:
    """Return the names of subtasks that other shards review; those that do not fit are counted by tool."""
    names = fitting((subtask.name for subtask in others), max(space, 0))
    facts["also_ordered"] = names
    if len(names) < len(others):
        facts["and_more_calls_of"] = dict(Counter(subtask.tool or "no tool" for subtask in others[len(names) :]))


def compose(state: RunState) -> dict[str, Any]:
    """Return the brief of a composition: the request, every result that the answer may use, and every gap."""
    numbers = source_numbers(answer_sources(state))
    refused = refused_answer(state)
    return {
        "task": "compose",
        **common(state),
        **({"not_accepted": refused} if refused else {}),
        "results": [result(subtask, numbers) for subtask in answerable_results(state)],
        "gaps": [_gap_facts(gap) for gap in all_gaps(state)],
        "sources": _sources(numbers),
    }


def section(state: RunState, assignment: Assignment) -> dict[str, Any]:
    """Return the brief of one section of a long answer: the results that it covers."""
    numbers = section_numbers(state, assignment)
    return {
        "task": "compose",
        **common(state, CONTEXT),
        "part": "section",
        "results": [result(state.assignments[key], numbers) for key in assignment.input["covers"]],
        "gaps": [],
        "sources": _sources(numbers),
    }


def compose_over(state: RunState, texts: list[str], *, digest: bool) -> dict[str, Any]:
    """The brief of the opening of all sections, with every gap, or of a digest of some texts that are too long."""
    facts: dict[str, Any] = {
        "task": "compose",
        **common(state, CONTEXT if digest else None),
        "part": "digest" if digest else "opening",
        "results": [],
        "gaps": [],
        "sources": [],
    }
    space = context_budget(state, RoleName.COMPOSE) - tokens(facts)
    if not digest:
        facts["gaps"] = fitting((_gap_facts(gap) for gap in all_gaps(state)), space // 2)
        space -= tokens(facts["gaps"])
    share = max(3 * space // max(len(texts), 1), 100)  # three characters per token
    whole = sum(tokens(text) for text in texts) <= space
    facts["sections"] = texts if whole else [text if len(text) <= share else f"{text[:share]} …" for text in texts]
    return facts


def result(subtask: AssignmentState, numbers: dict[tuple[str, str], int]) -> dict[str, Any]:
    """Return a result as the composer sees it."""
    assert subtask.data is not None
    return {
        **_call(subtask),
        "summary": as_data(subtask.data.summary),
        "sample": subtask.data.sample,
        "verified": subtask.accepted and not subtask.doubt,
        "sources": [numbers[source.title, source.url] for source in subtask.data.sources],
    }


def judged(state: RunState, subtask: AssignmentState) -> dict[str, Any]:
    """Return a subtask as a reviewer sees it."""
    failure, error = subtask.failure, None
    if failure is not None:
        action = next_action(state, failure)
        error = {"message": failure.message, "type": failure.type, "class": failure.class_.value, "next_action": action}
    shown = {
        **_call(subtask),
        "status": subtask.status.value,
        "result": result_facts(subtask),
        "error": error,
    }
    if len(subtask.made) != 1 or subtask.made[0].args is not None or subtask.made[0].tool != subtask.subtask.tool:
        shown["calls"] = [_made(call, subtask.subtask.args) for call in subtask.made]
    return {**shown, "doubt": subtask.doubt} if subtask.doubt else shown


def _made(call: MadeCall, ordered: dict[str, Any]) -> dict[str, Any]:
    """A call that was made, as a review is shown it."""
    shown = {"tool": call.tool, "args": ordered if call.args is None else call.args, "ok": call.ok}
    return shown if call.ok else {**shown, "error": call.error}


def _call(subtask: AssignmentState) -> dict[str, Any]:
    given = subtask.subtask
    return {"subtask": subtask.key, "name": given.name, "tool": given.tool, "args": given.args}


def _sources(numbers: dict[tuple[str, str], int]) -> list[dict[str, Any]]:
    return [{"n": n, "title": title, "url": url} for (title, url), n in numbers.items()]


def _gap_facts(gap: Gap) -> dict[str, Any]:
    return {"what": gap.name, "class": gap.class_.value, "reason": gap.reason, "next_action": gap.next_action}
