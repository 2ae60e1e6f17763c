"""What each worker of the work-order flow is told: made from the log alone, exact, and no more than it needs."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from leadhand.domain.advice import next_action
from leadhand.domain.assignment import Assignment, Role
from leadhand.domain.children import above
from leadhand.domain.citations import as_data
from leadhand.domain.conversation import OutputSpec
from leadhand.domain.outcome import answer_sources, gaps, presentable, section_numbers, source_numbers
from leadhand.domain.review import Review
from leadhand.domain.run import Gap
from leadhand.domain.state import RunState, SubtaskState
from leadhand.domain.thoughts import planned
from leadhand.domain.value import Value
from leadhand.domain.work_order import Plan, Subtask

from .flow import Brief
from .room import fitting, page_size, room, tokens

CONTEXT = 4_000
"""Characters of the request that those are told who need it for context only."""


@cache
def _output(name: str, shape: type[Value]) -> OutputSpec:
    return OutputSpec.model_validate({"name": name, "schema": shape.model_json_schema()})


def _tools(state: RunState) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in state.definition.tools
    ]


def common(state: RunState, most: int | None = None) -> dict[str, Any]:
    """What every brief holds: the request (its beginning, when a part of it will do) and the date of its day."""
    request = state.definition.request
    if most is not None and len(request) > most:
        request = f"{request[:most]} … (cut: {len(request):,} characters in all)"
    return {"request": request, "today": state.created_at.date().isoformat()}


def plan(state: RunState, assignment: Assignment) -> Brief:
    """The request and the tools: which subtasks, in one order. A further page is told where it goes on."""
    facts: dict[str, Any] = {**common(state), "tools": _tools(state), "page": {"most": page_size(state)}}
    first = assignment.options.get("first", 0)
    if first:
        latest = [
            {"index": first - back, "name": subtask.name, "tool": subtask.tool, "args": subtask.args}
            for back, subtask in enumerate(reversed(planned(state)), start=1)
        ]
        space = max(room(state, Role.PLAN) - tokens(facts), 200)
        facts["page"] |= {"first_index": first, "planned_before": list(reversed(fitting(latest, space)))}
    return Brief(prompt="plan", facts=facts, output=_output("plan", Plan))


def work(state: RunState, assignment: Assignment) -> Brief:
    """One subtask, and the results it needs; never the rest of the run."""
    subtask = state.subtasks[assignment.assignment_id]
    facts: dict[str, Any] = {
        "task": "work",
        **common(state, CONTEXT),
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


def child(state: RunState, assignment: Assignment) -> Brief:
    """What another worker wants done: its arguments say what; every tool of the run may be used for it."""
    told = assignment.options["child"]
    tool = state.tools[told["name"]]
    facts: dict[str, Any] = {
        "task": "work",
        **common(state, CONTEXT),
        "subtask": {
            "name": tool.name,
            "tool": None,
            "args": told["args"],
            "expected_output": tool.description,
        },
        "needs": {},
    }
    asked = above(state, assignment)
    return Brief(
        prompt="work",
        facts=facts,
        tools=tuple(each.name for each in state.definition.tools if each.name not in asked),
    )


def review(state: RunState, assignment: Assignment) -> Brief:
    """The subtasks of one shard with their results or errors: a verdict for each, and what is missing."""
    order = state.orders[assignment.options["work_order_id"]]
    composing = bool(assignment.options.get("compose"))
    whole = bool(assignment.options.get("whole", True))
    facts: dict[str, Any] = {
        **common(state, None if whole else CONTEXT),
        "tools": _tools(state),
        "plan_cannot": [part.model_dump() for part in state.cannot],
        "order": {"work_order_id": order.order.work_order_id, "goal": order.order.goal},
        "subtasks": [judged(state, state.subtasks[key]) for key in assignment.covers],
        "accepted": [
            {"subtask": other.key, "name": other.subtask.name, "summary": as_data(other.data.summary)}
            for other in (presentable(state) if len(state.orders) > 1 and whole else ())
            if other.order != order.order.work_order_id and other.data is not None
        ],
        "compose": composing,
        "judge_only": not whole,
        "last_order": state.steps >= state.definition.limits.max_steps,
    }
    covered = set(assignment.covers)
    others = [state.subtasks[key].subtask for key in order.order.subtask_keys() if key not in covered]
    if others and whole:
        _also_ordered(facts, others, room(state, Role.REVIEW) - tokens(facts))
    if composing:
        sources = answer_sources(state, assignment.covers)
        numbers = source_numbers(sources)
        facts["sources"] = [{"n": n, "title": s.title, "url": s.url} for n, s in enumerate(sources, start=1)]
        for shown, key in zip(facts["subtasks"], assignment.covers, strict=True):
            data = state.subtasks[key].data
            if shown["result"] is not None and data is not None:
                shown["result"]["summary"] = as_data(data.summary)
                shown["result"]["sources"] = [numbers[source.title, source.url] for source in data.sources]
        facts["gaps"] = [_gap_facts(gap) for gap in gaps(state) if gap.subtask_index is None]
    return Brief(prompt="review", facts=facts, output=_output("review", Review))


def _also_ordered(facts: dict[str, Any], others: list[Subtask], space: int) -> None:
    """The names of what is reviewed elsewhere; those that do not fit are counted by their tool."""
    names = fitting((subtask.name for subtask in others), max(space, 0))
    facts["also_ordered"] = names
    if len(names) < len(others):
        more = Counter(subtask.tool or "no tool" for subtask in others[len(names) :])
        facts["and_more_calls_of"] = dict(more)


def compose(state: RunState) -> Brief:
    """The request, every result that may stand in the answer, and every gap."""
    sources = answer_sources(state)
    numbers = source_numbers(sources)
    facts = {
        "task": "compose",
        **common(state),
        "results": [told(subtask, numbers) for subtask in presentable(state)],
        "gaps": [_gap_facts(gap) for gap in gaps(state)],
        "sources": [{"n": n, "title": s.title, "url": s.url} for n, s in enumerate(sources, start=1)],
    }
    return Brief(prompt="compose", facts=facts, final=True, draft=True)


def section(state: RunState, assignment: Assignment) -> Brief:
    """The results that one section of a long answer covers."""
    numbers = section_numbers(state, assignment)
    facts = {
        "task": "compose",
        **common(state, CONTEXT),
        "part": "section",
        "results": [told(state.subtasks[key], numbers) for key in assignment.covers],
        "gaps": [],
        "sources": [{"n": n, "title": title, "url": url} for (title, url), n in numbers.items()],
    }
    return Brief(prompt="compose", facts=facts)


def compose_over(state: RunState, texts: list[str], *, digest: bool) -> Brief:
    """The opening over all sections, with every gap; or a digest of some texts, when all together are too long."""
    facts: dict[str, Any] = {
        "task": "compose",
        **common(state, CONTEXT if digest else None),
        "part": "digest" if digest else "opening",
        "results": [],
        "gaps": [],
        "sources": [],
    }
    space = room(state, Role.COMPOSE) - tokens(facts)
    if not digest:
        facts["gaps"] = fitting((_gap_facts(gap) for gap in gaps(state)), space // 2)
        space -= tokens(facts["gaps"])
    share = max(3 * space // max(len(texts), 1), 100)  # three characters to a token
    whole = sum(tokens(text) for text in texts) <= space
    facts["sections"] = texts if whole else [text if len(text) <= share else f"{text[:share]} …" for text in texts]
    return Brief(prompt="compose", facts=facts, final=not digest, draft=not digest)


def told(subtask: SubtaskState, numbers: dict[tuple[str, str], int]) -> dict[str, Any]:
    """A result as the composer is told it."""
    assert subtask.data is not None
    return {
        "subtask": subtask.key,
        "name": subtask.subtask.name,
        "tool": subtask.subtask.tool,
        "args": subtask.subtask.args,
        "summary": as_data(subtask.data.summary),
        "sample": subtask.data.sample,
        "verified": subtask.accepted,
        "sources": [numbers[source.title, source.url] for source in subtask.data.sources],
    }


def _result(subtask: SubtaskState) -> dict[str, Any] | None:
    if subtask.data is None:
        return None
    return {"summary": subtask.data.summary, "raw": subtask.data.raw, "sample": subtask.data.sample}


def judged(state: RunState, subtask: SubtaskState) -> dict[str, Any]:
    """A subtask as a review is shown it."""
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
            "next_action": next_action(state, failure),
        },
    }


def _gap_facts(gap: Gap) -> dict[str, Any]:
    return {"what": gap.name, "class": gap.class_.value, "reason": gap.reason, "next_action": gap.next_action}
