"""The roles that judge the answer of a run, with their instructions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from leadhand.core.errors import UsageError
from leadhand.core.judgement import Check
from leadhand.core.worker import Worker

JUDGE, CONFIRM = "judge", "confirm"
"""The role that judges an answer, and the one that confirms what a judge says is missing."""
REPLY: dict[str, Any] = {"type": "object", "properties": {"verdicts": {"type": "object"}}, "required": ["verdicts"]}
"""The JSON schema that a reply of a judge has to match. A claim whose verdict is none of the five is not checked."""


def list_schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """Return the JSON schema of a list of objects."""
    return {"type": "array", "items": {"type": "object", "properties": properties, "required": list(required)}}


_MISSING = list_schema({"n": {"type": "integer"}, "reason": {"type": "string"}}, "n", "reason")
CONFIRMATION: dict[str, Any] = {"type": "object", "properties": {"missing": _MISSING}, "required": ["missing"]}
"""What the lead replies about missing parts: the numbers of those that are missing, with the reasons."""


def judging_roles(check: Check, others: Iterable[Worker], *, verifier: bool) -> tuple[Worker, ...]:
    """Return the roles that judge the answer of a run; with a ``verifier``, its code does.

    Raises UsageError if one of the ``others`` has the same name.
    """
    if check != "judge":
        return ()
    if taken := {role.name for role in others} & {JUDGE, CONFIRM}:
        name = min(taken)
        raise UsageError(
            f"a role of this run is named {name}, which is the name of a role that checks answers",
            "Rename that role, or use another check than judge.",
        )
    judge, confirm = (Worker(name=name, instructions=instructions(name), loop="reply") for name in (JUDGE, CONFIRM))
    return (
        judge.evolve(
            output=REPLY, model_role="review", loop="code" if verifier else "reply", doing="Judging the answer"
        ),
        confirm.evolve(output=CONFIRMATION, model_role="plan", doing="Checking what is missing"),
    )


@cache
def instructions(name: str) -> str:
    """Return the built-in instructions with this name: judge, confirm or correct."""
    return (files("leadhand.verify") / "prompts" / f"{name}.md").read_text("utf-8").strip()
