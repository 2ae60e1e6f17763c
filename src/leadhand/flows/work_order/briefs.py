"""What the workers of this flow are shown; each brief contains only what the worker needs. The JSON schemas that a lead
fills in are narrower than Plan and Review, which validate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.core.outcome import FlowAnswer, all_gaps, source_numbers
from leadhand.core.relations import approval_note, not_allowed
from leadhand.core.state import RunState
from leadhand.core.work_order import Subtask
from leadhand.core.work_result import VerdictKind
from leadhand.flows.facts import (
    CONTEXT,
    asked,
    context_budget,
    earlier_facts,
    fitting,
    most_words,
    page_size,
    today,
    tokens,
)
from leadhand.flows.flow import result_facts
from leadhand.flows.seam.results import Result

from .roles import RoleName
from .work import Work

Numbers = Mapping[tuple[str, str], int]
"""The numbers of sources, by title and address."""


class Shard(NamedTuple):
    """What one review judges: some results, and with ``whole`` the order as a whole; with ``compose``, the review also
    writes the answer."""

    name: str
    results: Sequence[Result]
    whole: bool = False
    compose: bool = False


def choices(state: RunState) -> dict[str, Any]:
    """Return the tools, and the workers of the project if there are any, that a subtask can name."""
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in state.definition.tools
    ]
    workers = [
        {"name": each.name, "description": each.description, "parameters": each.input or {"properties": {"task": {}}}}
        for each in state.definition.declared
    ]
    return {"tools": tools, **({"workers": workers} if workers else {})}


def _about(state: RunState) -> dict[str, Any]:
    """Return the request, and what is known about it."""
    shape = state.definition.worker(state.definition.shape)
    data = {} if shape is None else {"data": shape.output}
    return {**today(state), **earlier_facts(state), **asked(state), **data}


def plan(state: RunState, before: Sequence[Subtask], heard: Mapping[str, Any]) -> dict[str, Any]:
    """Return the brief of a plan: the tools and the request. The brief of a further page says where to continue."""
    page: dict[str, Any] = {"most": page_size(state)}
    facts = {**choices(state), **_about(state), **{name: value for name, value in heard.items() if value}}
    facts["page"] = page
    if before:
        latest = [
            {"index": index, "name": subtask.name, "tool": subtask.tool, "args": subtask.args}
            for index, subtask in reversed([*enumerate(before)])
        ]
        space = max(context_budget(state, RoleName.PLAN) - tokens(facts), 200)
        page |= {"first_index": len(before), "planned_before": list(reversed(fitting(latest, space)))}
    return facts


def review(state: RunState, work: Work, shard: Shard) -> dict[str, Any]:
    """Return the brief of a review: the results and errors of one shard. A result of exactly the ordered call is shown
    in short."""
    own, whole = [each.key for each in shard.results], shard.whole
    latest = {each.key: each for each in work.latest}
    earlier = [each for each in work.usable() if each.key not in latest] if whole else []
    numbers: Numbers = numbers_of((*earlier, *shard.results)) if shard.compose else {}
    exact = {each.key: result(each, numbers) | _tried(work, each) for each in shard.results if each.is_exact}
    facts: dict[str, Any] = {
        **({} if work.is_last else choices(state)),
        **(_about(state) if whole else {**today(state), **asked(state, CONTEXT)}),
        "compose": shard.compose,
        "most_words": most_words(state) if shard.compose else 0,
        "judge_only": not whole,
        "last_order": work.is_last,
        "plan_cannot": [part.model_dump() for part in work.cannot] if whole else [],
        "accepted": [{"subtask": each.key, **result(each, numbers), **_tried(work, each)} for each in earlier],
        "as_ordered": exact,
        "subtasks": [
            reviewed(state, each, numbers) | _tried(work, each) for each in shard.results if not each.is_exact
        ],
        "sources": _sources(numbers),
        "gaps": _gaps(state, work) if shard.compose else [],
    }
    if whole and (others := [each.state.subtask.name for key, each in latest.items() if key not in own]):
        names = fitting(others, max(context_budget(state, RoleName.REVIEW) - tokens(facts), 0))
        facts |= {"also_ordered": names, "and_more": len(others) - len(names)}
    return {name: fact for name, fact in facts.items() if fact or name == "subtasks"}


def reviewed(state: RunState, each: Result, numbers: Numbers) -> dict[str, Any]:
    """Return a result as a reviewer sees it in full, with the calls that were made."""
    given, failure, found = each.state.subtask, each.failure, result_facts(each.state)
    if found is not None and numbers:
        found["sources"] = [numbers[source.title, source.url] for source in each.sources]
    calls: list[dict[str, Any]] = []
    for call in each.state.made:
        more = {"error": call.error, "approval": approval_note(state, call)}
        shown = {"tool": call.tool, "args": call.args, "ok": call.ok}
        calls.append(shown | {name: text for name, text in more.items() if text})
    calls += not_allowed(state, each.key)
    facts = {
        "subtask": each.key,
        **given.model_dump(include={"name", "tool", "args", "expected_output"}),
        "status": "completed" if each.ok else "failed",
        "result": found,
        "error": failure and failure.model_dump(include={"message", "type", "class_", "next_action"}),
        "calls": calls,
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def compose(
    state: RunState, work: Work, results: Sequence[Result], numbers: Numbers, listed: int = 0
) -> dict[str, Any]:
    """Return the brief of an answer: the results that it may use, and every gap. Further results, ``listed`` of them,
    are printed below its text."""
    judged = work.verdicts.keys()
    facts: dict[str, Any] = {
        **_about(state),
        "most_words": most_words(state),
        "results": [result(each, numbers, judged=each.key in judged) | _tried(work, each) for each in results],
        "listed": listed,
        "sources": _sources({source: numbers[source] for source in numbers_of(results)}),
    }
    facts["gaps"] = fitting(_gaps(state, work), context_budget(state, RoleName.COMPOSE) - tokens(facts))
    return {name: fact for name, fact in facts.items() if fact}


def result(each: Result, numbers: Numbers, *, judged: bool = True) -> dict[str, Any]:
    """Return a result in short, with the arguments of its call or the calls that its worker chose."""
    data, given = each.state.data, each.state.subtask
    chosen = [{"tool": call.tool, "args": call.args or given.args} for call in each.state.made]
    shown = {
        "name": given.name,
        **({"calls": chosen} if given.tool is None else {"args": each.state.args_made(ok=True)}),
        "summary": each.text,
        "raw": data.raw if data is not None and data.is_cut else None,
        "sample": data is not None and data.sample,
        "not_evaluated": not judged,
        "sources": [numbers[source.title, source.url] for source in each.sources if numbers],
    }
    return {name: value for name, value in shown.items() if value}


def _tried(work: Work, each: Result) -> dict[str, Any]:
    """Return in short what was tried before a result that replaced something else, and why it was replaced."""
    found: list[dict[str, Any]] = []
    while (before := work.results.get(each.state.subtask.repairs_subtask or "")) is not None:
        said, each = work.verdicts.get(before.key), before
        if said is not None and said.replacement is not None:
            shown = before.state.subtask.model_dump(include={"name", "tool", "args"})
            found.insert(0, {**shown, "reason": said.reason})
    return {"tried_before": found} if found else {}


def numbers_of(results: Sequence[Result]) -> Numbers:
    """Return the numbers that cite the sources of results."""
    return source_numbers(each.state for each in results)


def _sources(numbers: Numbers) -> list[dict[str, Any]]:
    return [{"n": n, "title": title, "url": url} for (title, url), n in numbers.items()]


def _gaps(state: RunState, work: Work) -> list[dict[str, Any]]:
    """Return every gap as a lead is shown it, if the run ended now."""
    return [
        {"what": each.name, "class": each.class_.value, "reason": each.reason, "next_action": each.next_action}
        for each in all_gaps(state, FlowAnswer(gaps=work.gaps()))
    ]


# --- the schemas of answers ------------------------------------------------------------------------------------------


Schema = dict[str, Any]
TEXT, FLAG, OBJECT, NOTHING = ({"type": kind} for kind in ("string", "boolean", "object", "null"))
ANY = {"anyOf": [TEXT, OBJECT]}


def plan_schema(state: RunState, first: int) -> Schema:
    """Return the schema of a page of a plan from this index on. The first can be an answer, so it requires nothing."""
    most = page_size(state)
    subtask = _subtask(state, {"type": "integer", "minimum": 0, "maximum": first + most - 1})
    parts = {"goal": TEXT, "subtasks": {**_list(subtask), "maxItems": most}, "cannot": _CANNOT, "more": FLAG}
    return _object(parts, "subtasks") if first else _object({**parts, "answer": TEXT, "question": TEXT})


def review_schema(state: RunState, shard: Shard) -> Schema:
    """Return the schema of the review of a shard."""
    subtask, keys = {"$ref": "#/$defs/subtask"}, [each.key for each in shard.results]
    given = {"subtask": {**TEXT, "enum": keys}, "verdict": {**TEXT, "enum": [each.value for each in VerdictKind]}}
    given |= {"reason": TEXT, "replacement": subtask}
    whole = {"complete": FLAG, "missing": _list(subtask), "cannot": _CANNOT} if shard.whole else {}
    verdicts = {**_list(_object(given, "subtask", "verdict")), "maxItems": len(keys)}
    parts = {"verdicts": verdicts, **whole, **({"answer": TEXT} if shard.compose else {})}
    return {**_object(parts), "$defs": {"subtask": _subtask(state, TEXT)}}


def _subtask(state: RunState, need: Schema) -> Schema:  # its arguments are validated later
    named = {"tool": state.definition.tools, "worker": state.definition.declared}
    names = {key: [one.name for one in each] for key, each in named.items()}
    parts = {key: {"anyOf": [{**TEXT, "enum": each}, NOTHING]} if each else NOTHING for key, each in names.items()}
    return _object({"name": TEXT, **parts, "args": OBJECT, "needs": _list(need), "expected_output": ANY}, "name")


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(properties: Schema, *required: str) -> Schema:
    return {**OBJECT, "properties": properties, "required": [*required]}


_CANNOT = _list(_object({"what": TEXT, "reason": TEXT}, "what", "reason"))
