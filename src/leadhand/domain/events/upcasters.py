"""Upcasters convert stored events of earlier releases to the current shape. They are never removed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

RENAMED = {
    "attempt_held": "effect_questioned",
    "child_answered": "call_answered",
    "order_reviewed": "results_judged",
    "parts_refused": "gaps_noted",
}
"""Types of 0.1 and their current names."""

_SUBTASK = re.compile(r"wo-[0-9]+\.[0-9]+/a[0-9]+")
_ROLES_OF_0_1: tuple[dict[str, Any], ...] = (
    {"name": "plan", "loop": "reply"},
    {"name": "work", "tools": ["*"], "counts": True},
    {"name": "review", "loop": "reply"},
    {"name": "compose", "loop": "reply"},
)
"""The roles of the work-order flow, which 0.1 did not record. Their instructions come with the flow."""


def _run_started_1(body: dict[str, Any]) -> dict[str, Any]:
    definition = dict(body["definition"])
    instructions: dict[str, str] = definition.pop("instructions", {})
    options = dict(definition.get("options", {}))
    definition["forked_from"] = options.pop("forked_from", None)
    definition["options"] = options
    definition["roles"] = [
        {**role, "instructions": instructions.get(role["name"], "")}
        for role in (_ROLES_OF_0_1 if definition.get("flow") == "work-order" else ())
    ]
    return {**body, "definition": definition}


def _assignment_issued_1(body: dict[str, Any]) -> dict[str, Any]:
    """Move the contents of ``covers`` and ``options`` to ``title``, ``input`` and ``answers``."""
    old = dict(body["assignment"])
    options = dict(old.pop("options", {}))
    covers = old.pop("covers", ())
    child = options.pop("child", None)
    if child is not None:
        old |= {"title": child["name"], "input": child["args"]}
    elif old["role"] != "work":
        old["input"] = {**({"covers": list(covers)} if covers else {}), **options}
        old["answers"] = old["role"] == "compose" and not covers and not options.get("part")
    return {**body, "assignment": old}


def _attempt_settled_1(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "counts": _SUBTASK.fullmatch(body["attempt"]) is not None}


def _call_answered_1(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "by"}


UPCASTERS: dict[tuple[str, int], Upcaster] = {
    ("run_started", 1): _run_started_1,
    ("assignment_issued", 1): _assignment_issued_1,
    ("attempt_settled", 1): _attempt_settled_1,
    ("child_answered", 1): _call_answered_1,
}
"""From (type, version) as stored to the body of the next version."""


def upcast(type_: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a stored event in the current shape."""
    while (type_, version) in UPCASTERS:
        body = UPCASTERS[type_, version](body)
        version += 1
    return body
