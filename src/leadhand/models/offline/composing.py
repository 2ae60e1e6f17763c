"""Writes the answer from the results, with citations, what could not be answered, and who wrote it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from leadhand.domain.errors import FailureClass
from leadhand.flows.work_order.results import UNSUPPORTED
from leadhand.models.json_values import list_of, objects_of, text_of

from .rendering import render

BYLINE = "Written by Leadhand's built-in rule-based model (offline, no LLM)."
SAMPLE_NOTE = " Sample data was used; it is not a forecast or a road route."

_BULLET = re.compile("^- ", re.MULTILINE)
_DIGEST = re.compile(r"(\d+) results")


class Point(NamedTuple):
    """One result to tell: its ``summary``, the numbers of the sources it rests on, whether it is sample data."""

    summary: str
    citations: tuple[int, ...] = ()
    sample: bool = False


class Gap(NamedTuple):
    """One part that was not answered, why, what a person can do about it, and the class of the failure if it is one."""

    what: str
    reason: str
    next_action: str = ""
    class_: str = ""


def compose(brief: Mapping[str, Any]) -> str:
    """The answer to a compose brief (``results``, ``gaps``, ``sources``), or a ``part`` of a long one."""
    known = source_numbers(brief)
    points = [
        Point(
            summary=text_of(result.get("summary")) or f"{text_of(result.get('name'))}: {render(result.get('raw'))}",
            citations=tuple(n for n in numbers(result.get("sources")) if n in known),
            sample=result.get("sample") is True,
        )
        for result in objects_of(brief.get("results"))
    ]
    gaps = [
        Gap(
            what=text_of(gap.get("what")),
            reason=text_of(gap.get("reason")),
            next_action=text_of(gap.get("next_action")),
            class_=text_of(gap.get("class")),
        )
        for gap in objects_of(brief.get("gaps"))
    ]
    match brief.get("part"):
        case "section":
            return "\n".join(f"- {_indented(_told(point))}" for point in points)
        case "digest":
            return _digest(brief)
        case "opening":
            return _opening(brief, gaps)
        case _:
            return write(points, gaps)


def _opening(brief: Mapping[str, Any], gaps: list[Gap]) -> str:
    """What stands over the sections of a long answer."""
    count, sample = _counted(brief)
    blocks = [BYLINE + (SAMPLE_NOTE if sample else "")]
    if not gaps:
        blocks.append(f"{count or 'The'} results, in the order of the request:")
    else:
        told = f"{count} results were found" if count else "The results were found"
        blocks += [f"{told}; they stand below, in the order of the request.", _not_answered(gaps)]
    return "\n\n".join(blocks)


def _digest(brief: Mapping[str, Any]) -> str:
    """What an opening by rules needs to know of the sections: how many results they hold, and of what kind."""
    count, sample = _counted(brief)
    return f"{count or 'Some'} results{', sample data among them' if sample else ''}"


def _counted(brief: Mapping[str, Any]) -> tuple[int, bool]:
    """How many results stand in the sections or their digests, 0 if that cannot be told, and whether there is sample
    data among them."""
    sections = [text_of(section) for section in list_of(brief.get("sections"))]
    counts: list[int] = []
    for section in sections:
        if said := _DIGEST.match(section):
            counts.append(int(said[1]))
        else:
            counts.append(0 if section.endswith(" …") else len(_BULLET.findall(section)))
    return sum(counts) if all(counts) else 0, any("sample data" in section.casefold() for section in sections)


def write(points: list[Point], gaps: list[Gap]) -> str:
    """The whole text: the points in their order, then what was not answered, then the byline."""
    blocks: list[str] = []
    if len(points) == 1:
        blocks.append(_told(points[0]))
    elif points:
        blocks.append("\n".join(f"- {_indented(_told(point))}" for point in points))
    else:
        blocks.append("Nothing of this request could be answered.")
    if gaps:
        blocks.append(_not_answered(gaps))
    # Another model or tool helps where none covers the request, not where one was there and failed.
    if not points and all(_beyond(gap) for gap in gaps):
        blocks.append(
            "To answer more: choose a model with --model (for example a local Ollama, or a provider whose key is in "
            "the environment), or register a tool that covers it. Without one, Leadhand answers questions about "
            "weather and directions, such as “weather in Paris tomorrow and directions from Lyon to Paris”."
        )
    sample = any(point.sample for point in points)
    blocks.append(BYLINE + (SAMPLE_NOTE if sample else ""))
    return "\n\n".join(blocks)


def _beyond(gap: Gap) -> bool:
    """Whether a part is one that no tool was there for, or that these rules do not understand."""
    return gap.class_ in ("", FailureClass.UNAVAILABLE) and gap.next_action in ("", UNSUPPORTED)


def _told(point: Point) -> str:
    text = point.summary.strip()
    if point.sample and "sample" not in text.casefold():
        text += " (sample data)"
    marks = "".join(f"[{n}]" for n in point.citations)
    return f"{text} {marks}" if marks else text


def _indented(text: str) -> str:
    """Further lines of a list item stand under its first."""
    return text.replace("\n", "\n  ")


def _not_answered(gaps: list[Gap]) -> str:
    parts = [_gap(gap) for gap in gaps]
    if len(parts) == 1:
        return f"Not answered: {parts[0]}"
    return "Not answered:\n" + "\n".join(f"- {_indented(part)}" for part in parts)


def _gap(gap: Gap) -> str:
    reason = gap.reason.strip().rstrip(".")
    text = f"{gap.what.strip().rstrip('.?!') or 'a part of the request'}: {reason}" if reason else gap.what.strip()
    action = gap.next_action.strip().rstrip(".")
    if action and action not in text:
        text += f". What you can do: {action}"
    return text.rstrip(".") + "."


def source_numbers(brief: Mapping[str, Any]) -> set[int]:
    """The numbers that a citation may use."""
    return {source["n"] for source in objects_of(brief.get("sources")) if isinstance(source.get("n"), int)}


def numbers(value: object) -> list[int]:
    """The whole numbers of a list, each once, in order."""
    return list(dict.fromkeys(n for n in list_of(value) if isinstance(n, int) and not isinstance(n, bool)))
