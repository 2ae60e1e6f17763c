"""What each worker of the work-order flow is told: made from the log alone, exact, and no more than it needs."""

from __future__ import annotations

from functools import cache
from typing import Any

from leadhand.domain.assignment import Assignment
from leadhand.domain.conversation import OutputSpec
from leadhand.domain.outcome import answer_sources, gaps, presentable, source_numbers
from leadhand.domain.review import Review
from leadhand.domain.state import RunState, SubtaskState
from leadhand.domain.value import Value
from leadhand.domain.work_order import Plan

from .flow import Brief


@cache
def _output(name: str, shape: type[Value]) -> OutputSpec:
    return OutputSpec.model_validate({"name": name, "schema": shape.model_json_schema()})


def _tools(state: RunState) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in state.definition.tools
    ]


def _request(state: RunState) -> dict[str, Any]:
    return {"request": state.definition.request, "today": state.created_at.date().isoformat()}


def plan(state: RunState) -> Brief:
    """The request and the tools: which subtasks, in one order."""
    return Brief(prompt="plan", facts={**_request(state), "tools": _tools(state)}, output=_output("plan", Plan))


def work(state: RunState, assignment: Assignment) -> Brief:
    """One subtask, and the results it needs; never the rest of the run."""
    subtask = state.subtasks[assignment.assignment_id]
    facts: dict[str, Any] = {
        "task": "work",
        **_request(state),
        "subtask": {
            "name": subtask.subtask.name,
            "tool": subtask.subtask.tool,
            "args": subtask.subtask.args,
            "expected_output": subtask.subtask.expected_output,
        },
        "needs": {key: _result(state.subtasks[key]) for key in subtask.subtask.needs},
    }
    repaired = state.subtasks.get(subtask.subtask.repairs_subtask or "")
    if repaired is not None:
        reason = repaired.verdict.reason if repaired.verdict is not None else ""
        facts["repairs"] = {
            "subtask": repaired.key,
            "reason": reason or (repaired.failure and repaired.failure.message),
        }
    return Brief(prompt="work", facts=facts, tools=tuple(tool.name for tool in state.definition.tools))


def review(state: RunState, assignment: Assignment) -> Brief:
    """The subtasks of one shard with their results or errors: a verdict for each, and what is missing."""
    order = state.orders[state.subtasks[assignment.covers[0]].order]
    composing = bool(assignment.options.get("compose"))
    facts: dict[str, Any] = {
        **_request(state),
        "tools": _tools(state),
        "plan_cannot": [part.model_dump() for part in state.cannot],
        "order": {"work_order_id": order.order.work_order_id, "goal": order.order.goal},
        "subtasks": [_judged(state.subtasks[key]) for key in assignment.covers],
        "accepted": [
            {"subtask": other.key, "name": other.subtask.name, "summary": other.data.summary}
            for other in (presentable(state) if len(state.orders) > 1 else ())
            if other.order != order.order.work_order_id and other.data is not None
        ],
        "compose": composing,
        "judge_only": not assignment.options.get("whole", True),
        "last_order": len(state.orders) >= state.definition.limits.max_steps,
    }
    others = [key for key in order.order.subtask_keys() if key not in assignment.covers]
    if others and not facts["judge_only"]:
        facts["also_ordered"] = [state.subtasks[key].subtask.name for key in others]
    if composing:
        sources = answer_sources(state, assignment.covers)
        numbers = source_numbers(sources)
        facts["sources"] = [{"n": n, "title": s.title, "url": s.url} for n, s in enumerate(sources, start=1)]
        for shown, key in zip(facts["subtasks"], assignment.covers, strict=True):
            data = state.subtasks[key].data
            if shown["result"] is not None and data is not None:
                shown["result"]["sources"] = [numbers[source.title, source.url] for source in data.sources]
        facts["gaps"] = [_gap_facts(gap.model_dump(mode="json")) for gap in gaps(state) if gap.subtask_index is None]
    return Brief(prompt="review", facts=facts, output=_output("review", Review))


def compose(state: RunState) -> Brief:
    """The request, every result that may stand in the answer, and every gap."""
    sources = answer_sources(state)
    numbers = source_numbers(sources)
    results = [
        {
            "subtask": subtask.key,
            "name": subtask.subtask.name,
            "tool": subtask.subtask.tool,
            "args": subtask.subtask.args,
            "summary": subtask.data.summary,
            "sample": subtask.data.sample,
            "verified": subtask.accepted,
            "sources": [numbers[source.title, source.url] for source in subtask.data.sources],
        }
        for subtask in presentable(state)
        if subtask.data is not None
    ]
    facts: dict[str, Any] = {
        "task": "compose",
        **_request(state),
        "results": results,
        "gaps": [_gap_facts(gap.model_dump(mode="json")) for gap in gaps(state)],
        "sources": [{"n": n, "title": s.title, "url": s.url} for n, s in enumerate(sources, start=1)],
    }
    return Brief(prompt="compose", facts=facts, final=True, draft=True)


def _result(subtask: SubtaskState) -> dict[str, Any] | None:
    if subtask.data is None:
        return None
    return {"summary": subtask.data.summary, "raw": subtask.data.raw, "sample": subtask.data.sample}


def _judged(subtask: SubtaskState) -> dict[str, Any]:
    failure = subtask.failure
    return {
        "subtask": subtask.key,
        "name": subtask.subtask.name,
        "tool": subtask.subtask.tool,
        "args": subtask.subtask.args,
        "status": subtask.status.value,
        "result": _result(subtask),
        "error": None
        if failure is None
        else {
            "message": failure.message,
            "type": failure.type,
            "class": failure.class_.value,
            "next_action": failure.next_action,
        },
    }


def _gap_facts(gap: dict[str, Any]) -> dict[str, Any]:
    return {
        "what": gap["name"],
        "class": gap["class"],
        "reason": gap["reason"],
        "next_action": gap["next_action"],
    }
