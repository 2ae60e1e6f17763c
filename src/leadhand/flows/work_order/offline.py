"""The offline rules of the work-order flow, one for each role."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from leadhand.domain.days import read_date
from leadhand.domain.errors import FailureClass
from leadhand.domain.tool import GIVE_UP
from leadhand.domain.value import list_of, object_of, objects_of, text_of
from leadhand.domain.work_order import result_reference
from leadhand.flows.offline.calls import HOW, Calls
from leadhand.flows.offline.rendering import render, result_words, short
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules
from leadhand.flows.offline.tokens import tokenize

from .repair import NEW_REASON

BYLINE = "Written by Leadhand's built-in rule-based model (offline, no LLM)."
SAMPLE_NOTE = " Sample data was used; it is not a forecast or a road route."

_BULLET = re.compile("^- ", re.MULTILINE)
_DIGEST = re.compile(r"(\d+) results")


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
    goal = short(asked, 200) or "(an empty request)"
    page = object_of(facts.get("page"))
    first, most = page.get("first_index", 0), page.get("most")
    if not isinstance(first, int) or not isinstance(most, int):
        return {"goal": goal, "subtasks": subtasks, "cannot": planned.cannot()}
    # What cannot be done is on the first page.
    cannot = [] if first else planned.cannot()
    shown = subtasks[first : first + most]
    return {"goal": goal, "subtasks": shown, "cannot": cannot, "more": len(subtasks) > first + most}


def _asks_for(request: OfflineRequest, field: str) -> bool:
    """Whether an answer can have this field; another flow may have a role of the same name."""
    if request.schema is None:
        return True
    shapes = [request.schema, *objects_of(request.schema.get("anyOf"))]
    return any(field in object_of(shape.get("properties")) for shape in shapes)


def _named(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The subtasks with distinct names: plain if there is only one of a kind, else with the place, or also the day."""
    kinds: dict[str, list[list[str]]] = {}
    for call in calls:
        kinds.setdefault(call["names"][0], []).append(call["names"])
    lengths = {
        kind: next((n for n in range(3) if len({names[n] for names in alike}) == len(alike)), 2)
        for kind, alike in kinds.items()
    }
    taken: Counter[str] = Counter()
    for call in calls:
        name = call["names"][lengths[call["names"][0]]]
        taken[name] += 1
        own = name if taken[name] == 1 else f"{name}_{taken[name]}"
        yield {"name": own, "tool": call["tool"], "args": call["args"]}


def work(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Call the tool that the subtask names; then report what it returned, or give up with the reason."""
    if request.results:
        words = [result_words(result) for result in request.results if result.ok]
        if words:
            return "\n".join(words)
        failed = (f"{result.name} failed: {result_words(result)}" for result in request.results)
        return request.give_up("; ".join(failed))
    subtask = object_of(facts.get("subtask"))
    given = object_of(subtask.get("args"))
    name = text_of(subtask.get("tool"))
    if not name:  # the only tool that matches its arguments
        known = {tool.name: object_of(tool.parameters.get("properties")).keys() for tool in request.tools}
        tools = [tool for tool in request.tools if tool.name != GIVE_UP and given]
        fitting = [tool.name for tool in tools if tool.required <= given.keys() <= known[tool.name]]
        if len(fitting) != 1:
            return request.give_up("the built-in rule-based model only carries out subtasks that name a tool")
        name = fitting[0]
    tool = next((tool for tool in request.tools if tool.name == name), None)
    if tool is None:
        return request.give_up(f"there is no tool {name} here")
    args = {key: value for key, value in given.items() if result_reference(value) is None}
    for result in object_of(facts.get("needs")).values():
        raw = object_of(object_of(result).get("raw"))
        args |= {key: raw[key] for key in tool.required - args.keys() if raw.get(key) is not None}
    if missing := sorted(tool.required - args.keys()):
        return request.give_up(f"{name} needs {', '.join(missing)}, and nothing says what to use")
    return Call(name, args)


def review(facts: Mapping[str, Any], request: OfflineRequest) -> dict[str, Any] | None:
    """Accept subtasks with a result, retry temporary failures, drop the rest; also answer if the facts ask for it."""
    if not _asks_for(request, "verdicts"):
        return None
    subtasks = objects_of(facts.get("subtasks"))
    verdicts = [_verdict(subtask, last=facts.get("last_order") is True) for subtask in subtasks]
    complete = all(verdict["verdict"] != "retry" for verdict in verdicts)
    for subtask, verdict in zip(subtasks, verdicts, strict=True) if not complete else ():
        if subtask.get("status") == "failed" and _error(subtask, "class") == FailureClass.BLOCKED:
            verdict |= {
                "verdict": "retry",
                "reason": f"a subtask that it needs is retried ({verdict['reason']})"[:1_000],
            }
    judged: dict[str, Any] = {"verdicts": verdicts, "complete": complete, "missing": [], "cannot": []}
    if facts.get("compose") is True and complete:
        gaps, accepted = objects_of(facts.get("gaps" if "gaps" in facts else "plan_cannot")), list[dict[str, Any]]()
        for subtask, verdict in zip(subtasks, verdicts, strict=True):
            if verdict["verdict"] == "accept":
                accepted.append(subtask)
            else:
                error = object_of(subtask.get("error"))
                gaps.append({**error, "what": subtask.get("name"), "reason": verdict["reason"]})
        judged["answer"] = _write(_accepted_points(facts, accepted), gaps)
    return judged


def _error(subtask: Mapping[str, Any], field: str) -> str:
    return text_of(object_of(subtask.get("error")).get(field))


def _verdict(subtask: Mapping[str, Any], *, last: bool) -> dict[str, Any]:
    result, status = object_of(subtask.get("result")), text_of(subtask.get("status"))
    verdict, reason = "drop", _error(subtask, "message")[:800] or f"it is {status or 'not done'}"
    if status == "completed" and (text_of(result.get("summary")) or result.get("raw") is not None):
        verdict, reason = "accept", "it has a result"
    elif status == "completed" or (status == "failed" and _error(subtask, "class") in NEW_REASON):
        verdict = "drop" if last else "retry"
        reason = "it is marked completed but has no result" if status == "completed" else reason
        reason += "; no order is left for a retry" if last else ""
    return {"subtask": text_of(subtask.get("subtask")), "verdict": verdict, "reason": reason[:1_000]}


def compose(facts: Mapping[str, Any], request: OfflineRequest) -> str:
    """Write the answer from ``facts`` (``results``, ``gaps``, ``sources``), or a ``part`` of a long one."""
    known = _source_numbers(facts)
    points = [_point(result, _numbers(result.get("sources")), known) for result in objects_of(facts.get("results"))]
    gaps = objects_of(facts.get("gaps"))
    part = facts.get("part")
    if part == "section":
        return _list(text for text, _ in points)
    if part not in ("digest", "opening"):
        return _write(points, gaps)
    count, sample = _counted(facts)
    if part == "digest":
        return f"{count or 'Some'} results{', sample data among them' if sample else ''}"
    byline = BYLINE + (SAMPLE_NOTE if sample else "")
    if not gaps:
        return f"{byline}\n\n{count or 'The'} results, in the order of the request:"
    found = f"{count} results were found" if count else "The results were found"
    return f"{byline}\n\n{found}; they follow in the order of the request.\n\n{_not_answered(gaps)}"


def _accepted_points(facts: Mapping[str, Any], subtasks: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """Return the results for a review's answer: those accepted earlier, then those of ``subtasks``."""
    known = _source_numbers(facts)
    results = {text_of(result.get("subtask")): result for result in objects_of(facts.get("accepted"))}
    results |= {key: object_of(result) for key, result in object_of(facts.get("verified")).items()}
    for subtask in subtasks:
        result = object_of(subtask.get("result"))
        sample = True in (result.get("sample"), subtask.get("sample"))
        results[text_of(subtask.get("subtask"))] = {**result, "name": subtask.get("name"), "sample": sample}
    cited = {key: _numbers(result.get("sources")) for key, result in results.items()}
    for source in objects_of(facts.get("sources")):
        cited.setdefault(text_of(source.get("subtask")), []).extend(_numbers([source.get("n")]))
    return [_point(results[key], cited[key], known) for key in sorted(results, key=lambda key: (len(key), key))]


def _write(points: list[tuple[str, bool]], gaps: list[dict[str, Any]]) -> str:
    """Return the whole text: the points in order, then the unanswered parts, then who wrote it."""
    first = points[0][0] if len(points) == 1 else _list(text for text, _ in points)
    blocks = [first or "No part of this request could be answered."]
    if gaps:
        blocks.append(_not_answered(gaps))
    # Another model or tool helps only if no tool covers the request, not if a tool failed.
    actions = [text_of(gap.get("next_action")) for gap in gaps]
    beyond = all(gap.get("class", "") in ("", FailureClass.UNAVAILABLE) for gap in gaps)
    if not points and beyond and all(not action or action.startswith("register a tool") for action in actions):
        blocks.append(
            "To answer more: choose a model with --model (for example a local Ollama, or a provider whose key is in "
            "the environment), or register a tool that covers it. Without one, Leadhand answers questions about "
            "weather and directions, such as “weather in Paris tomorrow and directions from Lyon to Paris”."
        )
    blocks.append(BYLINE + (SAMPLE_NOTE if any(sample for _, sample in points) else ""))
    return "\n\n".join(blocks)


def _point(result: Mapping[str, Any], citations: list[int], known: set[int]) -> tuple[str, bool]:
    """Return one result with its citations for the answer, and whether it is sample data."""
    text = text_of(result.get("summary")) or f"{text_of(result.get('name'))}: {render(result.get('raw'))}"
    sample = result.get("sample") is True
    label = " (sample data)" if sample and "sample" not in text.casefold() else ""
    marks = "".join(f"[{n}]" for n in dict.fromkeys(citations) if n in known)
    return f"{text.strip()}{label} {marks}".rstrip(), sample


def _list(items: Iterable[str]) -> str:
    """Return one item per line, with further lines of an item indented."""
    return "\n".join("- " + item.replace("\n", "\n  ") for item in items)


def _counted(facts: Mapping[str, Any]) -> tuple[int, bool]:
    """Return how many results the sections or their digests contain (0: unknown), and whether any is sample data."""
    sections = [text_of(section) for section in list_of(facts.get("sections"))]
    counts: list[int] = []
    for section in sections:
        digest = _DIGEST.match(section)
        bullets = 0 if section.endswith(" …") else len(_BULLET.findall(section))
        counts.append(int(digest[1]) if digest else bullets)
    return sum(counts) if all(counts) else 0, any("sample data" in section.casefold() for section in sections)


def _not_answered(gaps: list[dict[str, Any]]) -> str:
    parts: list[str] = []
    for gap in gaps:
        what, reason, action = (text_of(gap.get(name)).strip() for name in ("what", "reason", "next_action"))
        reason, action = reason.rstrip("."), action.rstrip(".")
        text = f"{what.rstrip('.?!') or 'a part of the request'}: {reason}" if reason else what
        text += f". What you can do: {action}" if action and action not in text else ""
        parts.append(text.rstrip(".") + ".")
    if len(parts) == 1:
        return f"Not answered: {parts[0]}"
    return "Not answered:\n" + _list(parts)


def _source_numbers(facts: Mapping[str, Any]) -> set[int]:
    """Return the numbers that a citation may use."""
    return set(_numbers([source.get("n") for source in objects_of(facts.get("sources"))]))


def _numbers(value: object) -> list[int]:
    return [n for n in list_of(value) if isinstance(n, int) and not isinstance(n, bool)]


RULES: Rules = {"plan": plan, "work": work, "review": review, "compose": compose}
