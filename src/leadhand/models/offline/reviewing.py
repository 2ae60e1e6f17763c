"""Reviews an order by rules: accepts what is there, retries what may work another time, drops the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.domain.errors import FailureClass
from leadhand.models.json_values import object_of, objects_of, text_of

from .composing import Gap, Point, numbers, source_numbers, write
from .rendering import render

# Failures that say nothing against the subtask itself: the same again may succeed.
_WORTH_ANOTHER_TRY = frozenset({FailureClass.TRANSIENT, FailureClass.LOST, FailureClass.RATE_LIMITED})


def review(brief: Mapping[str, Any]) -> dict[str, Any]:
    """The judgement of a review brief, as JSON that fits ``Review``.

    ``complete`` when nothing is to be tried again; ``answer`` only then, and only where the brief asks for it.
    """
    last = brief.get("last_order") is True
    subtasks = objects_of(brief.get("subtasks"))
    retried = not last and any(_fails_for_now(subtask) for subtask in subtasks)
    verdicts = [_verdict(subtask, last=last, retried=retried) for subtask in subtasks]
    complete = all(verdict["verdict"] != "retry" for verdict in verdicts)
    judged: dict[str, Any] = {"verdicts": verdicts, "complete": complete, "missing": [], "cannot": []}
    if brief.get("compose") is True and complete:
        judged["answer"] = _answer(brief, subtasks, verdicts)
    return judged


def _has_result(subtask: Mapping[str, Any]) -> bool:
    result = object_of(subtask.get("result"))
    return bool(text_of(result.get("summary"))) or result.get("raw") is not None


def _class_of(subtask: Mapping[str, Any]) -> str:
    return text_of(object_of(subtask.get("error")).get("class"))


def _fails_for_now(subtask: Mapping[str, Any]) -> bool:
    if subtask.get("status") == "completed":
        return not _has_result(subtask)
    return subtask.get("status") == "failed" and _class_of(subtask) in _WORTH_ANOTHER_TRY


def _verdict(subtask: Mapping[str, Any], *, last: bool, retried: bool) -> dict[str, Any]:
    status, error_class = subtask.get("status"), _class_of(subtask)
    if status == "completed" and _has_result(subtask):
        verdict, reason = "accept", "it has a result"
    elif status == "completed":
        verdict, reason = "drop" if last else "retry", "it is called completed, and there is no result"
    elif status == "failed" and error_class in _WORTH_ANOTHER_TRY:
        verdict, reason = "drop" if last else "retry", _message(subtask)
    elif status == "failed" and error_class == FailureClass.BLOCKED and retried:
        verdict, reason = "retry", f"what it needs is tried again ({_message(subtask)})"
    else:
        verdict, reason = "drop", _message(subtask)
    if verdict == "drop" and last and (error_class in _WORTH_ANOTHER_TRY or status == "completed"):
        reason += "; there is no order left to try it again"
    return {"subtask": text_of(subtask.get("subtask")), "verdict": verdict, "reason": reason[:1_000]}


def _message(subtask: Mapping[str, Any]) -> str:
    message = text_of(object_of(subtask.get("error")).get("message"))
    return message[:800] or f"it is {text_of(subtask.get('status')) or 'not done'}"


def _answer(brief: Mapping[str, Any], subtasks: list[dict[str, Any]], verdicts: list[dict[str, Any]]) -> str:
    """The answer, from the results accepted earlier and now; what was dropped or never could be done is named."""
    cited = _citations(brief)
    points = [
        Point(
            summary=text_of(earlier.get("summary")) or text_of(earlier.get("name")),
            citations=cited.get(text_of(earlier.get("subtask")), ()),
            sample=earlier.get("sample") is True,
        )
        for earlier in objects_of(brief.get("accepted"))
    ]
    gaps = [
        Gap(
            what=text_of(gap.get("what")),
            reason=text_of(gap.get("reason")),
            next_action=text_of(gap.get("next_action")),
            class_=text_of(gap.get("class")),
        )
        for gap in objects_of(brief.get("gaps" if "gaps" in brief else "plan_cannot"))
    ]
    for subtask, verdict in zip(subtasks, verdicts, strict=True):
        if verdict["verdict"] == "accept":
            result = object_of(subtask["result"])
            points.append(
                Point(
                    summary=text_of(result.get("summary"))
                    or f"{text_of(subtask.get('name'))}: {render(result.get('raw'))}",
                    citations=cited.get(text_of(subtask.get("subtask")), ()),
                    sample=result.get("sample") is True or subtask.get("sample") is True,
                )
            )
        else:
            action = text_of(object_of(subtask.get("error")).get("next_action"))
            gaps.append(
                Gap(
                    what=text_of(subtask.get("name")),
                    reason=verdict["reason"],
                    next_action=action,
                    class_=_class_of(subtask),
                )
            )
    return write(points, gaps)


def _citations(brief: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The numbers of the sources of each subtask."""
    known = source_numbers(brief)
    cited: dict[str, list[int]] = {}
    for subtask in objects_of(brief.get("subtasks")):
        cited[text_of(subtask.get("subtask"))] = numbers(object_of(subtask.get("result")).get("sources"))
    for source in objects_of(brief.get("sources")):
        if key := text_of(source.get("subtask")):
            cited.setdefault(key, []).extend(numbers([source.get("n")]))
    return {key: tuple(n for n in dict.fromkeys(listed) if n in known) for key, listed in cited.items()}
