"""What the workers of this flow are shown; each brief contains only what the worker needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.core.commands import Outcome
from leadhand.core.outcome import all_gaps, source_numbers, sources_of
from leadhand.core.state import RunState
from leadhand.core.work_order import ProposedSubtask
from leadhand.flows.context_budget import context_budget, fitting, page_size, tokens
from leadhand.flows.facts import CONTEXT, asked, earlier_facts, today
from leadhand.flows.flow import result_facts
from leadhand.flows.lean_schema import lean_schema
from leadhand.flows.seam.results import Result
from leadhand.verify.material import approval_note

from .roles import RoleName
from .work import Shard, Work, is_exact

Numbers = Mapping[tuple[str, str], int]
"""The numbers of sources, by title and address."""


def _choices(state: RunState) -> dict[str, Any]:
    """Return the tools, and the workers of the project if there are any, that a subtask can name."""
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": lean_schema(tool.parameters)}
        for tool in state.definition.tools
    ]
    workers = [{"name": worker.name, "description": worker.description} for worker in state.definition.declared]
    return {"tools": tools, **({"workers": workers} if workers else {})}


def _about(state: RunState, most: int | None = None) -> dict[str, Any]:
    """Return the request (only its beginning, if that is enough), and what is known about it."""
    shape = state.definition.worker(state.definition.shape)
    data = {} if shape is None else {"data": shape.output}
    return {**today(state), **earlier_facts(state), **asked(state, most), **data}


def plan(state: RunState, before: Sequence[ProposedSubtask], heard: Mapping[str, Any]) -> dict[str, Any]:
    """Return the brief of a plan: the tools and the request. The brief of a further page says where to continue."""
    page: dict[str, Any] = {"most": page_size(state)}
    facts = {**_choices(state), **_about(state), **{name: value for name, value in heard.items() if value}}
    facts["page"] = page
    if before:
        latest = [
            {"index": index, "name": subtask.name, "tool": subtask.tool, "args": subtask.args}
            for index, subtask in reversed([*enumerate(before)])
        ]
        space = max(context_budget(state, RoleName.PLAN) - tokens(facts), 200)
        page |= {"first_index": len(before), "planned_before": list(reversed(fitting(latest, space)))}
    return facts


# --- reviews ---------------------------------------------------------------------------------------------------------


def review(state: RunState, work: Work, shard: Shard, others: Sequence[str], *, is_last: bool) -> dict[str, Any]:
    """Return the brief of a review: the results and errors of one shard. A result of exactly the ordered call is shown
    in short. ``others`` are the names of the subtasks of the order that other reviews judge."""
    whole, composing, earlier = shard.whole, shard.compose, work.usable() if shard.whole else []
    numbers = source_numbers(sources_of(each.state for each in (*earlier, *shard.results))) if composing else {}
    shown = {each.key: reviewed(state, each, numbers) for each in shard.results}
    exact = [each.key for each in shard.results if is_exact(each)]
    facts: dict[str, Any] = {
        **({} if is_last else _choices(state)),
        **(_about(state) if composing else asked(state, None if whole else CONTEXT)),
        "compose": composing,
        "judge_only": not whole,
        "last_order": is_last,
        "plan_cannot": [part.model_dump() for part in work.cannot] if whole else [],
        "accepted": [{"subtask": each.key, **result(each, numbers)} for each in earlier],
        "as_ordered": {key: shown[key] for key in exact},
        "subtasks": [each for key, each in shown.items() if key not in exact],
    }
    if others:
        names = fitting(others, max(context_budget(state, RoleName.REVIEW) - tokens(facts), 0))
        facts |= {"also_ordered": names, "and_more": len(others) - len(names)}
    if composing:
        facts |= {"sources": _sources(numbers), "gaps": _gaps(state, work)}
    return {name: fact for name, fact in facts.items() if fact or name == "subtasks"}


def reviewed(state: RunState, each: Result, numbers: Numbers) -> dict[str, Any]:
    """Return a result as a reviewer sees it: in short if exactly the ordered call was made, else in full."""
    if is_exact(each):
        return result(each, numbers)
    given, failure, found = each.state.subtask, each.failure, result_facts(each.state)
    if found is not None and numbers:
        found["sources"] = [numbers[source.title, source.url] for source in each.sources]
    calls: list[dict[str, Any]] = []
    for call in each.state.made:
        more = {"error": call.error, "approval": approval_note(state, call, given)}
        shown = {"tool": call.tool, "args": call.args, "ok": call.ok}
        calls.append(shown | {name: text for name, text in more.items() if text})
    error = None if failure is None else failure.model_dump(include={"message", "type", "class_", "next_action"})
    facts = {
        "subtask": each.key,
        **given.model_dump(include={"name", "tool", "args", "expected_output"}),
        "status": "completed" if each.ok else "failed",
        "result": found,
        "error": error,
        "calls": calls,
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


# --- the answer ------------------------------------------------------------------------------------------------------


def compose(state: RunState, work: Work, numbers: Numbers) -> dict[str, Any]:
    """Return the brief of a composition: the request, every result that the answer may use, and every gap."""
    results = [result(each, numbers, judged=each.key in work.verdicts) for each in work.usable()]
    more = {"gaps": _gaps(state, work), "sources": _sources(numbers)}
    return {
        "task": "compose",
        **_about(state),
        "results": results,
        **{name: fact for name, fact in more.items() if fact},
    }


def section(state: RunState, results: Sequence[Result], numbers: Numbers) -> dict[str, Any]:
    """Return the brief of one section of a long answer: the results that it covers."""
    shown = [result(each, numbers) for each in results]
    facts = {"task": "compose", **_about(state, CONTEXT), "part": "section"}
    return {**facts, "results": shown, "sources": _sources(numbers)}


def opening(state: RunState, work: Work, texts: Sequence[str]) -> dict[str, Any]:
    """Return the brief of the opening of all sections, with every gap. Sections that do not fit are cut."""
    facts: dict[str, Any] = {"task": "compose", **_about(state), "part": "opening"}
    space = context_budget(state, RoleName.COMPOSE) - tokens(facts)
    facts["gaps"] = fitting(_gaps(state, work), space // 2)
    space -= tokens(facts["gaps"])
    share = max(3 * space // len(texts), 100)  # three characters per token
    whole = sum(tokens(text) for text in texts) <= space
    facts["sections"] = [text if whole or len(text) <= share else f"{text[:share]} …" for text in texts]
    return facts


def result(each: Result, numbers: Numbers, *, judged: bool = True) -> dict[str, Any]:
    """Return a result in short, with the arguments of its call or the calls that its worker chose."""
    data, given = each.state.data, each.state.subtask
    chosen = {call.tool: call.args or given.args for call in each.state.made}
    shown = {
        "name": given.name,
        "args": each.state.args_made(ok=True) if given.tool is not None else chosen,
        "summary": each.text,
        "raw": data.raw if data is not None and data.is_cut else None,
        "sample": data is not None and data.sample,
        "not_evaluated": not judged,
        "sources": [numbers[source.title, source.url] for source in each.sources if numbers],
    }
    return {name: value for name, value in shown.items() if value}


def _sources(numbers: Numbers) -> list[dict[str, Any]]:
    return [{"n": n, "title": title, "url": url} for (title, url), n in numbers.items()]


def _gaps(state: RunState, work: Work) -> list[dict[str, Any]]:
    """Return every gap as a lead is shown it, if the run ended now."""
    return [
        {"what": each.name, "class": each.class_.value, "reason": each.reason, "next_action": each.next_action}
        for each in all_gaps(state, Outcome(gaps=work.gaps()))
    ]
