"""Which calls a person is asked about, as callers say it: a policy, and rules for some calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import cast

from leadhand.app.arguments import shown, text
from leadhand.domain.errors import UsageError
from leadhand.domain.tool import ApprovalPolicy, Effect, ToolSpec

TRAITS = ("tool", "toolset", "effect", "origin")
"""What a rule may look at; see :func:`~leadhand.domain.approval.policy_of`."""
POLICIES = ", ".join(policy.value for policy in ApprovalPolicy)
EXAMPLE = '"tool:send_*": "auto"'


def approval_policy(name: object) -> ApprovalPolicy:
    """The policy of that name. Raises UsageError for another."""
    try:
        return ApprovalPolicy(cast("str", name))
    except ValueError as error:
        raise UsageError(f"approve is {shown(name)}", f"It is one of: {POLICIES}.") from error


def approval_rules(rules: object) -> dict[str, ApprovalPolicy]:
    """Rules as a run is pinned to them, in their order. Raises UsageError for what is none."""
    if rules is None:
        return {}
    if not isinstance(rules, Mapping):
        raise UsageError(f"approve_rules is {shown(rules)}", f"Give a dictionary of rules: {{{EXAMPLE}}}.")
    return {_rule(name): _policy(name, said) for name, said in cast("Mapping[object, object]", rules).items()}


def check_rules(rules: Mapping[str, ApprovalPolicy], tools: Iterable[ToolSpec]) -> None:
    """Raise UsageError for a rule that names a tool which a run has not got: a slip in a ``never`` must not pass.

    A rule with a wildcard may be meant for other runs, too, and fit nothing here.
    """
    names = {tool.name for tool in tools}
    for rule in rules:
        trait, _, pattern = rule.partition(":")
        if trait == "tool" and pattern not in names and not set(pattern) & set("*?["):
            listed = ", ".join(sorted(names)) or "none"
            raise UsageError(f"the approval rule {rule} names no tool of this run", f"There are: {listed}.")


def _rule(name: object) -> str:
    rule = text(name, "an approval rule", f"Name what it looks at: {EXAMPLE}.")
    trait, colon, pattern = rule.partition(":")
    if not colon or trait not in TRAITS:
        listed = ", ".join(f"{known}:" for known in TRAITS)
        raise UsageError(f"the approval rule {shown(rule)} looks at nothing that is known", f"Begin it with {listed}.")
    if not pattern:
        raise UsageError(f"the approval rule {shown(rule)} names nothing", f"Name something behind it, or all: {rule}*")
    if trait == "effect" and not any(fnmatchcase(effect.value, pattern) for effect in Effect):
        listed = ", ".join(effect.value for effect in Effect)
        raise UsageError(f"the approval rule {shown(rule)} names no effect", f"The effects are: {listed}.")
    return rule


def _policy(name: object, said: object) -> ApprovalPolicy:
    try:
        return ApprovalPolicy(cast("str", said))
    except ValueError as error:
        raise UsageError(
            f"the approval rule {shown(name)} says {shown(said)}", f"It says one of: {POLICIES}."
        ) from error
