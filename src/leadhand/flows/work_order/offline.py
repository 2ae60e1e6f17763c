"""The offline rules of the work-order flow, one for each role."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from leadhand.core.errors import FailureClass
from leadhand.core.text import line
from leadhand.core.value import list_of, object_of, objects_of, text_of
from leadhand.core.work_order import references
from leadhand.flows.offline.calls import HOW, Calls
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules, render, reported

BYLINE = "Written by Leadhand's built-in rule-based model (offline, no LLM)."
SAMPLE_NOTE = " Sample data was used; it is not a forecast or a road route."
_HIGHEST = re.compile(r"(?:Sample data, not a forecast: )?([^,]+),.* to (-?[\d.]+) °")


def plan(facts: Mapping[str, Any], request: OfflineRequest) -> dict[str, Any]:
    """Plan ``facts["request"]`` with ``facts["tools"]``."""
    asked = text_of(facts.get("request"))
    calls = Calls(asked, objects_of(facts.get("tools")), facts.get("today"))
    subtasks = calls.subtasks()
    if not (subtasks or calls.cannot):
        calls.cannot[line(asked, 300) or "(an empty request)"] = f"no registered tool covers it; {HOW}"
    cannot = [{"what": what, "reason": why} for what, why in calls.cannot.items()]
    return {"goal": line(asked, 200) or "(an empty request)", "subtasks": subtasks, "cannot": cannot, "more": False}


def work(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Call the tool that the subtask names; then report what it returned, or give up with the reason."""
    if request.results:
        return reported(request)
    subtask = object_of(facts.get("subtask"))
    name, given = text_of(subtask.get("tool")), object_of(subtask.get("args"))
    if all(tool.name != name for tool in request.tools):
        return request.give_up(f"the built-in rules only call the tool that a subtask names: {name or 'it names none'}")
    return Call(name, {key: value for key, value in given.items() if not references(value)})


def review(facts: Mapping[str, Any], request: OfflineRequest) -> dict[str, Any]:
    """Accept subtasks with a result, retry temporary failures, drop the rest; also answer if the facts ask for it."""
    results = {text_of(each.get("subtask")): each for each in objects_of(facts.get("accepted"))}
    results |= {key: object_of(result) for key, result in object_of(facts.get("as_ordered")).items()}
    verdicts: list[dict[str, Any]] = []
    for subtask in objects_of(facts.get("subtasks")):
        result, key = object_of(subtask.get("result")), text_of(subtask.get("subtask"))
        error = object_of(subtask.get("error"))
        verdict, reason = "drop", text_of(error.get("message")) or "it has no result"
        if text_of(result.get("summary")) or result.get("raw") is not None:
            verdict, reason, results[key] = "accept", "it has a result", {**result, "name": subtask.get("name")}
        elif error.get("class") == FailureClass.TRANSIENT and facts.get("last_order") is not True:
            verdict = "retry"
        verdicts.append({"subtask": key, "verdict": verdict, "reason": line(reason, 800)})
    complete = all(each["verdict"] != "retry" for each in verdicts)
    judged: dict[str, Any] = {"verdicts": verdicts, "complete": complete, "missing": [], "cannot": []}
    if facts.get("compose") is True and complete:
        judged["answer"] = _write([results[key] for key in sorted(results, key=lambda key: (len(key), key))], facts)
    return judged


def compose(facts: Mapping[str, Any], request: OfflineRequest) -> str:
    """Write the answer from ``facts`` (``results``, ``sources``)."""
    return _write(objects_of(facts.get("results")), facts)


def _write(results: list[dict[str, Any]], facts: Mapping[str, Any]) -> str:
    """Return the whole text: the results in order, which of them is warmer if that was asked, then who wrote it."""
    points, asked = _points(results, facts), text_of(facts.get("request"))
    blocks = points if len(points) == 1 else ["\n".join(f"- {point}" for point in points)]
    said = {each[1]: float(each[2]) for each in map(_HIGHEST.match, points) if each is not None}
    if re.search("(warm|hott|cold|cool)(er|est)", asked, re.IGNORECASE) and len(said) > 1:
        listed = ", ".join(f"{name} {said[name]:g}°" for name in sorted(said, key=lambda name: -said[name]))
        blocks.append(f"By their highest temperatures, from warm to cold: {listed}.")
    sample = any(result.get("sample") is True for result in results)
    return "\n\n".join([*blocks, BYLINE + (SAMPLE_NOTE if sample else "")])


def _points(results: list[dict[str, Any]], facts: Mapping[str, Any]) -> list[str]:
    """Return each result with its citations, labelled if it is sample data."""
    known, points = [source.get("n") for source in objects_of(facts.get("sources"))], list[str]()
    for result in results:
        text = text_of(result.get("summary")) or f"{text_of(result.get('name'))}: {render(result.get('raw'))}"
        label = " (sample data)" if result.get("sample") is True and "sample" not in text.casefold() else ""
        cited = "".join(f"[{n}]" for n in list_of(result.get("sources")) if n in known)
        points.append(f"{text.strip()}{label} {cited}".rstrip().replace("\n", "\n  "))
    return points


RULES: Rules = {"plan": plan, "work": work, "review": review, "compose": compose}
