"""Writes the answer from the results by rules: citations, what could not be answered, and who wrote it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from leadhand.domain.errors import FailureClass
from leadhand.domain.value import list_of, object_of, objects_of, text_of
from leadhand.flows.offline.rendering import render
from leadhand.flows.offline.rule import OfflineRequest

BYLINE = "Written by Leadhand's built-in rule-based model (offline, no LLM)."
SAMPLE_NOTE = " Sample data was used; it is not a forecast or a road route."

_BULLET = re.compile("^- ", re.MULTILINE)
_DIGEST = re.compile(r"(\d+) results")


class Point(NamedTuple):
    """One result: its ``summary``, the numbers of its sources, whether it is sample data."""

    summary: str
    citations: tuple[int, ...] = ()
    sample: bool = False


def compose(facts: Mapping[str, Any], request: OfflineRequest) -> str:
    """The answer from ``facts`` (``results``, ``gaps``, ``sources``), or a ``part`` of a long one."""
    known = _source_numbers(facts)
    points = [_point(result, _numbers(result.get("sources")), known) for result in objects_of(facts.get("results"))]
    gaps = objects_of(facts.get("gaps"))
    part = facts.get("part")
    if part == "section":
        return _list(points)
    if part not in ("digest", "opening"):
        return write(points, gaps)
    count, sample = _counted(facts)
    if part == "digest":
        return f"{count or 'Some'} results{', sample data among them' if sample else ''}"
    byline = BYLINE + (SAMPLE_NOTE if sample else "")
    if not gaps:
        return f"{byline}\n\n{count or 'The'} results, in the order of the request:"
    found = f"{count} results were found" if count else "The results were found"
    return f"{byline}\n\n{found}; they follow in the order of the request.\n\n{_not_answered(gaps)}"


def accepted_points(facts: Mapping[str, Any], subtasks: list[dict[str, Any]]) -> list[Point]:
    """The results in a review's answer: those accepted earlier, then those of ``subtasks``."""
    known = _source_numbers(facts)
    cited: dict[str, list[int]] = {}
    results = [(text_of(result.get("subtask")), result) for result in objects_of(facts.get("accepted"))]
    for subtask in subtasks:
        key, result = text_of(subtask.get("subtask")), object_of(subtask.get("result"))
        cited[key] = _numbers(result.get("sources"))
        sample = True in (result.get("sample"), subtask.get("sample"))
        results.append((key, {**result, "name": subtask.get("name"), "sample": sample}))
    for source in objects_of(facts.get("sources")):
        cited.setdefault(text_of(source.get("subtask")), []).extend(_numbers([source.get("n")]))
    return [_point(result, cited.get(key, []), known) for key, result in results]


def write(points: list[Point], gaps: list[dict[str, Any]]) -> str:
    """The whole text: the points in their order, then what was not answered, then who wrote it."""
    first = _text(points[0]) if len(points) == 1 else _list(points)
    blocks = [first or "Nothing of this request could be answered."]
    if gaps:
        blocks.append(_not_answered(gaps))
    # Another model or tool helps where none covers the request, not where one was there and failed.
    actions = [text_of(gap.get("next_action")) for gap in gaps]
    beyond = all(gap.get("class", "") in ("", FailureClass.UNAVAILABLE) for gap in gaps)
    if not points and beyond and all(not action or action.startswith("register a tool") for action in actions):
        blocks.append(
            "To answer more: choose a model with --model (for example a local Ollama, or a provider whose key is in "
            "the environment), or register a tool that covers it. Without one, Leadhand answers questions about "
            "weather and directions, such as “weather in Paris tomorrow and directions from Lyon to Paris”."
        )
    blocks.append(BYLINE + (SAMPLE_NOTE if any(point.sample for point in points) else ""))
    return "\n\n".join(blocks)


def _point(result: Mapping[str, Any], citations: list[int], known: set[int]) -> Point:
    summary = text_of(result.get("summary")) or f"{text_of(result.get('name'))}: {render(result.get('raw'))}"
    cited = tuple(n for n in dict.fromkeys(citations) if n in known)
    return Point(summary, cited, sample=result.get("sample") is True)


def _text(point: Point) -> str:
    text = point.summary.strip()
    if point.sample and "sample" not in text.casefold():
        text += " (sample data)"
    marks = "".join(f"[{n}]" for n in point.citations)
    return f"{text} {marks}" if marks else text


def _list(points: list[Point]) -> str:
    return "\n".join(f"- {_indented(_text(point))}" for point in points)


def _indented(text: str) -> str:
    """Further lines of a list item are indented."""
    return text.replace("\n", "\n  ")


def _counted(facts: Mapping[str, Any]) -> tuple[int, bool]:
    """How many results the sections or their digests hold (0 if that is unknown), and whether any is sample data."""
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
    return "Not answered:\n" + "\n".join(f"- {_indented(part)}" for part in parts)


def _source_numbers(facts: Mapping[str, Any]) -> set[int]:
    """The numbers that a citation may use."""
    return {source["n"] for source in objects_of(facts.get("sources")) if isinstance(source.get("n"), int)}


def _numbers(value: object) -> list[int]:
    return [n for n in list_of(value) if isinstance(n, int) and not isinstance(n, bool)]
