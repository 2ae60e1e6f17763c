"""The work-order flow without a language model: one rule for each of its roles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from leadhand.domain.days import read_date
from leadhand.domain.errors import FailureClass
from leadhand.domain.value import object_of, objects_of, text_of
from leadhand.domain.work_order import result_reference
from leadhand.flows.offline.calls import HOW, Calls
from leadhand.flows.offline.rendering import result_words, short
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules
from leadhand.flows.offline.tokens import tokenize

from .offline_answers import accepted_points, compose, write

GIVE_UP = "give_up"
# Failures that say nothing against the subtask itself: the same call may succeed later.
_WORTH_A_RETRY = frozenset({FailureClass.TRANSIENT, FailureClass.LOST, FailureClass.RATE_LIMITED})


def plan(facts: Mapping[str, Any], request: OfflineRequest) -> dict[str, Any] | None:
    """Plan ``facts["request"]`` with ``facts["tools"]``. Subtasks that an objection names are not planned again."""
    if request.schema is not None and "subtasks" not in object_of(request.schema.get("properties")):
        return None
    asked = text_of(facts.get("request"))
    planned = Calls(asked, objects_of(facts.get("tools")), read_date(facts.get("today")))
    if not planned.found and not planned.gaps:
        planned.gap(asked, f"there is no question in it that a registered tool covers; {HOW}")
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


def _named(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The subtasks with distinct names: plain for the only one of a kind, else with the place, or the day as well."""
    kinds: dict[str, list[list[str]]] = {}
    for call in calls:
        kinds.setdefault(call["names"][0], []).append(call["names"])
    lengths: dict[str, int] = {}
    for kind, alike in kinds.items():
        apart = (n for n in range(3) if len({names[n] for names in alike}) == len(alike))
        lengths[kind] = next(apart, 2)
    taken: Counter[str] = Counter()
    named: list[dict[str, Any]] = []
    for call in calls:
        name = call["names"][lengths[call["names"][0]]]
        taken[name] += 1
        own = name if taken[name] == 1 else f"{name}_{taken[name]}"
        named.append({"name": own, "tool": call["tool"], "args": call["args"]})
    return named


def work(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Call the tool that the subtask names; then say what it returned, or give up with the reason."""
    if request.results:
        words = [result_words(result) for result in request.results if result.ok]
        if words:
            return "\n".join(words)
        failed = (f"{result.name} failed: {result_words(result)}" for result in request.results)
        return _give_up("; ".join(failed), request)
    subtask = object_of(facts.get("subtask"))
    given = object_of(subtask.get("args"))
    name = text_of(subtask.get("tool"))
    if not name:  # the one tool that its arguments fit
        known = {tool.name: object_of(tool.parameters.get("properties")).keys() for tool in request.tools}
        tools = [tool for tool in request.tools if tool.name != GIVE_UP and given]
        fitting = [tool.name for tool in tools if tool.required <= given.keys() <= known[tool.name]]
        if len(fitting) != 1:
            return _give_up("the built-in rule-based model only carries out subtasks that name a tool", request)
        name = fitting[0]
    tool = next((tool for tool in request.tools if tool.name == name), None)
    if tool is None:
        return _give_up(f"there is no tool {name} here", request)
    args = {key: value for key, value in given.items() if result_reference(value) is None}
    for result in object_of(facts.get("needs")).values():
        raw = object_of(object_of(result).get("raw"))
        args |= {key: raw[key] for key in tool.required - args.keys() if raw.get(key) is not None}
    if missing := sorted(tool.required - args.keys()):
        return _give_up(f"{name} needs {', '.join(missing)}, and nothing says what to use", request)
    return Call(name, args)


def _give_up(reason: str, request: OfflineRequest) -> Reply:
    if any(tool.name == GIVE_UP for tool in request.tools):
        return Call(GIVE_UP, {"reason": reason})
    return f"This could not be done: {reason}."


def review(facts: Mapping[str, Any], request: OfflineRequest) -> dict[str, Any] | None:
    """Accept what has a result, retry what may work later, drop the rest; answer where the facts ask for it."""
    if request.schema is not None and "verdicts" not in object_of(request.schema.get("properties")):
        return None
    last = facts.get("last_order") is True
    subtasks = objects_of(facts.get("subtasks"))
    retried = not last and any(_may_work_later(subtask) for subtask in subtasks)
    verdicts = [_verdict(subtask, last=last, retried=retried) for subtask in subtasks]
    complete = all(verdict["verdict"] != "retry" for verdict in verdicts)
    judged: dict[str, Any] = {"verdicts": verdicts, "complete": complete, "missing": [], "cannot": []}
    if facts.get("compose") is True and complete:
        gaps, accepted = objects_of(facts.get("gaps" if "gaps" in facts else "plan_cannot")), list[dict[str, Any]]()
        for subtask, verdict in zip(subtasks, verdicts, strict=True):
            if verdict["verdict"] == "accept":
                accepted.append(subtask)
            else:
                error = object_of(subtask.get("error"))
                gaps.append({**error, "what": subtask.get("name"), "reason": verdict["reason"]})
        judged["answer"] = write(accepted_points(facts, accepted), gaps)
    return judged


def _may_work_later(subtask: Mapping[str, Any]) -> bool:
    if subtask.get("status") == "completed":
        return not _has_result(subtask)
    return subtask.get("status") == "failed" and _class_of(subtask) in _WORTH_A_RETRY


def _has_result(subtask: Mapping[str, Any]) -> bool:
    result = object_of(subtask.get("result"))
    return bool(text_of(result.get("summary"))) or result.get("raw") is not None


def _class_of(subtask: Mapping[str, Any]) -> str:
    return text_of(object_of(subtask.get("error")).get("class"))


def _verdict(subtask: Mapping[str, Any], *, last: bool, retried: bool) -> dict[str, Any]:
    completed = subtask.get("status") == "completed"
    message = text_of(object_of(subtask.get("error")).get("message"))[:800]
    reason = message or f"it is {text_of(subtask.get('status')) or 'not done'}"
    verdict = "drop"
    if completed and _has_result(subtask):
        verdict, reason = "accept", "it has a result"
    elif _may_work_later(subtask):
        verdict = "drop" if last else "retry"
        reason = "it is called completed, and there is no result" if completed else reason
        reason += "; there is no order left to try it again" if last else ""
    elif subtask.get("status") == "failed" and _class_of(subtask) == FailureClass.BLOCKED and retried:
        verdict, reason = "retry", f"what it needs is tried again ({reason})"
    return {"subtask": text_of(subtask.get("subtask")), "verdict": verdict, "reason": reason[:1_000]}


RULES: Rules = {"plan": plan, "work": work, "review": review, "compose": compose}
