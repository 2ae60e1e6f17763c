"""What a run asks a person: approvals, each bound to its call's arguments by their hash, and questions in words."""

import hashlib
import json
import operator
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import Field

from .text import line
from .tool import ApprovalPolicy, Effect, ToolSpec
from .value import ByName, Value, unset


class Question(Value):
    """What a run waits for: the answer of the person who started it, a ``timer``, or a ``signal`` named ``text``.

    ``reply`` is the answer of ``by``, or the value of the signal as JSON (None: it is open). If it ``holds``, nothing
    begins before that. What is open at ``expires_at`` is answered with the ``default``.
    """

    id: str
    text: str
    kind: Literal["person", "timer", "signal"] = Field(default="person", exclude_if=lambda kind: kind == "person")
    choices: tuple[str, ...] = ()
    expires_at: datetime | None = Field(default=None, exclude_if=unset)
    default: str = Field(default="", exclude_if=operator.not_)
    answered_at: datetime | None = Field(default=None, exclude_if=unset)
    reply: str | None = None
    by: str = Field(default="", exclude_if=operator.not_)
    holds: bool = Field(default=False, exclude_if=operator.not_)


class ApprovalStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CONSUMED = "consumed"


class Approval(Value):
    """One question to a person about one call, or about the plan of a run.

    Kind ``call`` asks whether the call may be made with exactly these arguments (its id is ``approval_id``), ``effect``
    whether a call happened that started and whose end was not recorded, ``plan`` whether the plan in ``args`` may be
    carried out. ``asked_for`` names the subtask, ``origins`` the source of each argument. At ``expires_at`` it counts
    as denied. ``by_hand``: a person chose the arguments, so an approval of the tool for the whole run does not cover
    it. Who approved it ``edited`` the arguments. ``hook`` changed the call or asks for approval, for ``hook_reason``.
    ``called`` is what an approval for the whole run covers: the tool, or one operation of it. ``target`` says where the
    call goes, and ``summary`` what its tool says of itself, as :func:`described` has them.
    """

    approval_id: str
    kind: Literal["call", "effect", "plan"] = "call"
    attempt: str
    tool: str
    args: dict[str, Any]
    effect: Effect
    asked_for: str = ""
    origins: ByName = {}
    asked_at: datetime | None = None
    expires_at: datetime | None = None
    status: ApprovalStatus = ApprovalStatus.PENDING
    by: str = ""
    edited: bool = Field(default=False, exclude_if=operator.not_)
    reason: str = ""
    by_hand: bool = False
    hook: str = Field(default="", exclude_if=operator.not_)
    hook_reason: str = Field(default="", exclude_if=operator.not_)
    called: str = Field(default="", exclude_if=operator.not_)
    target: str = Field(default="", exclude_if=operator.not_)
    summary: str = Field(default="", exclude_if=operator.not_)


def described(tool: ToolSpec, args: dict[str, Any]) -> dict[str, Any]:
    """Return what a card shows of a call besides its arguments, as fields of :class:`Approval`."""
    made = tool.called_with(args)
    return {
        "called": tool.approved_as(args),
        "target": line(made.target),
        "summary": line(made.description.strip().partition("\n")[0]),
    }


def policy_of(tool: ToolSpec, policy: ApprovalPolicy, rules: dict[str, ApprovalPolicy]) -> ApprovalPolicy:
    """Return the policy for a tool: its own ``never``, the first matching rule, its own policy, or the run's.

    A rule names what it matches, with ``*`` and ``?``: ``tool:send_*``, ``toolset:mail``, ``effect:once``,
    ``origin:myshop.*``. Otherwise, a tool needs approval only for the effect ``once``.
    """
    if tool.approval is ApprovalPolicy.NEVER:
        return ApprovalPolicy.NEVER
    for rule, wanted in rules.items():
        if matches(rule, tool):
            return wanted
    if tool.approval is ApprovalPolicy.AUTO or (tool.approval is None and tool.effect is not Effect.ONCE):
        return ApprovalPolicy.AUTO
    return policy


def matches(rule: str, tool: ToolSpec) -> bool:
    """Whether an approval rule is about a tool."""
    traits = {"tool": tool.name, "toolset": tool.toolset, "effect": tool.effect.value, "origin": tool.import_path}
    trait, _, pattern = rule.partition(":")
    return fnmatchcase(traits.get(trait, ""), pattern)


EFFECT = "/effect"
"""The suffix of the id of a question whether a call happened."""


def args_hash(args: dict[str, Any]) -> str:
    """SHA-256 (hex) of the arguments as canonical JSON (sorted keys, no spaces)."""
    return hashlib.sha256(json.dumps(args, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


ID_LENGTH = 8


def approval_id(run_id: str, approval: Approval) -> str:
    """Return the short public id of an approval. Other arguments give another id, so an id binds to its arguments."""
    named = "\n".join((run_id, approval.approval_id, approval.attempt, args_hash(approval.args)))
    return hashlib.sha256(named.encode()).hexdigest()[:ID_LENGTH]
