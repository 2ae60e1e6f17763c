"""The briefs of this flow's workers, computed from the log alone; each contains only what the worker needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from leadhand.core.blob import blob_of
from leadhand.core.outcome import source_numbers
from leadhand.core.run import Gap
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import CallState, ToolSpec
from leadhand.core.value import Json, compact_json, is_object, list_of, object_of, text_of
from leadhand.core.work_order import Step, Subtask, result_reference
from leadhand.flows.context_budget import context_budget, fitting, page_size, tokens
from leadhand.flows.facts import earlier_facts, replied, today
from leadhand.flows.flow import result_facts
from leadhand.flows.lean_schema import lean_schema
from leadhand.flows.plan_gate import denied_facts
from leadhand.verify.material import approval_note

from .answer_checks import planned
from .results import (
    all_gaps,
    answer_sources,
    answerable_results,
    is_exact,
    is_free,
    ran_out,
    section_numbers,
)
from .roles import RoleName

CONTEXT = 4_000
"""Characters of the request in briefs that include it for context only."""
GOAL = 200
"""Characters of the request that stand for the goal before there is an order."""
LINE = 300
"""Characters of a result in one line, and at most of each part of a result that a review shows as a list."""


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


def asked(state: RunState, most: int | None = None) -> dict[str, Any]:
    """Return the request (only its beginning, if that is enough), and what the person answered about it."""
    request = state.definition.request
    if most is not None and len(request) > most:
        request = f"{request[:most]} … (cut: {len(request):,} characters in all)"
    answered = [{"question": each.text, "answer": each.reply} for each in replied(state)]
    return {"request": request, **({"answered": answered} if answered else {})}


def plan(state: RunState, step: Step) -> dict[str, Any]:
    """Return the brief of a plan: the tools and the request. The brief of a further page says where to continue."""
    page: dict[str, Any] = {"most": page_size(state)}
    facts: dict[str, Any] = {
        "tools": shown_tools(state.definition.tools),
        **_workers(state),
        **today(state),
        **earlier_facts(state),
        **asked(state),
        **denied_facts(state),
        "page": page,
    }
    first = step.input.get("first", 0)
    if first:
        latest = [
            {"index": first - back, "name": subtask.name, "tool": subtask.tool, "args": subtask.args}
            for back, subtask in enumerate(reversed(planned(state)), start=1)
        ]
        space = max(context_budget(state, RoleName.PLAN) - tokens(facts), 200)
        page |= {"first_index": first, "planned_before": list(reversed(fitting(latest, space)))}
    return facts


def _task(state: RunState, name: str, tool: str | None, args: Any, expected: Json) -> dict[str, Any]:
    subtask = {"tool": tool, "args": args, "name": name, "expected_output": expected}
    given = {key: value for key, value in subtask.items() if value}
    goal = state.order.order.goal if state.order is not None else " ".join(state.definition.request.split())[:GOAL]
    facts = {"goal": goal, **asked(state, CONTEXT), "subtask": given}
    if is_object(expected):
        facts["answer"] = "JSON that matches the schema expected_output, and nothing else; or call give_up"
    return facts


def work(state: RunState, step: Step) -> dict[str, Any]:
    """Return the brief of one subtask: the subtask and the results that it needs."""
    given = state.steps[step.step_id].subtask
    references = {name: found for name, value in given.args.items() if (found := result_reference(value)) is not None}
    whole = {name: subtask for name, (subtask, path) in references.items() if path is None}
    stated = {name: value for name, value in given.args.items() if name not in whole}
    facts = _task(state, given.name, given.tool, stated, given.expected_output)
    if whole:
        facts["work_out"] = {name: f"from the result of {subtask}, in needs" for name, subtask in whole.items()}
    if given.needs or not given.args:  # else the lead has worked out the days that the arguments name
        facts |= today(state)
    if given.needs:
        facts["needs"] = {key: result_facts(state.steps[key]) for key in given.needs}
    repaired = state.steps.get(given.repairs_subtask or "")
    if repaired is not None:
        reason = repaired.verdict.reason if repaired.verdict is not None else ""
        reason = reason or (repaired.failure and repaired.failure.message)
        facts["repairs"] = {"subtask": repaired.key, "reason": reason}
    return facts


def child(state: RunState, step: Step) -> dict[str, Any]:
    """Return the brief of a child step: its input is the task, and the calling tool defines what to return."""
    tool = state.tools.get(step.title)
    facts = _task(state, step.name, None, step.input, tool.description if tool is not None else None)
    return {**{name: value for name, value in facts.items() if name != "goal"}, **today(state)}


def is_last_order(state: RunState) -> bool:
    """Whether no order can follow the latest one."""
    order = state.order
    return state.orders_of_lead >= state.definition.limits.max_steps or (order is not None and ran_out(state, order))


def review_tools(state: RunState, step: Step) -> list[ToolSpec]:
    """Return the tools that a review may order again: its own, or all, where something can be missing or replaced."""
    if is_last_order(state):
        return []
    reviewed = [state.steps[key] for key in step.input.get("covers", ())]
    if step.input.get("whole", True) or not all(map(is_exact, reviewed)):
        return list(state.definition.tools)
    names = {subtask.subtask.tool for subtask in reviewed}
    return [tool for tool in state.definition.tools if tool.name in names]


def review(state: RunState, step: Step) -> dict[str, Any]:
    """Return the brief of a review: the subtasks of one shard with their results or errors.

    A result of exactly the ordered call is one line, and one of a tool that its worker chose a short list; only the
    others are shown in full.
    """
    order = state.orders[step.input["work_order_id"]]
    covers: list[str] = list(step.input.get("covers", ()))
    reviewed = [state.steps[key] for key in covers]
    composing = bool(step.input.get("compose"))
    whole, last = bool(step.input.get("whole", True)), is_last_order(state)
    numbers = source_numbers(answer_sources(state, covers)) if composing else None
    lists = {each.key: found for each in reviewed if (found := listed(each, numbers)) is not None}
    facts: dict[str, Any] = {
        "tools": shown_tools(review_tools(state, step)),
        **({} if last else _workers(state)),
        **({**today(state), **earlier_facts(state)} if composing else {}),
        **asked(state, None if whole else CONTEXT),
        "compose": composing,
        "judge_only": not whole,
        "last_order": last,
        "plan_cannot": [part.model_dump() for part in state.unsupported] if whole else [],
        "accepted": [
            {"subtask": other.key, **(result(other, numbers or {}))}
            for other in (answerable_results(state) if len(state.orders) > 1 and whole else ())
            if other.order != order.order.work_order_id and other.data is not None
        ],
        "as_ordered": {
            each.key: in_a_line(each) if numbers is None else result(each, numbers, presumed=True)
            for each in reviewed
            if is_exact(each)
        },
        "chosen": lists,
        "subtasks": [judged(state, each, numbers) for each in reviewed if each.key not in lists and not is_exact(each)],
    }
    covered = set(covers)
    keys = order.order.subtask_keys() if whole else ()
    others = [state.steps[key].subtask for key in keys if key not in covered]
    if others:
        _also_ordered(facts, others, context_budget(state, RoleName.REVIEW) - tokens(facts))
    if numbers is not None:
        facts["sources"] = _sources(numbers)
        facts["gaps"] = [_gap_facts(gap) for gap in all_gaps(state) if gap.subtask_index is None]
    return {name: fact for name, fact in facts.items() if fact or name == "subtasks"}


def _also_ordered(facts: dict[str, Any], others: list[Subtask], space: int) -> None:
    """Return the names of subtasks that other shards review; those that do not fit are counted by tool."""
    names = fitting((subtask.name for subtask in others), max(space, 0))
    facts["also_ordered"] = names
    if len(names) < len(others):
        facts["and_more_calls_of"] = dict(Counter(subtask.tool or "no tool" for subtask in others[len(names) :]))


def compose(state: RunState) -> dict[str, Any]:
    """Return the brief of a composition: the request, every result that the answer may use, and every gap."""
    numbers = source_numbers(answer_sources(state))
    shown = {
        "results": [result(subtask, numbers) for subtask in answerable_results(state)],
        "gaps": gap_facts(state),
        "sources": _sources(numbers),
    }
    return {**_composing(state), **{name: fact for name, fact in shown.items() if fact or name == "results"}}


def section(state: RunState, step: Step) -> dict[str, Any]:
    """Return the brief of one section of a long answer: the results that it covers."""
    numbers = section_numbers(state, step)
    results = [result(state.steps[key], numbers) for key in step.input["covers"]]
    return {**_composing(state, CONTEXT), "part": "section", "results": results, "sources": _sources(numbers)}


def compose_over(state: RunState, texts: list[str], *, digest: bool) -> dict[str, Any]:
    """The brief of the opening of all sections, with every gap, or of a digest of some texts that are too long."""
    facts: dict[str, Any] = {
        **_composing(state, CONTEXT if digest else None),
        "part": "digest" if digest else "opening",
    }
    space = context_budget(state, RoleName.COMPOSE) - tokens(facts)
    if not digest:
        facts["gaps"] = fitting((_gap_facts(gap) for gap in all_gaps(state)), space // 2)
        space -= tokens(facts["gaps"])
    share = max(3 * space // max(len(texts), 1), 100)  # three characters per token
    whole = sum(tokens(text) for text in texts) <= space
    facts["sections"] = texts if whole else [text if len(text) <= share else f"{text[:share]} …" for text in texts]
    return facts


def _composing(state: RunState, most: int | None = None) -> dict[str, Any]:
    return {"task": "compose", **today(state), **earlier_facts(state), **asked(state, most)}


def result(subtask: StepState, numbers: dict[tuple[str, str], int], *, presumed: bool = False) -> dict[str, Any]:
    """Return a result as the composer sees it; ``presumed``: a running review may accept it."""
    data = subtask.data
    assert data is not None
    shown = {
        "name": subtask.subtask.name,
        "args": _unnamed_args(subtask),
        "summary": data.summary,
        "raw": data.raw if data.is_cut else None,
        "sample": data.sample,
        "not_evaluated": not (subtask.accepted or presumed),
        "sources": [numbers[source.title, source.url] for source in data.sources if numbers],
    }
    return {name: value for name, value in shown.items() if value}


def in_a_line(subtask: StepState) -> str:
    """Return a result as one line: its name and the beginning of its text."""
    assert subtask.data is not None
    args, text = _unnamed_args(subtask), subtask.data.summary
    text = text if len(text) <= LINE else f"{text[:LINE]}…"
    named = f"{subtask.subtask.name} {compact_json(args)}" if args else subtask.subtask.name
    return f"{named}: {text}{' (sample data)' if subtask.data.sample else ''}"


def listed(subtask: StepState, numbers: dict[tuple[str, str], int] | None = None) -> list[Any] | None:
    """Return a result whose calls its worker chose as a list: name, calls, what they returned, text, and what is left.

    None if that would cut something: the result is then shown in full.
    """
    data, given, facts = subtask.data, subtask.subtask, result_facts(subtask)
    if data is None or facts is None or not is_free(subtask):
        return None
    returned = facts["raw"]
    if blob_of(returned) or max(len(data.summary), len(compact_json(returned))) > LINE:
        return None
    more = {
        "expected_output": given.expected_output,
        "sample": data.sample,
        "sources": [numbers[source.title, source.url] for source in data.sources] if numbers else [],
    }
    calls = [{call.tool: call.args} for call in subtask.made]
    rest = {name: value for name, value in more.items() if value}
    return [given.name, calls, returned, data.summary, *([rest] if rest else [])]


def chosen_results(brief: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Return the results that the brief of a review has as lists, which :func:`listed` made: key, name and result."""
    for key, each in object_of(brief.get("chosen")).items():
        name, _, raw, text, *more = list_of(each)
        yield key, text_of(name), {"summary": text, "raw": raw, **object_of(next(iter(more), None))}


def _unnamed_args(subtask: StepState) -> dict[str, Any]:
    """Return the arguments of the call, or the calls that a worker chose, unless the result names all their values."""
    text, given = subtask.data.summary.casefold() if subtask.data is not None else "", subtask.subtask
    chosen = {call.tool: call.args or given.args for call in subtask.made} if given.tool is None else None
    args = subtask.args_made(ok=True) if chosen is None else chosen
    values = [value for each in args.values() for value in (each.values() if is_object(each) else [each])]
    words = (str(value).casefold() for value in values)
    return {} if all(_has(text, each) for each in words) else args


def _has(text: str, value: str) -> bool:
    """Whether a text has a value that is not a part of a longer word."""
    at = text.find(value)
    while at >= 0:
        around = text[max(at - 1, 0) : at] + text[at + len(value) : at + len(value) + 1]
        if not any(each.isalnum() or each == "_" for each in around):
            return True
        at = text.find(value, at + 1)
    return False


def shown(state: RunState, subtask: StepState) -> Json:
    """Return a subtask as a review that does not compose shows it: as one line, as a list, or in full."""
    short = in_a_line(subtask) if is_exact(subtask) else listed(subtask)
    return judged(state, subtask) if short is None else [subtask.key, short]


def judged(state: RunState, subtask: StepState, numbers: dict[tuple[str, str], int] | None = None) -> dict[str, Any]:
    """Return a subtask in full as a reviewer sees it; with the ``numbers`` of its sources for an answer."""
    failure, error, data, given = subtask.failure, None, subtask.data, subtask.subtask
    if failure is not None:
        error = failure.model_dump(include={"message", "type", "class_", "next_action"})
    result_ = result_facts(subtask)
    if result_ is not None and data is not None and numbers is not None:
        result_["summary"] = data.summary
        if numbers:
            result_["sources"] = [numbers[source.title, source.url] for source in data.sources]
    shown: dict[str, Any] = {
        "subtask": subtask.key,
        "name": given.name,
        "tool": given.tool,
        "args": given.args,
        "expected_output": given.expected_output,
        "status": subtask.status.value,
        "result": result_,
        "error": error,
    }
    if not is_exact(subtask):
        shown["calls"] = [_made(state, call, given) for call in subtask.made]
    return {name: value for name, value in shown.items() if value is not None}


def _made(state: RunState, call: CallState, given: Subtask) -> dict[str, Any]:
    """A call that was made, as a review is shown it."""
    shown = {"tool": call.tool, "args": call.args, "ok": call.ok}
    more = {"error": call.error, "approval": approval_note(state, call, given)}
    return {**shown, **{name: text for name, text in more.items() if text}}


def _sources(numbers: dict[tuple[str, str], int]) -> list[dict[str, Any]]:
    return [{"n": n, "title": title, "url": url} for (title, url), n in numbers.items()]


def gap_facts(state: RunState) -> list[dict[str, Any]]:
    """Return every gap as a lead is shown it."""
    return [_gap_facts(gap) for gap in all_gaps(state)]


def _gap_facts(gap: Gap) -> dict[str, Any]:
    return {"what": gap.name, "class": gap.class_.value, "reason": gap.reason, "next_action": gap.next_action}
