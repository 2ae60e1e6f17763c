"""The offline rules of the work-order flow, one for each role."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from leadhand.core.errors import FailureClass
from leadhand.core.text import line
from leadhand.core.value import list_of, object_of, objects_of, text_of
from leadhand.core.work_order import result_reference
from leadhand.flows.offline.calls import HOW, Calls
from leadhand.flows.offline.days import read_date
from leadhand.flows.offline.rendering import render, reported
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules

from .briefs import chosen_results
from .repair import NEW_REASON

BYLINE = "Written by Leadhand's built-in rule-based model (offline, no LLM)."
SAMPLE_NOTE = " Sample data was used; it is not a forecast or a road route."
_COMPARED = re.compile(r"(warm|hott)(?:er|est)|(cold|cool)(?:er|est)", re.IGNORECASE)
_HIGHEST = re.compile(r"(?:Sample data, not a forecast: )?([^,]+),.* to (-?[\d.]+) (°[CF])")


def plan(facts: Mapping[str, Any], request: OfflineRequest) -> dict[str, Any] | None:
    """Plan ``facts["request"]`` with ``facts["tools"]``. Subtasks that an objection names are not planned again."""
    if not _asks_for(request, "subtasks"):
        return None
    asked, page = text_of(facts.get("request")), object_of(facts.get("page"))
    planned = Calls(asked, objects_of(facts.get("tools")), read_date(facts.get("today")))
    refused = set(re.findall(r"\w+", request.objections.casefold()))
    subtasks = [each for each in planned.subtasks() if each["name"] not in refused]
    cannot = [{"what": what, "reason": reason} for what, reason in planned.cannot.items()]
    if refused or not (subtasks or cannot):
        reason = f"it was refused: {request.objections}" if refused else f"no registered tool covers it; {HOW}"
        cannot.append({"what": line(asked, 300) or "(an empty request)", "reason": line(reason, 900)})
    first, most = (given if isinstance(given := page.get(name), int) else 0 for name in ("first_index", "most"))
    return {
        "goal": line(asked, 200) or "(an empty request)",
        "subtasks": subtasks[first : first + most] if most else subtasks,
        "cannot": [] if first else cannot,  # what cannot be done is on the first page
        "more": 0 < most < len(subtasks) - first,
    }


def _asks_for(request: OfflineRequest, field: str) -> bool:
    """Whether an answer can have this field; another flow may have a role of the same name."""
    shapes = [request.schema, *objects_of(object_of(request.schema).get("anyOf"))]
    return request.schema is None or any(field in object_of(object_of(each).get("properties")) for each in shapes)


def work(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Call the tool that the subtask names; then report what it returned, or give up with the reason."""
    if request.results:
        return reported(request)
    subtask = object_of(facts.get("subtask"))
    name = text_of(subtask.get("tool"))
    tool = next((tool for tool in request.tools if tool.name == name), None)
    if tool is None:
        only = "the built-in rule-based model only carries out subtasks that name a tool"
        return request.give_up(f"there is no tool {name} here" if name else only)
    args = {key: value for key, value in object_of(subtask.get("args")).items() if result_reference(value) is None}
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
    results = {text_of(each.get("subtask")): each for each in objects_of(facts.get("accepted"))}
    results |= {key: object_of(result) for key, result in object_of(facts.get("as_ordered")).items()}
    results |= {key: {**result, "name": name} for key, name, result in chosen_results(facts)}
    verdicts = {key: ("accept", "it has a result") for key, _, _ in chosen_results(facts)}
    last, blocked = facts.get("last_order") is True, list[str]()
    for subtask in objects_of(facts.get("subtasks")):
        key, result, error = (
            text_of(subtask.get("subtask")),
            object_of(subtask.get("result")),
            object_of(subtask.get("error")),
        )
        is_done, class_ = subtask.get("status") == "completed", text_of(error.get("class"))
        reason = text_of(error.get("message")) or "it has no result"
        if is_done and (text_of(result.get("summary")) or result.get("raw") is not None):
            verdicts[key] = ("accept", "it has a result")
            results[key] = {**result, "name": subtask.get("name")}
        else:
            verdicts[key] = ("retry" if not last and (is_done or class_ in NEW_REASON) else "drop", reason)
            blocked += [key] if class_ == FailureClass.BLOCKED else []
    complete = all(verdict != "retry" for verdict, _ in verdicts.values())
    verdicts |= {key: ("retry", "a subtask that it needs is retried") for key in blocked if not complete}
    judged: dict[str, Any] = {"complete": complete, "missing": [], "cannot": []}
    judged["verdicts"] = [
        {"subtask": key, "verdict": each, "reason": line(why, 800)} for key, (each, why) in verdicts.items()
    ]
    if facts.get("compose") is True and complete:
        judged["answer"] = _write([results[key] for key in sorted(results, key=lambda key: (len(key), key))], facts)
    return judged


def compose(facts: Mapping[str, Any], request: OfflineRequest) -> str:
    """Write the answer from ``facts`` (``results``, ``sources``), or a ``part`` of a long one."""
    part, sections = facts.get("part"), list_of(facts.get("sections"))
    if part == "section":
        return _list(_points(objects_of(facts.get("results")), facts))
    if part not in ("digest", "opening"):
        return _write(objects_of(facts.get("results")), facts)
    sample = any("sample data" in text_of(section).casefold() for section in sections)
    if part == "digest":
        return f"Results{', sample data among them' if sample else ''}"
    return f"{BYLINE}{SAMPLE_NOTE if sample else ''}\n\nThe results, in the order of the request:"


def _write(results: list[dict[str, Any]], facts: Mapping[str, Any]) -> str:
    """Return the whole text: the results in order, what a comparison comes to, then who wrote it."""
    points = _points(results, facts)
    sample = any(result.get("sample") is True for result in results)
    signed = BYLINE + (SAMPLE_NOTE if sample else "")
    compared = _compared(text_of(facts.get("request")), points)
    return "\n\n".join([points[0] if len(points) == 1 else _list(points), *compared, signed])


def _compared(asked: str, points: Iterable[str]) -> list[str]:
    """Return the warmest or the coldest place of some weather results, if the request compares them."""
    found, said = _COMPARED.search(asked), [each for each in map(_HIGHEST.match, points) if each is not None]
    if found is None or len(said) < 2:
        return []
    ordered = sorted(said, key=lambda each: float(each[2]), reverse=bool(found[1]))
    listed = ", then ".join(f"{each[1]} ({each[2]} {each[3]})" for each in ordered)
    return [f"{'Warmest' if found[1] else 'Coldest'} first, by the highest temperature: {listed}."]


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
