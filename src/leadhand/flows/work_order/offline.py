"""The offline rules of the work-order flow, one for each role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from leadhand.core.errors import FailureClass
from leadhand.core.text import line
from leadhand.core.value import list_of, object_of, objects_of, text_of
from leadhand.core.work_order import result_reference
from leadhand.flows.offline.calls import HOW, Calls
from leadhand.flows.offline.days import read_date
from leadhand.flows.offline.rendering import render, reported
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules
from leadhand.flows.offline.tokens import tokenize

from .repair import NEW_REASON

BYLINE = "Written by Leadhand's built-in rule-based model (offline, no LLM)."
SAMPLE_NOTE = " Sample data was used; it is not a forecast or a road route."


def plan(facts: Mapping[str, Any], request: OfflineRequest) -> dict[str, Any] | None:
    """Plan ``facts["request"]`` with ``facts["tools"]``. Subtasks that an objection names are not planned again."""
    if not _asks_for(request, "subtasks"):
        return None
    asked = text_of(facts.get("request"))
    planned = Calls(asked, objects_of(facts.get("tools")), read_date(facts.get("today")))
    if not planned.found and not planned.gaps:
        planned.gap(asked, f"no registered tool covers any part of the request; {HOW}")
    refused = {token.low for token in tokenize(request.objections)}
    subtasks: list[dict[str, Any]] = []
    for subtask in _named(list(planned.found.values())):
        if subtask["name"] in refused:
            planned.gap(f"{subtask['tool']} {subtask['args']}", f"it was refused: {request.objections}")
        else:
            subtasks.append(subtask)
    page = object_of(facts.get("page"))
    first, most = (given if isinstance(given := page.get(name), int) else 0 for name in ("first_index", "most"))
    return {
        "goal": line(asked, 200) or "(an empty request)",
        "subtasks": subtasks[first : first + most] if most else subtasks,
        "cannot": [] if first else planned.cannot(),  # what cannot be done is on the first page
        "more": 0 < most < len(subtasks) - first,
    }


def _asks_for(request: OfflineRequest, field: str) -> bool:
    """Whether an answer can have this field; another flow may have a role of the same name."""
    shapes = [request.schema, *objects_of(object_of(request.schema).get("anyOf"))]
    return request.schema is None or any(field in object_of(object_of(each).get("properties")) for each in shapes)


def _named(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The subtasks with distinct names, with what they are about if several have the same name."""
    alike, taken = Counter(call["name"] for call in calls), Counter[str]()
    for call in calls:
        name = call["longer"] if alike[call["name"]] > 1 else call["name"]
        taken[name] += 1
        own = name if taken[name] == 1 else f"{name}_{taken[name]}"
        yield {"name": own, "tool": call["tool"], "args": call["args"]}


def work(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Call the tool that the subtask names; then report what it returned, or give up with the reason."""
    if request.results:
        return reported(request)
    subtask = object_of(facts.get("subtask"))
    given = object_of(subtask.get("args"))
    name = text_of(subtask.get("tool"))
    tool = next((tool for tool in request.tools if tool.name == name), None)
    if tool is None:
        only = "the built-in rule-based model only carries out subtasks that name a tool"
        return request.give_up(f"there is no tool {name} here" if name else only)
    args = {key: value for key, value in given.items() if result_reference(value) is None}
    for result in object_of(facts.get("needs")).values():
        raw = object_of(object_of(result).get("raw"))
        args |= {key: raw[key] for key in tool.required - args.keys() if raw.get(key) is not None}
    if missing := sorted(tool.required - args.keys()):
        return request.give_up(f"{tool.name} needs {', '.join(missing)}, and nothing says what to use")
    return Call(tool.name, args)


def review(facts: Mapping[str, Any], request: OfflineRequest) -> dict[str, Any] | None:
    """Accept subtasks with a result, retry temporary failures, drop the rest; also answer if the facts ask for it."""
    if not _asks_for(request, "verdicts"):
        return None
    subtasks = objects_of(facts.get("subtasks"))
    verdicts = [_verdict(subtask, last=facts.get("last_order") is True) for subtask in subtasks]
    complete = all(verdict["verdict"] != "retry" for verdict in verdicts)
    judged: dict[str, Any] = {"verdicts": verdicts, "complete": complete, "missing": [], "cannot": []}
    results = {text_of(each.get("subtask")): each for each in objects_of(facts.get("accepted"))}
    results |= {key: object_of(result) for key, result in object_of(facts.get("as_ordered")).items()}
    for subtask, verdict in zip(subtasks, verdicts, strict=True):
        error = object_of(subtask.get("error"))
        if verdict["verdict"] == "accept":
            results[verdict["subtask"]] = {**object_of(subtask.get("result")), "name": subtask.get("name")}
        if not complete and subtask.get("status") == "failed" and error.get("class") == FailureClass.BLOCKED:
            reason = f"a subtask that it needs is retried ({verdict['reason']})"
            verdict |= {"verdict": "retry", "reason": reason[:1_000]}
    if facts.get("compose") is True and complete:
        ordered = [results[key] for key in sorted(results, key=lambda key: (len(key), key))]
        judged["answer"] = _write(ordered, facts)
    return judged


def _verdict(subtask: Mapping[str, Any], *, last: bool) -> dict[str, Any]:
    result, error = object_of(subtask.get("result")), object_of(subtask.get("error"))
    status = text_of(subtask.get("status"))
    verdict, reason = "drop", text_of(error.get("message"))[:800] or f"it is {status or 'not done'}"
    if status == "completed" and (text_of(result.get("summary")) or result.get("raw") is not None):
        verdict, reason = "accept", "it has a result"
    elif status == "completed" or (status == "failed" and text_of(error.get("class")) in NEW_REASON):
        verdict = "drop" if last else "retry"
        reason = "it is marked completed but has no result" if status == "completed" else reason
        reason += "; no order is left for a retry" if last else ""
    return {"subtask": text_of(subtask.get("subtask")), "verdict": verdict, "reason": reason[:1_000]}


def compose(facts: Mapping[str, Any], request: OfflineRequest) -> str:
    """Write the answer from ``facts`` (``results``, ``sources``), or a ``part`` of a long one."""
    results = objects_of(facts.get("results"))
    part = facts.get("part")
    if part == "section":
        return _list(_points(results, facts))
    if part not in ("digest", "opening"):
        return _write(results, facts)
    sample = any("sample data" in text_of(section).casefold() for section in list_of(facts.get("sections")))
    if part == "digest":
        return f"Results{', sample data among them' if sample else ''}"
    byline = BYLINE + (SAMPLE_NOTE if sample else "")
    return "\n\n".join([byline, "The results, in the order of the request:"])


def _write(results: list[dict[str, Any]], facts: Mapping[str, Any]) -> str:
    """Return the whole text: the results in order, then who wrote it."""
    points = _points(results, facts)
    sample = any(result.get("sample") is True for result in results)
    return "\n\n".join([points[0] if len(points) == 1 else _list(points), BYLINE + (SAMPLE_NOTE if sample else "")])


def _points(results: list[dict[str, Any]], facts: Mapping[str, Any]) -> list[str]:
    """Return each result with its citations, labelled if it is sample data."""
    known, points = [source.get("n") for source in objects_of(facts.get("sources"))], list[str]()
    for result in results:
        text = text_of(result.get("summary")) or f"{text_of(result.get('name'))}: {render(result.get('raw'))}"
        label = " (sample data)" if result.get("sample") is True and "sample" not in text.casefold() else ""
        cited = dict.fromkeys(f"[{n}]" for n in list_of(result.get("sources")) if n in known)
        points.append(f"{text.strip()}{label} {''.join(cited)}".rstrip())
    return points


def _list(items: list[str]) -> str:
    """Return one item per line, with further lines of an item indented."""
    return "\n".join("- " + item.replace("\n", "\n  ") for item in items)


RULES: Rules = {"plan": plan, "work": work, "review": review, "compose": compose}
