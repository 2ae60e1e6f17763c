"""What the workers of this flow are shown; each brief contains only what the worker needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from leadhand.core import outcome
from leadhand.core.commands import Outcome
from leadhand.core.outcome import source_numbers, sources_of
from leadhand.core.run import Gap
from leadhand.core.state import RunState
from leadhand.core.tool import CallState, ToolSpec
from leadhand.core.value import Json, compact_json
from leadhand.core.work_order import ProposedSubtask, Subtask, WorkOrder
from leadhand.flows.context_budget import context_budget, fitting, page_size, tokens
from leadhand.flows.facts import CONTEXT, asked, earlier_facts, today
from leadhand.flows.flow import result_facts
from leadhand.flows.lean_schema import lean_schema
from leadhand.flows.seam.results import Result
from leadhand.verify.material import approval_note

from .roles import RoleName
from .work import Shard, Work, is_exact

LINE = 300
"""Characters of a result in one line."""
Numbers = Mapping[tuple[str, str], int]
"""The numbers of sources, by title and address."""


def shown_tools(tools: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    """Return tools as a lead sees them."""
    return [
        {"name": tool.name, "description": tool.description, "parameters": lean_schema(tool.parameters)}
        for tool in tools
    ]


def _workers(state: RunState) -> dict[str, Any]:
    """Return the workers of the project that a subtask can name; nothing without any."""
    found = [{"name": worker.name, "description": worker.description} for worker in state.definition.declared]
    return {"workers": found} if found else {}


def plan(state: RunState, before: Sequence[ProposedSubtask], heard: Mapping[str, Any]) -> dict[str, Any]:
    """Return the brief of a plan: the tools and the request. The brief of a further page says where to continue."""
    page: dict[str, Any] = {"most": page_size(state)}
    facts: dict[str, Any] = {
        "tools": shown_tools(state.definition.tools),
        **_workers(state),
        **today(state),
        **earlier_facts(state),
        **asked(state),
        **_typed(state),
        **{name: value for name, value in heard.items() if value},
        "page": page,
    }
    if before:
        latest = [
            {"index": index, "name": subtask.name, "tool": subtask.tool, "args": subtask.args}
            for index, subtask in reversed([*enumerate(before)])
        ]
        space = max(context_budget(state, RoleName.PLAN) - tokens(facts), 200)
        page |= {"first_index": len(before), "planned_before": list(reversed(fitting(latest, space)))}
    return facts


# --- reviews ---------------------------------------------------------------------------------------------------------


def review_tools(state: RunState, reviewed: Sequence[Result], *, whole: bool, is_last: bool) -> list[ToolSpec]:
    """Return the tools that a review may order again: its own, or all, where something can be missing or replaced."""
    if is_last:
        return []
    if whole or not all(map(is_exact, reviewed)):
        return list(state.definition.tools)
    names = {each.state.subtask.tool for each in reviewed}
    return [tool for tool in state.definition.tools if tool.name in names]


def review(
    state: RunState,
    work: Work,
    order: WorkOrder,
    shard: Shard,
    results: Mapping[str, Result],
    tools: Sequence[ToolSpec],
    *,
    is_last: bool,
) -> dict[str, Any]:
    """Return the brief of a review: the subtasks of one shard with their results or errors; ``results`` are those of
    the order. A result of exactly the ordered call is one line; only the others are shown in full."""
    whole, composing, earlier = shard.whole, shard.compose, work.usable() if shard.whole else []
    numbers = source_numbers(sources_of(each.state for each in (*earlier, *shard.results))) if composing else None
    facts: dict[str, Any] = {
        "tools": shown_tools(tools),
        **({} if is_last else _workers(state)),
        **({**today(state), **earlier_facts(state), **_typed(state)} if composing else {}),
        **asked(state, None if whole else CONTEXT),
        "compose": composing,
        "judge_only": not whole,
        "last_order": is_last,
        "plan_cannot": [part.model_dump() for part in work.cannot] if whole else [],
        "accepted": [{"subtask": each.key, **result(each, numbers or {})} for each in earlier],
        "as_ordered": {
            each.key: in_a_line(each) if numbers is None else result(each, numbers)
            for each in shard.results
            if is_exact(each)
        },
        "subtasks": [judged(state, each, numbers) for each in shard.results if not is_exact(each)],
    }
    covered = {each.key for each in shard.results}
    others = [each.state.subtask for key, each in results.items() if key not in covered] if whole else []
    if others:
        space = context_budget(state, RoleName.REVIEW) - tokens(facts)
        facts["also_ordered"] = names = fitting((subtask.name for subtask in others), max(space, 0))
        facts["and_more"] = len(others) - len(names)
    if numbers is not None:
        facts["sources"] = _sources(numbers)
        facts["gaps"] = gap_facts(state, work)
    return {name: fact for name, fact in facts.items() if fact or name == "subtasks"}


def in_a_line(each: Result) -> str:
    """Return a result as one line: its name, its arguments, and the beginning of its text."""
    text = each.text if len(each.text) <= LINE else f"{each.text[:LINE]}…"
    sample = " (sample data)" if each.state.data is not None and each.state.data.sample else ""
    args = f" {compact_json(given)}" if (given := _args(each)) else ""
    return f"{each.state.subtask.name}{args}: {text}{sample}"


def shown(each: Result) -> Json:
    """Return a result as a review that does not compose shows it: as one line, or in full."""
    return in_a_line(each) if is_exact(each) else _judged(each, None)


def judged(state: RunState, each: Result, numbers: Numbers | None = None) -> dict[str, Any]:
    """Return a subtask in full as a reviewer sees it; with the ``numbers`` of its sources for an answer."""
    calls = [_made(state, call, each.state.subtask) for call in each.state.made]
    return {**_judged(each, numbers), "calls": calls}


def _judged(each: Result, numbers: Numbers | None) -> dict[str, Any]:
    failure, given, data = each.failure, each.state.subtask, each.state.data
    error = None if failure is None else failure.model_dump(include={"message", "type", "class_", "next_action"})
    found = result_facts(each.state)
    if found is not None and data is not None and numbers:
        found["sources"] = [numbers[source.title, source.url] for source in data.sources]
    shown: dict[str, Any] = {
        "subtask": each.key,
        "name": given.name,
        "tool": given.tool,
        "args": given.args,
        "expected_output": given.expected_output,
        "status": "completed" if each.ok else "failed",
        "result": found,
        "error": error,
    }
    return {name: value for name, value in shown.items() if value is not None}


def _made(state: RunState, call: CallState, given: Subtask) -> dict[str, Any]:
    """A call that was made, as a review is shown it."""
    shown = {"tool": call.tool, "args": call.args, "ok": call.ok}
    more = {"error": call.error, "approval": approval_note(state, call, given)}
    return {**shown, **{name: text for name, text in more.items() if text}}


# --- the answer ------------------------------------------------------------------------------------------------------


def compose(state: RunState, work: Work, numbers: Numbers) -> dict[str, Any]:
    """Return the brief of a composition: the request, every result that the answer may use, and every gap."""
    shown = {
        "results": [result(each, numbers, judged=work.verdict(each.key) is not None) for each in work.usable()],
        "gaps": gap_facts(state, work),
        "sources": _sources(numbers),
    }
    return {**_composing(state), **{name: fact for name, fact in shown.items() if fact or name == "results"}}


def section(state: RunState, results: Sequence[Result], numbers: Numbers) -> dict[str, Any]:
    """Return the brief of one section of a long answer: the results that it covers."""
    shown = [result(each, numbers) for each in results]
    return {**_composing(state, CONTEXT), "part": "section", "results": shown, "sources": _sources(numbers)}


def compose_over(state: RunState, work: Work, texts: Sequence[str], *, digest: bool) -> dict[str, Any]:
    """The brief of the opening of all sections, with every gap, or of a digest of some texts that are too long."""
    facts: dict[str, Any] = {
        **_composing(state, CONTEXT if digest else None),
        "part": "digest" if digest else "opening",
    }
    space = context_budget(state, RoleName.COMPOSE) - tokens(facts)
    if not digest:
        facts["gaps"] = fitting(gap_facts(state, work), space // 2)
        space -= tokens(facts["gaps"])
    share = max(3 * space // max(len(texts), 1), 100)  # three characters per token
    whole = sum(tokens(text) for text in texts) <= space
    facts["sections"] = [text if whole or len(text) <= share else f"{text[:share]} …" for text in texts]
    return facts


def _composing(state: RunState, most: int | None = None) -> dict[str, Any]:
    return {"task": "compose", **today(state), **earlier_facts(state), **asked(state, most), **_typed(state)}


def _typed(state: RunState) -> dict[str, Any]:
    """Return the JSON schema of the data that a person wants beside the answer; nothing if they want none."""
    shape = state.definition.worker(state.definition.shape)
    return {} if shape is None else {"data": shape.output}


def result(each: Result, numbers: Numbers, *, judged: bool = True) -> dict[str, Any]:
    """Return a result as the composer sees it."""
    data = each.state.data
    shown = {
        "name": each.state.subtask.name,
        "args": _args(each),
        "summary": each.text,
        "raw": data.raw if data is not None and data.is_cut else None,
        "sample": data is not None and data.sample,
        "not_evaluated": not judged,
        "sources": [numbers[source.title, source.url] for source in each.sources if numbers],
    }
    return {name: value for name, value in shown.items() if value}


def _args(each: Result) -> dict[str, Any]:
    """Return the arguments of the call, or the calls that a worker chose."""
    given = each.state.subtask
    if given.tool is None:
        return {call.tool: call.args or given.args for call in each.state.made}
    return each.state.args_made(ok=True)


def _sources(numbers: Numbers) -> list[dict[str, Any]]:
    return [{"n": n, "title": title, "url": url} for (title, url), n in numbers.items()]


def gap_facts(state: RunState, work: Work) -> list[dict[str, Any]]:
    """Return every gap as a lead is shown it, if the run ended now."""
    return [_gap_facts(gap) for gap in outcome.all_gaps(state, Outcome(gaps=work.gaps()))]


def _gap_facts(gap: Gap) -> dict[str, Any]:
    return {"what": gap.name, "class": gap.class_.value, "reason": gap.reason, "next_action": gap.next_action}
